"""What a training step learns equals the naive computation: padded rows, dense masks, whole logits.

Random forests of tries, every loss: the same log-probabilities and the same gradient.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import functional_call

from gpu_worker.engines.embedded.decoder import Decoder
from gpu_worker.trainers import learner
from gpu_worker.trainers.learner import Lesson, Size
from gpu_worker.trainers.lora import LoraTrainer
from gpu_worker.types import Batch, Group, Job, Scenario, Segment, Trajectory
from tests.tiny_model import build

JOB = Job(run="r", environment="e", lora_rank=3, lora_alpha=6, max_tokens=16, max_grad_norm=1e9, seed=3)
VOCABULARY = 60
LOSSES: dict[str, dict[str, Any]] = {
    "cispo": {},
    "cispo over tries": {"loss_mean": "try", "kl_coefficient": 0.1},
    "cispo, KL in the advantage": {"kl_coefficient": 0.3, "kl_in": "advantage"},
    "ppo": {"loss": "ppo"},
    "ppo, Dr. GRPO's mean": {"loss": "ppo", "loss_mean": "constant", "kl_coefficient": 0.05},
    "ppo, truncated": {"loss": "ppo", "importance": "truncate", "importance_cap": 1.2},
    "cispo, masked": {"importance": "mask", "importance_cap": 1.5, "loss_mean": "try"},
    "gspo": {"loss": "gspo", "loss_mean": "try", "clip_low": 0.05, "clip_high": 0.05},
    "gspo over tokens": {"loss": "gspo", "clip_low": 0.5, "clip_high": 0.5},
}


def a_batch(rng: random.Random) -> Batch:
    """Tries that branch anywhere: some equal, some of several segments, some in which nothing was said."""
    groups, given = [], []
    for index in range(rng.randint(1, 3)):
        known = [ids(rng, rng.randint(2, 14))]
        tries = tuple(a_try(rng, number, known) for number in range(rng.randint(2, 6)))
        if rng.random() < 0.5:
            tries += (replace(tries[0], index=len(tries)),)
        groups.append(Group(1, index, Scenario("s", "train", ()), (), tries))
        given.append(tuple(rng.uniform(-2, 2) for _ in tries))
    return Batch(tuple(groups), tuple(given), 1e-3)


def ids(rng: random.Random, count: int) -> tuple[int, ...]:
    return tuple(rng.randrange(VOCABULARY) for _ in range(count))


def a_try(rng: random.Random, index: int, known: list[tuple[int, ...]]) -> Trajectory:
    segments = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        parent = rng.choice(known)
        tokens = parent[: rng.randint(2, len(parent))] + ids(rng, rng.choice((0, 1, 1, 4, 17)))
        known.append(tokens)
        said = rng.choice((0.0, 0.3, 0.6, 1.0))
        mask = (False, *(rng.random() < said for _ in tokens[1:]))
        logprobs = tuple(rng.uniform(-5.5, -3) if sampled else 0.0 for sampled in mask)
        segments.append(Segment(tokens, logprobs, mask))
    return Trajectory("s", index, (), tuple(segments), "answered")


@dataclass
class Row:
    """One segment on its own, with its try's number and advantage."""

    segment: Segment
    number: int
    advantage: float


def rows(batch: Batch) -> list[Row]:
    pairs = [
        (trajectory, advantage)
        for group, given in zip(batch.groups, batch.advantages, strict=True)
        for trajectory, advantage in zip(group.trajectories, given, strict=True)
    ]
    return [Row(s, number, a) for number, (t, a) in enumerate(pairs) for s in t.segments]


