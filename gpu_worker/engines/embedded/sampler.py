"""Samples many rows at once: prefill, decode, and the choice of the next id.

The work of a decode step is a fixed number of tensor operations, whatever the number of rows. A row's
randomness comes from its own seed and position alone, so it does not depend on what else is in the
batch; its logits agree with those of any other batch to within fp32 rounding (about 1e-6), which decides
a draw only when the uniform falls that close to a boundary.
Who is in the batch, and when a text ends, is left to `engine.py`.

Shapes: S slots, X positions, R rows of a pass, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from gpu_worker.engines.embedded.cache import Cache, CachedAttention, Plan
from gpu_worker.engines.embedded.decoder import Decoder
from gpu_worker.types import Sampling

PREFILL_TOKENS = 1024
"""Tokens, padding included, that one prefill pass takes at most; bounds its memory."""
PIECE = 512
"""Tokens of one row that a prefill pass takes at most; the beginning of a longer one is fed before."""


def uniforms(seeds: Sequence[int], positions: Tensor) -> Tensor:
    """One number in [0, 1) per row, from its seed and position alone (SplitMix64), as float64."""
    with np.errstate(over="ignore"):
        state = _mixed(np.array(seeds, dtype=np.uint64)) + positions.numpy().astype(np.uint64) * GOLDEN
        bits = _mixed(state + GOLDEN) >> np.uint64(11)
    return torch.from_numpy(bits.astype(np.float64) * 2.0**-53)


GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mixed(z: np.ndarray) -> np.ndarray:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def pick(
    logits_RV: Tensor, uniforms_R: Tensor, temperature_R: Tensor, top_p_R: Tensor
) -> tuple[Tensor, Tensor]:
    """The drawn ids [R] and their log-probabilities [R] at temperature 1 over the whole vocabulary.

    Draws by inverting the cumulated distribution at the row's uniform; temperature 0 takes the likeliest.
    """
    logprobs_RV = logits_RV.log_softmax(-1)
    greedy_R = temperature_R == 0
    warmth_R1 = temperature_R.masked_fill(greedy_R, 1.0).unsqueeze(-1)
    probabilities_RV = (logprobs_RV / warmth_R1).softmax(-1)
    cut = top_p_R < 1
    if cut.any():
        probabilities_RV[cut] = _nucleus(probabilities_RV[cut], top_p_R[cut])
    cumulated_RV = probabilities_RV.cumsum(-1, dtype=torch.float64)
    target_R1 = uniforms_R.unsqueeze(-1) * cumulated_RV[:, -1:]
    ids_R = torch.searchsorted(cumulated_RV, target_R1, right=True).squeeze(-1)
    ids_R = ids_R.clamp_(max=logits_RV.shape[-1] - 1)
    if greedy_R.any():
        ids_R = torch.where(greedy_R, logits_RV.argmax(-1), ids_R)
    return ids_R, logprobs_RV.gather(-1, ids_R.unsqueeze(-1)).squeeze(-1)


def _nucleus(probabilities_RV: Tensor, top_p_R: Tensor) -> Tensor:
    """Zero outside the smallest set of likeliest ids whose probabilities reach top_p; never empty."""
    ordered, order = probabilities_RV.sort(dim=-1, descending=True, stable=True)
    before = ordered.cumsum(-1, dtype=torch.float64) - ordered
    ordered = ordered.masked_fill(before >= top_p_R.unsqueeze(-1), 0.0)
    ordered[:, 0] = probabilities_RV.amax(-1)
    return torch.zeros_like(probabilities_RV).scatter(-1, order, ordered)


@dataclass(frozen=True)
class Fill:
    """Prefill of slot `slot` from position `start`; `copies` are slots whose ids are the same."""

    slot: int
    start: int
    copies: tuple[int, ...] = ()


class Sampler:
    """The state of all slots as tensors, and the passes that move it forward.

    length_S ids of a slot are known (ids_SX, logprobs_SX); all but the newest have been fed.
    """

    def __init__(self, decoder: Decoder, slots: int, max_context: int) -> None:
        self.decoder = decoder
        self.cache = Cache(decoder.shape, slots, max_context)
        self.ids_SX = torch.zeros(slots, max_context, dtype=torch.long)
        self.logprobs_SX = torch.zeros(slots, max_context)
        self.length_S = torch.zeros(slots, dtype=torch.long)
        self.limit_S = torch.zeros(slots, dtype=torch.long)
        self.trunk_start_S = torch.zeros(slots, dtype=torch.long)
        self.trunk_length_S = torch.zeros(slots, dtype=torch.long)
        self.temperature_S = torch.ones(slots)
        self.top_p_S = torch.ones(slots)
        self.seed_S = np.zeros(slots, dtype=np.uint64)
        self._states = (
            *(self.ids_SX, self.logprobs_SX, self.length_S, self.limit_S, self.trunk_start_S),
            *(self.trunk_length_S, self.temperature_S, self.top_p_S, self.seed_S),
        )

    def put(self, slot: int, ids: Sequence[int], sampling: Sampling, limit: int) -> None:
        """Make `ids` the known ids of a slot, to be sampled on, up to `limit` in all, as `sampling` says."""
        self.ids_SX[slot, : len(ids)] = torch.tensor(ids)
        self.length_S[slot] = len(ids)
        self.limit_S[slot] = limit
        self.temperature_S[slot] = sampling.temperature
        self.top_p_S[slot] = sampling.top_p
        self.seed_S[slot] = sampling.seed & (2**64 - 1)

    def see_trunk(self, slot: int, start: int, length: int) -> None:
        self.trunk_start_S[slot], self.trunk_length_S[slot] = start, length

    def shorten_trunk(self, slot: int, length: int) -> None:
        """See no more than `length` positions of the trunk; what follows is about to be computed anew."""
        self.trunk_length_S[slot] = min(length, int(self.trunk_length_S[slot]))

    def same_ids(self, slot: int, ids: Sequence[int]) -> int:
        """How many of `ids`, from the first on, have their keys and values in the slot already."""
        fed = min(max(0, int(self.length_S[slot]) - 1), len(ids))
        different = (self.ids_SX[slot, :fed] != torch.tensor(ids[:fed])).nonzero()
        return int(different[0]) if len(different) else fed

    @torch.inference_mode()
    def move(self, source: int, target: int) -> None:
        """Let the row in slot `source` go on in slot `target`."""
        own = int(self.length_S[source] - self.trunk_length_S[source])
        self.cache.copy(source, [target], own)
        for state in self._states:
            state[target] = state[source]

    @torch.inference_mode()
    def plant(self, slot: int, ids: Sequence[int], start: int) -> None:
        """Compute the keys and values of `ids` in a free slot and put them into the trunk at `start`."""
        self.put(slot, ids, Sampling(), len(ids))
        self.see_trunk(slot, 0, 0)
        self._hidden([self._fed_up_to_last_piece(Fill(slot, 0))])
        self.cache.plant(slot, start, len(ids))

    @torch.inference_mode()
    def prefill(self, fills: Sequence[Fill]) -> None:
        """Feed the known ids from each fill's start on, and draw the next id of every slot."""
        for chunk in _chunks(fills, self.length_S):
            self._prefill_chunk(chunk)

    @torch.inference_mode()
    def decode(self, slots_R: Tensor) -> None:
        """Feed the newest id of every row and draw the next."""
        rows = torch.arange(len(slots_R))
        hidden = self._forward(slots_R, rows, torch.zeros_like(rows), self.length_S[slots_R] - 1)
        self._draw(slots_R, self.decoder.logits(hidden))

    def _prefill_chunk(self, fills: Sequence[Fill]) -> None:
        fills = [self._fed_up_to_last_piece(fill) for fill in fills]
        last = torch.tensor([int(self.length_S[fill.slot]) - fill.start for fill in fills]).cumsum(0) - 1
        logits = self.decoder.logits(self._hidden(fills)[last])
        for fill in fills:
            self._copy(fill)
        owners = [(row, slot) for row, fill in enumerate(fills) for slot in (fill.slot, *fill.copies)]
        self._draw(torch.tensor([slot for _, slot in owners]), logits[[row for row, _ in owners]])

    def newest(self, slots_R: Tensor) -> Tensor:
        """The newest known id of each slot, [R]."""
        return self.ids_SX[slots_R, self.length_S[slots_R] - 1]

    def full(self, slots_R: Tensor) -> Tensor:
        """Which slots have reached their limit, [R]."""
        return self.length_S[slots_R] >= self.limit_S[slots_R]

    def _fed_up_to_last_piece(self, fill: Fill) -> Fill:
        """Feed the beginning of a long row piece by piece; returns what is left to feed."""
        start, length = fill.start, int(self.length_S[fill.slot])
        while length - start > PIECE:
            piece = torch.arange(start, start + PIECE)
            row = torch.zeros_like(piece)
            self._forward(torch.tensor([fill.slot]), row, piece - start, piece)
            start += PIECE
        return replace(fill, start=start)

    def _hidden(self, fills: Sequence[Fill]) -> Tensor:
        """Final hidden states of all tokens of a prefill, rows one after the other."""
        counts = torch.tensor([int(self.length_S[fill.slot]) - fill.start for fill in fills])
        starts = torch.tensor([fill.start for fill in fills])
        row_T = torch.repeat_interleave(torch.arange(len(fills)), counts)
        place_T = torch.arange(len(row_T)) - (counts.cumsum(0) - counts)[row_T]
        slots_R = torch.tensor([fill.slot for fill in fills])
        return self._forward(slots_R, row_T, place_T, starts[row_T] + place_T)

    def _forward(self, slots_R: Tensor, row_T: Tensor, place_T: Tensor, position_T: Tensor) -> Tensor:
        slot_T = slots_R[row_T]
        slot_position_T = position_T - self.trunk_length_S[slot_T]
        start_R, length_R = self.trunk_start_S[slots_R], self.trunk_length_S[slots_R]
        plan = Plan(slots_R, start_R, length_R, row_T, place_T, slot_position_T)
        return self.decoder(self.ids_SX[slot_T, position_T], position_T, CachedAttention(self.cache, plan))

    def _copy(self, fill: Fill) -> None:
        """Let the copies of a fill have its keys and values; they already know the same ids."""
        if fill.copies:
            own = int(self.length_S[fill.slot] - self.trunk_length_S[fill.slot])
            self.cache.copy(fill.slot, list(fill.copies), own)

    def _draw(self, slots_R: Tensor, logits_RV: Tensor) -> None:
        length_R = self.length_S[slots_R]
        uniforms_R = uniforms(self.seed_S[slots_R.numpy()], length_R)
        ids_R, logprobs_R = pick(logits_RV, uniforms_R, self.temperature_S[slots_R], self.top_p_S[slots_R])
        self.ids_SX[slots_R, length_R] = ids_R
        self.logprobs_SX[slots_R, length_R] = logprobs_R
        self.length_S[slots_R] = length_R + 1


def _chunks(fills: Sequence[Fill], length_S: Tensor) -> list[list[Fill]]:
    """Fills of about the same length together, so that little is padded; each chunk within the bound."""
    ordered = sorted(fills, key=lambda fill: int(length_S[fill.slot]) - fill.start)
    chunks: list[list[Fill]] = []
    for fill in ordered:
        longest = min(PIECE, int(length_S[fill.slot]) - fill.start)
        if chunks and (len(chunks[-1]) + 1) * longest <= PREFILL_TOKENS:
            chunks[-1].append(fill)
        else:
            chunks.append([fill])
    return chunks
