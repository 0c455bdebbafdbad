"""The packed computation equals the naive one, for whatever trees of tries chance comes up with."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from torch import Tensor

from gpu_worker.engines.embedded.decoder import Decoder, causal
from gpu_worker.grpo import cispo
from gpu_worker.packing import Line, packs
from gpu_worker.token_logprobs import token_logprobs
from gpu_worker.tree_attention import attention_over
from gpu_worker.types import Segment

VOCABULARY = 60


def a_tree(rng: random.Random) -> list[Line]:
    """Tries that branch at random places from each other, some equal, some nothing but a prompt."""
    lines: list[Line] = []
    for _ in range(rng.randint(1, 3)):
        known: list[tuple[int, ...]] = [_ids(rng, rng.randint(2, 12))]
        for _ in range(rng.randint(1, 6)):
            parent = rng.choice(known)
            kept = parent[: rng.randint(2, len(parent))]
            ids = kept + _ids(rng, rng.choice((0, 1, 5, 20)))
            known.append(ids)
            lines.append((_segment(ids, rng), rng.uniform(-2, 2)))
    return lines


def _ids(rng: random.Random, count: int) -> tuple[int, ...]:
    return tuple(rng.randrange(VOCABULARY) for _ in range(count))


def _segment(ids: tuple[int, ...], rng: random.Random) -> Segment:
    mask = (False, *(rng.random() < 0.6 for _ in ids[1:]))
    return Segment(ids, tuple(-3 * rng.random() if sampled else 0.0 for sampled in mask), mask)


def naive_loss(model: Decoder, lines: Sequence[Line]) -> Tensor:
    """Each segment on its own, with the whole logits tensor and plain causal attention."""
    loss = torch.zeros(())
    for segment, advantage in lines:
        ids = torch.tensor([segment.ids])
        logprobs = model.logits(model(ids, torch.arange(ids.shape[1])[None], causal)).log_softmax(-1)
        sampled = torch.tensor(segment.mask[1:], dtype=torch.bool)
        logprobs_T = logprobs[0, :-1].gather(-1, ids[0, 1:, None])[:, 0][sampled]
        old_T = torch.tensor(segment.logprobs)[1:][sampled]
        advantages_T = torch.full_like(old_T, advantage)
        loss = loss + cispo(logprobs_T, old_T, advantages_T, clip_low=1.0, clip_high=4.0).loss_T.sum()
    return loss


def packed_loss(model: Decoder, lines: Sequence[Line], budget: int) -> Tensor:
    loss = torch.zeros(())
    for pack in packs(lines, budget):
        hidden_NC = model(pack.ids_N, pack.positions_N, attention_over(pack.edges))
        head_VC = model.model.embed_tokens.weight.detach()
        logprobs_M, _ = token_logprobs(hidden_NC[pack.predictors_M], head_VC, pack.targets_M)
        old_T, advantages_T = pack.old_logprobs_T, pack.advantages_T
        loss = (
            loss
            + cispo(logprobs_M[pack.row_T], old_T, advantages_T, clip_low=1.0, clip_high=4.0).loss_T.sum()
        )
    return loss


def gradient(model: Decoder, loss: Tensor) -> Tensor:
    matrices = [p for name, p in model.named_parameters() if "_proj" in name]
    return torch.cat([g.flatten() for g in torch.autograd.grad(loss, matrices)])


@pytest.fixture(scope="module")
def model(tiny_model: Path) -> Decoder:
    decoder = Decoder.load(tiny_model)
    for name, parameter in decoder.named_parameters():
        parameter.requires_grad_("_proj" in name)
    return decoder


@pytest.mark.parametrize("seed", range(12))
def test_loss_and_gradients_equal_those_of_one_try_at_a_time(model: Decoder, seed: int) -> None:
    rng = random.Random(seed)
    lines = a_tree(rng)
    one, other = naive_loss(model, lines), packed_loss(model, lines, rng.choice((8, 40, 10_000)))
    assert other.item() == pytest.approx(one.item(), rel=1e-5, abs=1e-4)
    expected, found = gradient(model, one), gradient(model, other)
    assert torch.nn.functional.cosine_similarity(expected, found, dim=0) >= 0.9999
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3 * expected.abs().max().item())


@pytest.mark.parametrize("seed", range(12))
def test_log_probabilities_equal_those_of_one_try_at_a_time(model: Decoder, seed: int) -> None:
    lines = a_tree(random.Random(100 + seed))
    for pack in packs(lines, 10_000):
        hidden_NC = model(pack.ids_N, pack.positions_N, attention_over(pack.edges))
        head_VC = model.model.embed_tokens.weight
        logprobs_M, entropy_M = token_logprobs(hidden_NC[pack.predictors_M], head_VC, pack.targets_M)
        expected = model.logits(hidden_NC[pack.predictors_M]).log_softmax(-1)
        torch.testing.assert_close(entropy_M, -(expected.exp() * expected).sum(-1), rtol=0, atol=1e-5)
        found = sorted(logprobs_M[pack.row_T].tolist())
    naive = []
    for segment, _ in lines:
        ids = torch.tensor([segment.ids])
        logprobs = model.logits(model(ids, torch.arange(ids.shape[1])[None], causal)).log_softmax(-1)[0]
        naive += [logprobs[t - 1, ids[0, t]].item() for t in range(1, ids.shape[1]) if segment.mask[t]]
    assert found == pytest.approx(sorted(naive), abs=1e-5)


def test_what_tries_share_is_one_run_of_nodes() -> None:
    mask, logprobs = (False, False, True, True), (0.0, 0.0, -1.0, -1.0)
    lines = [(Segment(ids, logprobs, mask), 1.0) for ids in ((1, 2, 3, 4), (1, 2, 3, 5), (1, 2, 3, 5))]
    (pack,) = packs(lines, 100)
    assert pack.ids_N.tolist() == [1, 2, 3, 4, 5]
    assert pack.positions_N.tolist() == [0, 1, 2, 3, 3]
    assert [(edge.start, edge.end, edge.below) for edge in pack.edges] == [(0, 3, 5), (3, 4, 4), (4, 5, 5)]
    assert pack.targets_M.tolist() == [3, 4, 5]
    assert pack.predictors_M.tolist() == [1, 2, 2]
    assert pack.row_T.tolist() == [0, 1, 0, 2, 0, 2]


def test_a_micro_batch_stays_within_the_budget_and_nothing_is_lost() -> None:
    rng = random.Random(5)
    lines = [line for _ in range(10) for line in a_tree(rng)]
    made = packs(lines, 64)
    assert len(made) > 3
    assert all(len(pack.ids_N) <= 64 for pack in made)
    assert sum(len(pack.row_T) for pack in made) == sum(sum(segment.mask) for segment, _ in lines)


def long_tries(prefix: int, tails: int, count: int) -> list[Line]:
    """`count` tries that share `prefix` tokens and say `tails` more."""
    mask = (False,) * prefix + (True,) * tails
    return [
        (Segment((1,) * prefix + (2 + at,) * tails, (0.0,) * (prefix + tails), mask), 1.0)
        for at in range(count)
    ]


@pytest.mark.parametrize("budget", [300, 1000])
def test_micro_batches_come_in_even_numbers_and_equal_sizes(budget: int) -> None:
    sizes = [len(pack.ids_N) for pack in packs(long_tries(10, 60, 40), budget)]
    assert len(sizes) % 2 == 0
    assert max(sizes) <= budget
    assert max(sizes) - min(sizes) <= 70


def test_a_little_is_one_micro_batch() -> None:
    assert len(packs(long_tries(10, 30, 8), 1000)) == 1


def test_what_is_mostly_shared_is_not_divided_for_the_budgets_sake() -> None:
    assert len(packs(long_tries(900, 30, 8), 1000)) == 1
    assert len(packs(long_tries(20, 600, 4), 700)) == 4


def test_the_order_of_the_tries_does_not_matter() -> None:
    lines = a_tree(random.Random(1))
    for one, other in zip(packs(lines, 50), packs(lines[::-1], 50), strict=True):
        assert torch.equal(one.ids_N, other.ids_N)
        assert torch.equal(one.advantages_T, other.advantages_T)


def test_tries_in_which_nothing_was_sampled_are_left_out() -> None:
    assert packs([(Segment((1, 2), (0.0, 0.0), (False, False)), 1.0)], 10) == []


def test_a_sampled_first_token_is_refused() -> None:
    with pytest.raises(ValueError, match="first token"):
        packs([(Segment((1, 2), (-1.0, -1.0), (True, True)), 1.0)], 10)


def test_a_few_tries_can_be_taken_out_of_a_micro_batch() -> None:
    lines = [line for seed in range(3) for line in a_tree(random.Random(seed))]
    (pack,) = packs(lines, 10_000, [at // 2 for at in range(len(lines))])
    few, at = pack.of_tries(range(1, 3))
    assert torch.equal(few.old_logprobs_T, pack.old_logprobs_T[at])
    assert torch.equal(few.targets_M[few.row_T], pack.targets_M[pack.row_T][at])
    assert set(pack.try_T[at].tolist()) == {1, 2}
    assert len(few.ids_N) < len(pack.ids_N)