class NaivePolicy:
    """The decoder with LoRA written out as W + scale * B A, over padded rows and a dense mask."""

    def __init__(self, trainer: LoraTrainer) -> None:
        self.decoder, self.scale = trainer.base, JOB.lora_alpha / JOB.lora_rank
        self.adapter = {name: p.detach().clone().requires_grad_() for name, p in trainer.adapter.items()}
        assert set(self.adapter) == set(trainer.adapter)

    def logprobs(self, made: Sequence[Row], *, adapted: bool = True) -> Tensor:
        """[B, T - 1]: of each token after the first in each padded row."""
        length = max(len(row.segment.ids) for row in made)
        ids_BT = torch.tensor([[*row.segment.ids, *[0] * (length - len(row.segment.ids))] for row in made])
        lengths_B = torch.tensor([len(row.segment.ids) for row in made])
        real_BT = torch.arange(length) < lengths_B[:, None]
        allowed_BTT = torch.ones(length, length, dtype=torch.bool).tril() & real_BT[:, None, :]
        allowed_BTT = allowed_BTT | torch.eye(length, dtype=torch.bool)

        def dense(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            q, k, v = (x.transpose(1, 2) for x in (q, k, v))
            k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for x in (k, v))
            scores = (q @ k.transpose(-1, -2)) / q.shape[-1] ** 0.5
            scores = scores.masked_fill(~allowed_BTT[:, None], float("-inf"))
            return (scores.softmax(-1) @ v).transpose(1, 2)

        positions_BT = torch.arange(length).expand(ids_BT.shape)
        weights = self._weights() if adapted else {}
        hidden = functional_call(self.decoder, weights, (ids_BT, positions_BT, dense))
        logits = self.decoder.logits(hidden).float()
        return logits.log_softmax(-1)[:, :-1].gather(-1, ids_BT[:, 1:, None])[..., 0]

    def _weights(self) -> dict[str, Tensor]:
        plain = dict(self.decoder.named_parameters())
        modules = {name.rpartition(".")[0] for name in self.adapter}
        return {
            f"{m}.weight": plain[f"{m}.weight"]
            + self.scale * (self.adapter[f"{m}.lora_B"] @ self.adapter[f"{m}.lora_A"])
            for m in modules
        }


def naive_loss(policy: NaivePolicy, batch: Batch, job: Job) -> Tensor:
    """The formulae as their papers have them, try by try; nothing here comes from grpo.py."""
    made = rows(batch)
    new, base = policy.logprobs(made), policy.logprobs(made, adapted=False).detach()
    said = [torch.tensor(row.segment.mask[1:], dtype=torch.bool) for row in made]

    def per_try(values: Sequence[Tensor]) -> dict[int, Tensor]:
        found: dict[int, list[Tensor]] = {}
        for row, value, mask in zip(made, values, said, strict=True):
            found.setdefault(row.number, []).append(value[: len(mask)][mask])
        return {number: torch.cat(parts) for number, parts in found.items()}

    old = per_try([torch.tensor(row.segment.logprobs[1:]) for row in made])
    news, bases = per_try(list(new)), per_try(list(base))
    pulls = per_try([torch.full((len(row.segment.ids) - 1,), row.advantage) for row in made])
    counts = {number: len(value) for number, value in old.items()}
    tokens, tries = sum(counts.values()), sum(len(g.trajectories) for g in batch.groups)
    mean_kl = sum((old[n] - bases[n]).sum() for n in old) / tokens
    total = torch.zeros(())
    for n in [n for n in old if counts[n]]:
        pull = pulls[n]
        if job.kl_in == "advantage":
            pull = pull + job.kl_coefficient * (mean_kl - (old[n] - bases[n]))
        loss = _naive_tokens(job, news[n], old[n], pull)
        if job.kl_in == "loss":
            loss = loss + job.kl_coefficient * ((bases[n] - news[n]).exp() - (bases[n] - news[n]) - 1)
        share = {
            "token": 1 / tokens,
            "try": 1 / (tries * counts[n]),
            "constant": 1 / (tries * job.max_tokens),
        }
        total = total + loss.sum() * share[job.loss_mean]
    return total


def _naive_tokens(job: Job, new: Tensor, old: Tensor, pull: Tensor) -> Tensor:
    weight = torch.ones_like(old)
    if job.importance != "none":
        weight, old = (new.detach() - old).exp(), new.detach()
        cap = job.importance_cap
        within = (weight >= 1 / cap) & (weight <= cap)
        weight = weight.clamp(max=cap) if job.importance == "truncate" else weight * within
    ratio = (new - old).exp()
    if job.loss == "cispo":
        return -weight * ratio.detach().clamp(0, 5) * pull * new
    if job.loss == "gspo":
        ratio = (new - old).mean().exp().expand(len(new))
    low, high = job.clip_low or 0.2, job.clip_high or 0.28
    return -weight * torch.minimum(ratio * pull, ratio.clamp(1 - low, 1 + high) * pull)


def a_trainer(model: Path, job: Job) -> LoraTrainer:
    """With an adapter that is not zero any more."""
    trainer = LoraTrainer(model, job, workers=1)
    generator = torch.Generator().manual_seed(9)
    with torch.no_grad():
        for parameter in trainer.adapter.values():
            parameter.normal_(std=0.03, generator=generator)
    trainer._updated()
    return trainer


