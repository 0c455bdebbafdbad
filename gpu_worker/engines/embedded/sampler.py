"""Samples many rows at once: prefill and decode, with the choice of the next id.

The work of a decode step is a fixed number of tensor operations, whatever the number of rows. A row's
randomness comes from its own seed and position alone, so it does not depend on what else is in the
batch; its logits agree with those of any other batch to within rounding (about 1e-6 in fp32), which
decides a draw only when the uniform falls that close to a boundary.
Who is in the batch, and when a text ends, is left to `engine.py`.

Shapes: S slots, X positions, R rows of a pass, T its tokens, Q rows of its grid, L places, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from gpu_worker.engines.embedded.attention import HIDDEN, CachedAttention, Grid, Members, TrunkView
from gpu_worker.engines.embedded.cache import Store
from gpu_worker.engines.embedded.decoder import Decoder
from gpu_worker.engines.embedded.draw import pick, uniforms
from gpu_worker.engines.embedded.network import Network
from gpu_worker.types import Sampling

PREFILL_TOKENS = 1024
"""Tokens, padding included, that one prefill pass takes at most; bounds its memory."""
PIECE = 512
"""Tokens of one row that a prefill pass takes at most; the beginning of a longer one is fed before."""


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

    def __init__(
        self, decoder: Decoder, slots: int, max_context: int, dtype: torch.dtype = torch.float32
    ) -> None:
        self.decoder = decoder
        self.device = device = decoder.model.norm.weight.device
        self.network = Network(decoder, max_context, dtype)
        self.slots = Store(decoder.shape, slots, max_context, device)
        self.trunks = Store(decoder.shape, slots, max_context, device)
        self.ids_SX = torch.zeros(slots, max_context, dtype=torch.long, device=device)
        self.logprobs_SX = torch.zeros(slots, max_context, device=device)
        self.length_S = torch.zeros(slots, dtype=torch.long, device=device)
        self.limit_S = torch.zeros(slots, dtype=torch.long, device=device)
        self.temperature_S = torch.ones(slots, device=device)
        self.top_p_S = torch.ones(slots, device=device)
        self.trunk_S = np.zeros(slots, dtype=np.int64)
        self.trunk_length_S = np.zeros(slots, dtype=np.int64)
        self.seed_S = np.zeros(slots, dtype=np.uint64)
        self._states = (
            *(self.ids_SX, self.logprobs_SX, self.length_S, self.limit_S, self.temperature_S),
            *(self.top_p_S, self.trunk_S, self.trunk_length_S, self.seed_S),
        )
        self._round: _Round | None = None

    def put(self, slot: int, ids: Sequence[int], sampling: Sampling, limit: int) -> None:
        """Make `ids` the known ids of a slot, to be sampled on, up to `limit` in all, as `sampling` says."""
        self.ids_SX[slot, : len(ids)] = torch.tensor(ids)
        self.length_S[slot] = len(ids)
        self.limit_S[slot] = limit
        self.temperature_S[slot] = sampling.temperature
        self.top_p_S[slot] = sampling.top_p
        self.seed_S[slot] = sampling.seed & (2**64 - 1)
        self._round = None

    def see_trunk(self, slot: int, trunk: int, length: int) -> None:
        """Take the first `length` positions of a row from trunk `trunk`."""
        self.trunk_S[slot], self.trunk_length_S[slot] = trunk, length
        self._round = None

    def shorten_trunk(self, slot: int, length: int) -> None:
        """See no more than `length` positions of the trunk; what follows is about to be computed anew."""
        self.see_trunk(slot, self.trunk_S[slot], min(length, int(self.trunk_length_S[slot])))

    def same_ids(self, slot: int, ids: Sequence[int]) -> int:
        """How many of `ids`, from the first on, have their keys and values in the slot already."""
        fed = min(max(0, int(self.length_S[slot]) - 1), len(ids))
        different = (self.ids_SX[slot, :fed].cpu() != torch.tensor(ids[:fed])).nonzero()
        return int(different[0]) if len(different) else fed

    @torch.inference_mode()
    def move(self, source: int, target: int) -> None:
        """Let the row in slot `source` go on in slot `target`."""
        self.slots.copy(source, [target], self._own_length(source))
        for state in self._states:
            state[target] = state[source]
        self._round = None

    @torch.inference_mode()
    def plant(self, ids: Sequence[int], trunk: int) -> None:
        """Compute the keys and values of `ids` and make them trunk `trunk`."""
        ids_X = torch.tensor(ids, device=self.device)
        members = Members([trunk], [0], [0])
        for start in range(0, len(ids), PIECE):
            length = min(PIECE, len(ids) - start)
            self._feed(self.trunks, members, [start], [length], lambda _, position_T: ids_X[position_T])

    @torch.inference_mode()
    def prefill(self, fills: Sequence[Fill]) -> None:
        """Feed the known ids from each fill's start on, and draw the next id of every slot."""
        for chunk in _chunks(fills, self.length_S.tolist()):
            self._prefill_chunk(chunk)

    @torch.inference_mode()
    def decode(self, slots: Sequence[int]) -> None:
        """Feed the newest id of every row and draw the next."""
        if self._round is None or self._round.members != list(slots):
            self._round = _Round(self, list(slots))
        self._round.step()

    def newest(self, slots: Sequence[int]) -> Tensor:
        """The newest known id of each slot, [R]."""
        slots_R = torch.tensor(slots, device=self.device)
        return self.ids_SX[slots_R, self.length_S[slots_R] - 1]

    def full(self, slots: Sequence[int]) -> Tensor:
        """Which slots have reached their limit, [R]."""
        slots_R = torch.tensor(slots, device=self.device)
        return self.length_S[slots_R] >= self.limit_S[slots_R]

    def members(self, slots: list[int]) -> Members:
        return Members(slots, self.trunk_S[slots].tolist(), self.trunk_length_S[slots].tolist())

    def view_of(self, members: Members, grid: Grid, width: int) -> TrunkView | None:
        """What of the trunks the rows see; None when they see nothing of any."""
        if not any(members.trunk_lengths):
            return None
        groups = self.decoder.shape.heads // self.decoder.shape.kv_heads
        return TrunkView(members, grid, width, groups, self.device)

    def store_at(self, store: Store, slot_T: Tensor, position_T: Tensor) -> Tensor:
        """Where in a layer of the store, seen as rows of D, keys and values of the tokens go: [T * 2K]."""
        kv_heads = self.decoder.shape.kv_heads
        which_2 = torch.arange(2, device=self.device).unsqueeze(-1)
        head_K = torch.arange(kv_heads, device=self.device)
        row_T2K = (which_2 * store.sequences + slot_T[:, None, None]) * kv_heads + head_K
        return (row_T2K * store.room + position_T[:, None, None]).flatten()

    def draw(self, slots_R: Tensor, logits_RV: Tensor, slots: Sequence[int]) -> None:
        """Choose and note the next id of every row."""
        length_R = self.length_S[slots_R]
        uniforms_R = uniforms(self.seed_S[slots], length_R)
        ids_R, logprobs_R = pick(logits_RV, uniforms_R, self.temperature_S[slots_R], self.top_p_S[slots_R])
        self.ids_SX[slots_R, length_R] = ids_R
        self.logprobs_SX[slots_R, length_R] = logprobs_R
        self.length_S[slots_R] = length_R + 1

    def _own_length(self, slot: int) -> int:
        return int(self.length_S[slot]) - int(self.trunk_length_S[slot])

    def _prefill_chunk(self, fills: Sequence[Fill]) -> None:
        fills = [self._fed_up_to_last_piece(fill) for fill in fills]
        counts = torch.tensor([int(self.length_S[fill.slot]) - fill.start for fill in fills])
        last_R = (counts.cumsum(0) - 1).to(self.device)
        logits = self.network.logits(self._hidden(fills)[last_R])
        for fill in fills:
            if fill.copies:
                self.slots.copy(fill.slot, fill.copies, self._own_length(fill.slot))
        owners = [(row, slot) for row, fill in enumerate(fills) for slot in (fill.slot, *fill.copies)]
        slots = [slot for _, slot in owners]
        rows_R = torch.tensor([row for row, _ in owners], device=self.device)
        self.draw(torch.tensor(slots, device=self.device), logits[rows_R], slots)

    def _fed_up_to_last_piece(self, fill: Fill) -> Fill:
        """Feed the beginning of a long row piece by piece; returns what is left to feed."""
        start, length = fill.start, int(self.length_S[fill.slot])
        while length - start > PIECE:
            self._forward([fill.slot], [start], [PIECE])
            start += PIECE
        return replace(fill, start=start)

    def _hidden(self, fills: Sequence[Fill]) -> Tensor:
        """Final hidden states of all tokens of a prefill, rows one after the other."""
        counts = [int(self.length_S[fill.slot]) - fill.start for fill in fills]
        return self._forward([fill.slot for fill in fills], [fill.start for fill in fills], counts)

    def _forward(self, slots: list[int], starts: list[int], counts: list[int]) -> Tensor:
        """Feed `counts` known ids of each row from `starts` on."""
        return self._feed(self.slots, self.members(slots), starts, counts, lambda *at: self.ids_SX[at])

    def _feed(
        self,
        store: Store,
        members: Members,
        starts: list[int],
        counts: list[int],
        ids_at: Callable[[Tensor, Tensor], Tensor],
    ) -> Tensor:
        """Final hidden states of `counts` new tokens of each row; their keys and values go to `store`."""
        slots = members.slots
        grid = Grid(members, self.device)
        width = max(counts)
        count_R = torch.tensor(counts)
        row_T = torch.repeat_interleave(torch.arange(len(slots)), count_R)
        place_T = torch.arange(len(row_T)) - (count_R.cumsum(0) - count_R)[row_T]
        position_T = torch.tensor(starts)[row_T] + place_T
        own_T = position_T - torch.tensor(members.trunk_lengths)[row_T]
        context = int(own_T.max()) + 1
        store.reserve(context)
        store.used = max(store.used, max(slots) + 1)
        query_T = torch.tensor(grid.row_of)[row_T] * width + place_T
        seen_QL = torch.zeros(grid.rows * width, dtype=torch.long)
        seen_QL[query_T] = own_T
        mask = _causal_mask(seen_QL.view(grid.rows, width), context).to(self.device)
        straight = torch.equal(query_T, torch.arange(grid.rows * width))
        slot_T, position_T = torch.tensor(slots)[row_T].to(self.device), position_T.to(self.device)
        attention = CachedAttention(store, self.trunks, grid, self.view_of(members, grid, width))
        store_X = self.store_at(store, slot_T, own_T.to(self.device))
        attention.whole = attention.view is None and len(slots) == 1 and starts[0] == 0
        attention.place(None if straight else query_T.to(self.device), width, store_X, mask, context)
        return self.network(ids_at(slot_T, position_T), position_T, attention)


