"""The LoRA trainer: it learns, repeats itself to the bit, and its files are anybody's to read."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from gpu_worker.engines.embedded.adapter import read_deltas
from gpu_worker.engines.embedded.decoder import causal
from gpu_worker.packing import token_logprobs
from gpu_worker.trainers import learner
from gpu_worker.trainers.lora import LoraTrainer
from gpu_worker.trainers.low_rank import LowRankLinear
from gpu_worker.types import Batch, Group, Job, Scenario, Segment, Trajectory

ROOT = Path(__file__).parent.parent.parent
JOB = Job(run="r", environment="e", seed=5, lora_rank=4, lora_alpha=8, learning_rate=1e-2)
SHARED = (7, 8, 9, 10, 11, 12)


def a_try(index: int, ids: tuple[int, ...]) -> Trajectory:
    mask = (False,) * len(SHARED) + (True,) * len(ids)
    logprobs = tuple(-5.0 if sampled else 0.0 for sampled in mask)
    return Trajectory("s", index, (), (Segment(SHARED + ids, logprobs, mask),), "answered")


def a_batch(groups: int = 3, rate: float = 1e-2) -> Batch:
    """In every group the tries that end in 40 were better than those that end in 50."""
    made = []
    for index in range(groups):
        tries = (a_try(0, (20 + index, 40)), a_try(1, (20 + index, 50)))
        made.append(Group(1, index, Scenario("s", "train", ()), (), tries))
    return Batch(tuple(made), ((1.0, -1.0),) * groups, rate)


def weights(trainer: LoraTrainer) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in trainer.adapter.values()])


def logprob_of_40(trainer: LoraTrainer) -> float:
    ids = torch.tensor([[*SHARED, 20]])
    with torch.no_grad():
        hidden = trainer.policy(ids, torch.arange(7)[None], causal)
        return trainer.policy.logits(hidden)[0, -1].log_softmax(-1)[40].item()


def test_what_had_a_positive_advantage_becomes_more_likely(tiny_model: Path) -> None:
    trainer = LoraTrainer(tiny_model, JOB)
    before = logprob_of_40(trainer)
    for _ in range(5):
        metrics = trainer.update(a_batch())
    assert logprob_of_40(trainer) > before + 0.5
    assert set(metrics) == {
        "loss", "grad_norm", "entropy", "clip_fraction", "kl", "ratio_p01", "ratio_p50", "ratio_p99",
        "ratio_max", "tokens", "nodes", "skipped"
    }  # fmt: skip
    assert metrics["tokens"] == 12
    assert metrics["nodes"] == len(SHARED) + 3 + 6
    assert metrics["skipped"] == 0
    assert metrics["kl"] > 0
    assert metrics["entropy"] > 0


def test_the_first_loss_is_that_of_the_untouched_base_model(tiny_model: Path) -> None:
    trainer = LoraTrainer(tiny_model, JOB)
    batch = a_batch(groups=1)
    logprobs = []
    for trajectory in batch.groups[0].trajectories:
        ids = torch.tensor([trajectory.segments[0].ids])
        hidden = trainer.base(ids, torch.arange(8)[None], causal)
        logprobs.append(token_logprobs(hidden[0, 5:7], trainer.base.model.embed_tokens.weight, ids[0, 6:])[0])
    better, worse = (torch.exp(x + 5.0).clamp(max=5.0) * x for x in logprobs)
    metrics = trainer.update(batch)
    assert metrics["loss"] == pytest.approx(((worse - better).sum() / 4).item(), abs=1e-5)
    assert metrics["kl"] == pytest.approx(0.0, abs=1e-6)


def test_the_same_job_learns_the_same_bits_however_many_threads_help(
    tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learner, "TOKEN_BUDGET", 9)
    found = []
    for workers in (1, 2, 2):
        trainer = LoraTrainer(tiny_model, JOB, workers=workers)
        for _ in range(3):
            trainer.update(a_batch())
        found.append(weights(trainer))
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


def test_micro_batches_add_up_to_the_whole_batch(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = LoraTrainer(tiny_model, JOB)
    one = whole.update(a_batch())
    monkeypatch.setattr(learner, "TOKEN_BUDGET", 9)
    split = LoraTrainer(tiny_model, JOB)
    other = split.update(a_batch())
    assert other["loss"] == pytest.approx(one["loss"], abs=1e-5)
    assert other["grad_norm"] == pytest.approx(one["grad_norm"], rel=1e-4)
    assert other["tokens"] == one["tokens"]


def test_the_weights_are_those_that_its_files_mean_and_stay_as_they_were(
    tiny_model: Path, tmp_path: Path
) -> None:
    trainer = LoraTrainer(tiny_model, JOB)
    trainer.update(a_batch())
    trainer.save(tmp_path)
    handed_over = trainer.weights()
    copies = {name: tensor.clone() for name, tensor in handed_over.items()}
    pristine = dict(trainer.base.named_parameters())
    deltas = read_deltas(tmp_path, {name: p.data for name, p in pristine.items()})
    assert set(handed_over) == {name for name in pristine if "_proj.weight" in name}
    assert all(torch.equal(pristine[name] + deltas[name], tensor) for name, tensor in handed_over.items())
    trainer.update(a_batch())
    assert all(torch.equal(copies[name], tensor) for name, tensor in handed_over.items())
    assert not any(torch.equal(copies[name], tensor) for name, tensor in trainer.weights().items())


def test_another_seed_starts_elsewhere(tiny_model: Path) -> None:
    other = Job(run="r", environment="e", seed=6, lora_rank=4, lora_alpha=8)
    assert not torch.equal(weights(LoraTrainer(tiny_model, JOB)), weights(LoraTrainer(tiny_model, other)))


def test_loading_goes_on_exactly_where_saving_left_off(tiny_model: Path, tmp_path: Path) -> None:
    unbroken = LoraTrainer(tiny_model, JOB)
    for _ in range(4):
        unbroken.update(a_batch())
    first = LoraTrainer(tiny_model, JOB)
    for _ in range(2):
        first.update(a_batch())
    first.save(tmp_path)
    second = LoraTrainer(tiny_model, JOB)
    second.load(tmp_path)
    for _ in range(2):
        metrics = second.update(a_batch())
    assert torch.equal(weights(second), weights(unbroken))
    assert metrics == unbroken_metrics(tiny_model)
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json"] + [".safetensors"] * 3


def unbroken_metrics(tiny_model: Path) -> dict[str, float]:
    trainer = LoraTrainer(tiny_model, JOB)
    return [trainer.update(a_batch()) for _ in range(4)][-1]


def test_an_untrained_checkpoint_can_be_saved_and_loaded(tiny_model: Path, tmp_path: Path) -> None:
    LoraTrainer(tiny_model, JOB).save(tmp_path)
    trainer = LoraTrainer(tiny_model, JOB)
    trainer.load(tmp_path)
    trainer.update(a_batch())


def test_the_adapter_means_the_same_to_peft_and_transformers(tiny_model: Path, tmp_path: Path) -> None:
    trainer = LoraTrainer(tiny_model, JOB)
    for _ in range(3):
        trainer.update(a_batch())
    trainer.save(tmp_path)
    model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(tiny_model), tmp_path)
    ids = torch.tensor([[*SHARED, 20, 40]])
    with torch.no_grad():
        expected = model(ids).logits
        found = trainer.policy.logits(trainer.policy(ids, torch.arange(8)[None], causal))
        untouched = trainer.base.logits(trainer.base(ids, torch.arange(8)[None], causal))
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=0)
    assert (found - untouched).abs().max() > 1e-2
    names = load_file(tmp_path / "adapter_model.safetensors")
    assert "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight" in names
    assert len(names) == 2 * 7 * 2


@pytest.mark.parametrize("poison", [float("nan"), float("inf")])
def test_a_step_with_a_number_that_is_none_changes_nothing(tiny_model: Path, poison: float) -> None:
    trainer = LoraTrainer(tiny_model, JOB)
    trainer.update(a_batch())
    before = weights(trainer)
    batch = a_batch()
    metrics = trainer.update(Batch(batch.groups, ((poison, -1.0),) * 3, batch.learning_rate))
    assert metrics["skipped"] == 1
    assert all(value == value and abs(value) != float("inf") for value in metrics.values())
    assert torch.equal(weights(trainer), before)
    assert trainer.update(a_batch())["skipped"] == 0
    assert not torch.equal(weights(trainer), before)


def test_a_batch_without_a_sampled_token_changes_nothing(tiny_model: Path) -> None:
    trainer = LoraTrainer(tiny_model, JOB)
    before = weights(trainer)
    empty = Trajectory("s", 0, (), (), "context_overflow")
    group = Group(1, 0, Scenario("s", "train", ()), (), (empty, empty))
    assert trainer.update(Batch((group,), ((1.0, -1.0),), 1e-2)) == {
        "tokens": 0.0,
        "nodes": 0.0,
        "skipped": 1.0,
    }
    assert torch.equal(weights(trainer), before)


def test_a_low_rank_layer_has_the_gradients_of_the_formula() -> None:
    generator = torch.Generator().manual_seed(0)
    plain = torch.nn.Linear(6, 5).requires_grad_(False)
    layer = LowRankLinear(plain, 2, 1.5, generator)
    layer.lora_B.data.normal_(generator=generator)
    layer.merge()
    x = torch.randn(3, 4, 6, generator=generator).requires_grad_()
    grad = torch.randn(3, 4, 5, generator=generator)
    inputs = [x, layer.lora_A, layer.lora_B]
    expected = plain(x) + 1.5 * (x @ layer.lora_A.T @ layer.lora_B.T)
    found = layer(x)
    torch.testing.assert_close(found, expected)
    ours = torch.autograd.grad(found, inputs, grad)
    torch.testing.assert_close(ours, torch.autograd.grad(expected, inputs, grad))


def test_training_starts_without_importing_heavy_libraries() -> None:
    code = """
import sys
import gpu_worker.loop, gpu_worker.trainers.lora
print(sorted({"transformers", "peft", "accelerate", "litellm"} & set(sys.modules)))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert run.stdout.strip() == "[]"


def test_several_optimizer_steps_each_take_their_share_of_the_groups(tiny_model: Path) -> None:
    job = Job(run="r", environment="e", seed=5, lora_rank=4, lora_alpha=8, optimizer_steps=3)
    trainer = LoraTrainer(tiny_model, job)
    assert trainer.update(a_batch())["tokens"] == 12
    steps = {int(state["step"]) for state in trainer.optimizer.state.values()}
    assert steps == {3}


@pytest.mark.parametrize("coefficient", [0.0, 10.0])
def test_a_kl_penalty_keeps_the_policy_near_the_base(tiny_model: Path, coefficient: float) -> None:
    job = Job(run="r", environment="e", lora_rank=4, kl_coefficient=coefficient)
    trainer = LoraTrainer(tiny_model, job)
    for _ in range(12):
        kl = trainer.update(a_batch())["kl"]
    near: Callable[[float], bool] = (
        (lambda value: value < 0.1) if coefficient else (lambda value: value > 0.1)
    )
    assert near(kl)