def learned_gradient(trainer: LoraTrainer, batch: Batch) -> Tensor:
    """The gradient that AdamW was given, from its first moment after one step."""
    metrics = trainer.update(batch)
    assert metrics["skipped"] == 0
    moments = [trainer.optimizer.state[p]["exp_avg"] for p in trainer.adapter.values()]
    return torch.cat([moment.flatten() for moment in moments]) / (1 - learner.BETAS[0])


@pytest.fixture(scope="module", params=["llama", "qwen3"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("models") / request.param, family=request.param, seed=4)


@pytest.mark.parametrize("name", sorted(LOSSES))
@pytest.mark.parametrize("seed", range(3))
def test_every_loss_has_the_gradient_of_the_naive_computation(
    model: Path, name: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(f"{name} {seed}")
    monkeypatch.setattr(learner, "TOKEN_BUDGET", rng.choice((20, 60, 10_000)))
    batch, job = a_batch(rng), replace(JOB, **LOSSES[name])
    trainer = a_trainer(model, job)
    policy = NaivePolicy(trainer)
    expected_loss = naive_loss(policy, batch, job)
    expected = torch.cat(
        [g.flatten() for g in torch.autograd.grad(expected_loss, list(policy.adapter.values()))]
    )
    found = learned_gradient(trainer, batch)
    assert F.cosine_similarity(expected, found, dim=0) >= 0.9999
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=2e-4 * expected.abs().max().item())


@pytest.mark.parametrize("seed", range(20))
def test_log_probabilities_are_those_of_the_naive_computation(model: Path, seed: int) -> None:
    batch = a_batch(random.Random(1000 + seed))
    trainer = a_trainer(model, JOB)
    made = rows(batch)
    with torch.no_grad():
        naive = NaivePolicy(trainer).logprobs(made)
    expected = [
        (row.segment.logprobs[t], naive[b, t - 1].item())
        for b, row in enumerate(made)
        for t in range(1, len(row.segment.ids))
        if row.segment.mask[t]
    ]
    found: list[tuple[float, float]] = []
    for pack in learner._packs(list(zip(batch.groups, batch.advantages, strict=True))):
        new_T = learner._measured(trainer.policy, pack)
        found += zip(pack.old_logprobs_T.double().tolist(), new_T.tolist(), strict=True)
    for ours, theirs in zip(sorted(found), sorted(expected), strict=True):
        assert ours == pytest.approx(theirs, abs=1e-5)


def test_a_try_of_several_segments_is_never_divided(
    tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learner, "TOKEN_BUDGET", 8)
    batch = a_batch(random.Random(2))
    sampled = [
        sum(sum(s.mask) for s in trajectory.segments) for g in batch.groups for trajectory in g.trajectories
    ]
    packs = learner._packs(list(zip(batch.groups, batch.advantages, strict=True)))
    assert len(packs) > 1
    found = [count for pack in packs for count in pack.try_T.bincount().tolist()]
    assert sorted(found) == sorted(count for count in sampled if count)


def test_later_updates_are_corrected_from_the_policy_before_the_first(
    tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = replace(JOB, importance="truncate", optimizer_steps=2, learning_rate=0.1)
    trainer = a_trainer(tiny_model, job)
    mask, logprobs = (False, False, True, True), (0.0, 0.0, -4.0, -4.0)
    tries = [
        Trajectory("s", 0, (), (Segment((5, 6, 7, 8 + i), logprobs, mask),), "answered") for i in range(2)
    ]
    groups = tuple(Group(1, i, Scenario("s", "train", ()), (), (t,)) for i, t in enumerate(tries))
    batch = Batch(groups, ((1.0,), (-1.0,)), 0.1)
    (second,) = learner._packs([(groups[1], (-1.0,))])
    before = learner._measured(trainer.policy, second)
    seen: list[Lesson] = []
    learn = trainer._learn

    def watched(lesson: Lesson, size: Size) -> Any:
        seen.append(lesson)
        return learn(lesson, size)

    monkeypatch.setattr(trainer, "_learn", watched)
    trainer.update(batch)
    assert seen[0].proximal_T is None
    assert seen[1].proximal_T is not None
    assert torch.equal(seen[1].proximal_T, before)
    assert not torch.equal(learner._measured(trainer.policy, second), before)


def test_the_decoder_learned_on_is_left_as_it_was(tiny_model: Path) -> None:
    plain = {name: p.clone() for name, p in Decoder.load(tiny_model).named_parameters()}
    trainer = LoraTrainer(tiny_model, JOB)
    trainer.update(a_batch(random.Random(0)))
    assert all(torch.equal(plain[name], p) for name, p in trainer.base.named_parameters())