class _Round:
    """Decode steps of the same rows: what stays the same between them, and what moves on by one."""

    def __init__(self, sampler: Sampler, slots: list[int]) -> None:
        self.sampler, self.members = sampler, slots
        members = sampler.members(slots)
        self.grid = Grid(members, sampler.device)
        view = sampler.view_of(members, self.grid, 1)
        self.attention = CachedAttention(sampler.slots, sampler.trunks, self.grid, view)
        self.slots_R = self.grid.slots_R
        self.own_R = (
            sampler.length_S[self.slots_R] - 1 - torch.tensor(members.trunk_lengths, device=sampler.device)
        )
        self.context = int(self.own_R.max()) + 1
        self.query_R = None if self.grid.in_order else self.grid.row_R
        sampler.slots.used = max(sampler.slots.used, max(slots) + 1)
        self._lay_out()

    def _lay_out(self) -> None:
        """Where keys and values go and what is hidden, for the room that slots have now."""
        sampler = self.sampler
        sampler.slots.reserve(self.context)
        self.room = sampler.slots.room
        self.store_X = sampler.store_at(sampler.slots, self.slots_R, self.own_R)
        own_Q1 = torch.zeros(self.grid.rows, 1, dtype=torch.long, device=sampler.device)
        own_Q1[self.grid.row_R, 0] = self.own_R
        self.mask = _causal_mask(own_Q1, self.room)

    def step(self) -> None:
        sampler = self.sampler
        if self.context > self.room or self.room != sampler.slots.room:
            self._lay_out()
        mask = self.mask[..., : self.context]
        self.attention.place(self.query_R, 1, self.store_X, mask, self.context)
        position_R = sampler.length_S[self.slots_R] - 1
        ids_R = sampler.ids_SX[self.slots_R, position_R]
        hidden = sampler.network(ids_R, position_R, self.attention)
        sampler.draw(self.slots_R, sampler.network.logits(hidden), self.members)
        self.context += 1
        self.own_R = self.own_R + 1
        self.store_X = self.store_X + 1
        if self.context <= self.room:
            self.mask[self.grid.row_R, 0, 0, self.own_R] = 0.0


def _causal_mask(last_QL: Tensor, context: int) -> Tensor:
    """[Q, 1, L, context]: 0 for positions up to `last`, -inf elsewhere."""
    column_C = torch.arange(context, device=last_QL.device)
    hidden = column_C > last_QL.unsqueeze(-1)
    return torch.zeros(hidden.shape, device=last_QL.device).masked_fill_(hidden, HIDDEN).unsqueeze(1)


def _chunks(fills: Sequence[Fill], lengths: Sequence[int]) -> list[list[Fill]]:
    """Fills of about the same length together, so that little is padded; each chunk within the bound."""
    ordered = sorted(fills, key=lambda fill: lengths[fill.slot] - fill.start)
    chunks: list[list[Fill]] = []
    for fill in ordered:
        longest = min(PIECE, lengths[fill.slot] - fill.start)
        if chunks and (len(chunks[-1]) + 1) * longest <= PREFILL_TOKENS:
            chunks[-1].append(fill)
        else:
            chunks.append([fill])
    return chunks
