"""Draws follow the distribution, from one uniform per row; log-probabilities are exact."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from gpu_worker.engines.embedded.decoder import Decoder, causal
from gpu_worker.engines.embedded.draw import pick, uniforms
from gpu_worker.engines.embedded.sampler import PREFILL_TOKENS, Fill, Sampler, _chunks
from gpu_worker.types import Sampling

ROWS = 20_000


def evenly(rows: int) -> torch.Tensor:
    return (torch.arange(rows, dtype=torch.float64) + 0.5) / rows


def drawn(logits: torch.Tensor, temperature: float = 1.0, top_p: float = 1.0) -> torch.Tensor:
    """How often each id is drawn when the uniforms lie evenly."""
    rows = logits.expand(ROWS, -1)
    ids, _ = pick(rows, evenly(ROWS), torch.full((ROWS,), temperature), torch.full((ROWS,), top_p))
    return torch.bincount(ids, minlength=logits.shape[0]) / ROWS


LOGITS = torch.tensor([0.3, -1.0, 2.0, 0.0, -30.0, 1.0])


@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.7])
def test_ids_are_drawn_as_often_as_they_are_likely(temperature: float) -> None:
    torch.testing.assert_close(
        drawn(LOGITS, temperature), (LOGITS / temperature).softmax(-1), atol=1e-4, rtol=0
    )


def test_top_p_keeps_the_smallest_set_that_reaches_it() -> None:
    likely = LOGITS.softmax(-1)
    kept = likely * (likely >= likely.sort(descending=True).values[2])
    top_p = float(likely.sort(descending=True).values[:2].sum()) + 0.01
    torch.testing.assert_close(drawn(LOGITS, top_p=top_p), kept / kept.sum(), atol=1e-4, rtol=0)
    assert drawn(LOGITS, top_p=0.0)[2] == 1


def test_temperature_zero_takes_the_likeliest() -> None:
    assert drawn(LOGITS, temperature=0.0)[2] == 1


def test_rows_of_a_batch_keep_their_own_settings() -> None:
    temperature, top_p = torch.tensor([0.0, 1.0, 1.0]), torch.tensor([1.0, 0.1, 1.0])
    ids, _ = pick(LOGITS.expand(3, -1), torch.full((3,), 0.9999, dtype=torch.float64), temperature, top_p)
    assert ids.tolist() == [2, 2, 5]


def test_impossible_ids_are_never_drawn() -> None:
    logits = torch.tensor([-float("inf"), 0.0, -float("inf"), 0.0, -float("inf")])
    edges = torch.tensor([0.0, 0.5, 1 - 2**-53], dtype=torch.float64)
    ids, logprobs = pick(logits.expand(3, -1), edges, torch.ones(3), torch.ones(3))
    assert ids.tolist() == [1, 3, 3]
    torch.testing.assert_close(logprobs, torch.full((3,), 0.5).log())


def test_logprobs_are_those_of_temperature_one() -> None:
    ids, logprobs = pick(LOGITS[None], torch.tensor([0.5]).double(), torch.tensor([0.3]), torch.tensor([0.5]))
    torch.testing.assert_close(logprobs[0], LOGITS.log_softmax(-1)[ids[0]])


def test_uniforms_follow_from_seed_and_position_alone() -> None:
    seeds, positions = [3, 2**64 - 1, 3], torch.tensor([10, 11, 12])
    together = uniforms(seeds, positions)
    assert uniforms([2**64 - 1], torch.tensor([11]))[0] == together[1]
    assert len(set(together.tolist())) == 3


def test_uniforms_are_uniform_over_seeds_and_over_positions() -> None:
    for numbers in (
        uniforms(range(40_000), torch.full((40_000,), 7)),
        uniforms([5] * 40_000, torch.arange(40_000)),
    ):
        counts = torch.histc(numbers, 100, 0, 1)
        chi_square = float(((counts - 400) ** 2 / 400).sum())
        assert 60 < chi_square < 150  # 99 degrees of freedom
        assert numbers.min() >= 0 and numbers.max() < 1
        assert abs(float(torch.corrcoef(torch.stack((numbers[1:], numbers[:-1])))[0, 1])) < 0.02


def test_logprobs_equal_those_of_a_full_forward(tiny_model: Path) -> None:
    decoder = Decoder.load(tiny_model)
    sampler = Sampler(decoder, slots=6, max_context=128)
    generator = torch.Generator().manual_seed(0)
    prompts = [torch.randint(3, 300, (size,), generator=generator).tolist() for size in (7, 40, 1, 23)]
    for slot, prompt in zip((0, 2, 3, 5), prompts, strict=True):
        sampler.put(slot, prompt, Sampling(seed=slot), limit=100)
    sampler.prefill([Fill(slot, 0) for slot in (0, 2, 3, 5)])
    for step in range(20):
        sampler.decode([0, 2, 3, 5] if step % 3 else [5])
    for slot, prompt in zip((0, 2, 3, 5), prompts, strict=True):
        length = int(sampler.length_S[slot])
        ids = sampler.ids_SX[slot, None, :length]
        hidden = decoder(ids, torch.arange(length)[None], causal)
        logprobs = decoder.logits(hidden).log_softmax(-1)[0, :-1].gather(-1, ids[0, 1:, None])[:, 0]
        assert ids[0, : len(prompt)].tolist() == prompt and length >= len(prompt) + 13
        own = sampler.logprobs_SX[slot, len(prompt) : length]
        torch.testing.assert_close(own, logprobs[len(prompt) - 1 :], atol=1e-5, rtol=0)


def test_prefill_is_cut_into_chunks_of_about_equal_lengths() -> None:
    lengths = [5, 300, 6, 300, 300, 300, 300]
    chunks = _chunks([Fill(slot, 0) for slot in range(7)], lengths)
    assert [[lengths[fill.slot] for fill in chunk] for chunk in chunks] == [
        [5, 6, 300],
        [300] * 3,
        [300],
    ]
    assert all(len(chunk) * 300 <= PREFILL_TOKENS for chunk in chunks)


def test_a_long_prompt_is_fed_in_pieces(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decoder = Decoder.load(tiny_model)
    ids = torch.randint(3, 300, (90,), generator=torch.Generator().manual_seed(0)).tolist()
    drawn = []
    for piece in (512, 20):
        monkeypatch.setattr("gpu_worker.engines.embedded.sampler.PIECE", piece)
        sampler = Sampler(decoder, slots=3, max_context=128)
        sampler.plant(ids[:50], 0)
        for slot in (0, 2):
            sampler.put(slot, ids, Sampling(seed=3), limit=100)
            sampler.see_trunk(slot, 0, 50 if slot else 0)
        sampler.prefill([Fill(0, 0), Fill(2, 50)])
        drawn.append(sampler.logprobs_SX[[0, 2], 90])
    assert drawn[0][0] < 0
    torch.testing.assert_close(drawn[0][:1].expand(2), drawn[0], atol=1e-5, rtol=0)
    torch.testing.assert_close(drawn[0], drawn[1], atol=1e-5, rtol=0)


def test_a_moved_row_goes_on_as_if_it_had_stayed(tiny_model: Path) -> None:
    sampler = Sampler(Decoder.load(tiny_model), slots=4, max_context=128)
    ids = list(range(3, 60))
    sampler.plant(ids[:40], 0)
    for slot in (1, 3):
        sampler.put(slot, ids, Sampling(seed=9, temperature=1.3, top_p=0.9), limit=100)
        sampler.see_trunk(slot, 0, 40)
    sampler.prefill([Fill(1, 40), Fill(3, 40)])
    sampler.decode([1, 3])
    sampler.move(3, 0)
    for _ in range(5):
        sampler.decode([0, 1])
    assert sampler.ids_SX[0, :64].tolist() == sampler.ids_SX[1, :64].tolist()
    assert int(sampler.length_S[0]) == 64 and sampler.length_S[0] == sampler.length_S[1]
