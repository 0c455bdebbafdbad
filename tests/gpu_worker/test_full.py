"""The trainer of all weights: the naive gradient for each of them, exact files, copies handed over."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from transformers import AutoModelForCausalLM

from gpu_worker.engines.embedded.decoder import Decoder, causal
from gpu_worker.trainers import learner
from gpu_worker.trainers.full import FullTrainer
from gpu_worker.trainers.lora import LoraTrainer
from gpu_worker.types import Job
from tests.gpu_worker.test_learner import a_batch, rows
from tests.tiny_model import build

JOB = Job(run="r", environment="e", lora_rank=0, max_grad_norm=1e9, seed=3, learning_rate=1e-3)


@pytest.mark.parametrize(("family", "tied"), [("llama", True), ("qwen3", False)])
@pytest.mark.parametrize("seed", range(4))
def test_every_weight_has_the_gradient_of_one_try_at_a_time(
    family: str, tied: bool, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learner, "TOKEN_BUDGET", 40)
    model = build(tmp_path / "model", family=family, tied=tied)  # type: ignore[arg-type]
    batch = a_batch(random.Random(seed))
    naive = Decoder.load(model).requires_grad_(True)
    loss, tokens = torch.zeros(()), 0
    for row in rows(batch):
        ids = torch.tensor([row.segment.ids])
        logits = naive.logits(naive(ids, torch.arange(ids.shape[1])[None], causal))[0, :-1]
        said = torch.tensor(row.segment.mask[1:], dtype=torch.bool)
        new = logits.log_softmax(-1).gather(-1, ids[0, 1:, None])[:, 0][said]
        old = torch.tensor(row.segment.logprobs[1:])[said]
        loss = loss - ((new.detach() - old).exp().clamp(0, 5) * row.advantage * new).sum()
        tokens += int(said.sum())
    names, parameters = zip(*naive.named_parameters(), strict=True)
    expected = dict(zip(names, torch.autograd.grad(loss / tokens, parameters), strict=True))
    trainer = FullTrainer(model, JOB)
    trainer.update(batch)
    assert ("lm_head.weight" in expected) is not tied
    for name, parameter in trainer.parameters.items():
        found = trainer.optimizer.state[parameter]["exp_avg"] / (1 - learner.BETAS[0])
        scale = max(expected[name].abs().max().item(), 1e-5)
        torch.testing.assert_close(found, expected[name], rtol=1e-3, atol=2e-4 * scale)
        assert (
            F.cosine_similarity(found.flatten(), expected[name].flatten(), dim=0) >= 0.9999 or scale <= 1e-5
        )


def test_loading_goes_on_exactly_where_saving_left_off(tiny_model: Path, tmp_path: Path) -> None:
    batches = [a_batch(random.Random(seed)) for seed in range(4)]
    unbroken, first, second = (FullTrainer(tiny_model, JOB) for _ in range(3))
    for batch in batches:
        unbroken.update(batch)
    for batch in batches[:2]:
        first.update(batch)
    first.save(tmp_path)
    second.load(tmp_path)
    for batch in batches[2:]:
        second.update(batch)
    assert all(torch.equal(x, unbroken.weights()[name]) for name, x in second.weights().items())


def test_what_was_handed_over_stays_as_it_was(tiny_model: Path) -> None:
    trainer = FullTrainer(tiny_model, JOB)
    handed_over = trainer.weights()
    copies = {name: x.clone() for name, x in handed_over.items()}
    trainer.update(a_batch(random.Random(0)))
    assert all(torch.equal(copies[name], x) for name, x in handed_over.items())
    assert not torch.equal(trainer.weights()["model.norm.weight"], handed_over["model.norm.weight"])


def test_its_file_is_a_model_that_transformers_reads(tiny_model: Path, tmp_path: Path) -> None:
    trainer = FullTrainer(tiny_model, JOB)
    trainer.update(a_batch(random.Random(0)))
    trainer.save(tmp_path)
    (tmp_path / "config.json").write_bytes((tiny_model / "config.json").read_bytes())
    ids = torch.tensor([[7, 8, 9, 20, 40]])
    with torch.no_grad():
        expected = AutoModelForCausalLM.from_pretrained(tmp_path)(ids).logits
        found = trainer.policy.logits(trainer.policy(ids, torch.arange(5)[None], causal))
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=0)


def test_lora_without_a_rank_is_refused(tiny_model: Path) -> None:
    with pytest.raises(ValueError, match="full.FullTrainer"):
        LoraTrainer(tiny_model, replace(JOB, lora_rank=0))
