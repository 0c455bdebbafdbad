"""How rows attend to what the cache holds: to their part of a trunk, and to their own slot.

Rows stand in a grid: one per slot between the lowest and the highest that take part (read in place), or,
where they are few among many, one each (gathered). A trunk is read once for all its rows; what it gives
enters a row's own softmax as one more column, whose score is the trunk's log-sum-exp (the merging rule
of FlashAttention-2, arXiv 2307.08691).

Shapes: T tokens of a pass, R rows that take part, Q rows of the grid, L places (tokens a row, padded),
N trunks, W rows a trunk (padded), A = H + 2K, H query heads, K key/value heads, G = H / K, D head size,
P positions in the trunk, C positions in the slot.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from gpu_worker.engines.embedded.cache import Store

HIDDEN = float("-inf")


@dataclass(frozen=True)
class Members:
    """The rows of a pass: row i sits in slots[i] and sees trunk_lengths[i] positions of trunks[i]."""

    slots: list[int]
    trunks: list[int]
    trunk_lengths: list[int]


class Grid:
    """Where the rows of a pass stand."""

    def __init__(self, members: Members, device: torch.device) -> None:
        slots = members.slots
        self.first, last = min(slots), max(slots)
        self.dense = 2 * len(slots) > last - self.first
        self.rows = last - self.first + 1 if self.dense else len(slots)
        self.row_of = [slot - self.first for slot in slots] if self.dense else list(range(len(slots)))
        self.row_R = torch.tensor(self.row_of, device=device)
        self.in_order = self.row_of == list(range(self.rows))
        self.slots_R = torch.tensor(slots, device=device)

    def own(self, stored: Tensor, context: int) -> Tensor:
        """The rows' own keys or values of [N, K, P, D], as [Q * K, C, D]: in place, or copied."""
        if self.dense:
            return stored[self.first : self.first + self.rows].flatten(0, 1)[:, :context]
        return stored[:, :, :context].index_select(0, self.slots_R).flatten(0, 1)


class TrunkView:
    """Which trunks the rows of a grid see. With several tokens a row all of them see the same."""

    def __init__(self, members: Members, grid: Grid, width: int, groups: int, device: torch.device) -> None:
        seen = [
            (t, n, row)
            for t, n, row in zip(members.trunks, members.trunk_lengths, grid.row_of, strict=True)
            if n
        ]
        self.strips = sorted({trunk for trunk, _, _ in seen})
        self.length = max(length for _, length, _ in seen)
        rows_of = {trunk: [row for t, _, row in seen if t == trunk] for trunk in self.strips}
        self.rows = max(map(len, rows_of.values()))
        if len(self.strips) == 1 and grid.dense and len(seen) == len(members.slots):
            rows_of[self.strips[0]], self.rows = list(range(grid.rows)), grid.rows
        order = [row for trunk in self.strips for row in self._padded(rows_of[trunk])]
        straight = order == list(range(grid.rows))
        self.order_X = None if straight else torch.tensor(order, device=device)
        place = {row: at for at, row in reversed(list(enumerate(order)))}
        self.back_Q = (
            None if straight else torch.tensor([place.get(r, 0) for r in range(grid.rows)], device=device)
        )
        with_trunk = {row for _, _, row in seen}
        lost = [row for row in grid.row_of if row not in with_trunk]
        self.without_X = torch.tensor(lost, device=device) if lost else None
        lengths = {row: length for _, length, row in seen}
        shown = [lengths.get(row, self.length) for row in order]
        self.mask = None if min(shown) == self.length else self._mask(shown, width * groups, device)
        lowest, highest = self.strips[0], self.strips[-1]
        self.slice = slice(lowest, highest + 1) if highest - lowest + 1 == len(self.strips) else None
        self.strips_N = torch.tensor(self.strips, device=device)

    def _padded(self, rows: list[int]) -> list[int]:
        return rows + rows[:1] * (self.rows - len(rows))

    def _mask(self, shown: list[int], queries: int, device: torch.device) -> Tensor:
        """[N, 1, W * queries, P]: 0 where a row may look."""
        lengths_X1 = torch.tensor(shown, device=device).unsqueeze(-1)
        hidden_XP = torch.arange(self.length, device=device) >= lengths_X1
        mask_XP = torch.zeros(hidden_XP.shape, device=device).masked_fill_(hidden_XP, HIDDEN)
        return mask_XP.repeat_interleave(queries, 0).view(len(self.strips), 1, -1, self.length)

    def attend(self, q_QLKGD: Tensor, stored: Tensor) -> tuple[Tensor, Tensor]:
        """What the trunks give each query, [Q, L, K, G, D], and its log-sum-exp [Q, L, K, G]."""
        _, width, kv_heads, groups, size = q_QLKGD.shape
        q = q_QLKGD if self.order_X is None else q_QLKGD.index_select(0, self.order_X)
        count = len(self.strips)
        q = q.reshape(count, self.rows * width, kv_heads, groups, size)
        q = q.transpose(1, 2).reshape(count, kv_heads, -1, size)
        kv = stored[:, self.slice] if self.slice is not None else stored[:, self.strips_N]
        out, lse = attended(q, kv[0, :, :, : self.length], kv[1, :, :, : self.length], self.mask)
        shape = (count * self.rows, width, groups, kv_heads)
        out = out.transpose(1, 2).reshape(*shape, size).transpose(2, 3)
        lse = lse.transpose(1, 2).reshape(shape).transpose(2, 3)
        if self.back_Q is not None:
            out, lse = out.index_select(0, self.back_Q), lse.index_select(0, self.back_Q)
        if self.without_X is not None:
            lse = lse.index_fill(0, self.without_X, HIDDEN)
        return out, lse


def attended(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """Attention of [N, K, X, D] over [N, K, P, D] with unit scale, and its log-sum-exp [N, K, X]."""
    if q.device.type == "cpu":
        flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        return flash(q, k, v, 0.0, False, attn_mask=mask, scale=1.0)
    scores = q @ k.transpose(-1, -2)
    if mask is not None:
        scores = scores + mask
    lse = scores.logsumexp(-1)
    return torch.exp(scores - lse.unsqueeze(-1)) @ v, lse


class CachedAttention:
    """attend() of `network.py` for one pass: stores the new keys and values, attends to all a row may see.

    `query_T` says where in the grid [Q * L] the token t stands, None when they are the grid itself.
    """

    def __init__(self, slots: Store, trunks: Store, grid: Grid, view: TrunkView | None) -> None:
        self.slots, self.trunks, self.grid, self.view = slots, trunks, grid, view
        self.kv_heads = slots.shape.kv_heads
        self.groups = slots.shape.heads // self.kv_heads
        self.whole = False

    def place(self, query_T: Tensor | None, width: int, store_X: Tensor, mask: Tensor, context: int) -> None:
        """What changes from step to step. mask is [Q, 1, L, C]."""
        self.query_T, self.width, self.store_X, self.context = query_T, width, store_X, context
        self.mask = mask.unsqueeze(2)
        self.tokens = len(store_X) // (2 * self.kv_heads)

    def __call__(self, layer: int, qkv_TAD: Tensor) -> Tensor:
        stored, size = self.slots.layers[layer], qkv_TAD.shape[-1]
        heads = self.kv_heads * self.groups
        padding = len(qkv_TAD) - self.tokens
        qkv_TAD = qkv_TAD[: self.tokens]
        new_XD = qkv_TAD[:, heads:].reshape(-1, size)
        stored.view(-1, size).index_copy_(0, self.store_X, new_XD)
        if self.whole:
            return F.pad(self._causal(qkv_TAD), (0, 0, 0, padding))
        q_THD = qkv_TAD[:, :heads]
        if self.query_T is not None:
            grid = q_THD.new_zeros(self.grid.rows * self.width, heads, size)
            q_THD = grid.index_copy_(0, self.query_T, q_THD)
        q_QLKGD = q_THD.reshape(self.grid.rows, self.width, self.kv_heads, self.groups, size)
        out_QLKGD = self._attend(q_QLKGD, stored, self.trunks.layers[layer])
        out = out_QLKGD.reshape(-1, heads * size)
        if self.query_T is not None:
            out = out.index_select(0, self.query_T)
        return F.pad(out, (0, 0, 0, padding)) if padding else out

    def _causal(self, qkv_TAD: Tensor) -> Tensor:
        """One row from its first position on: nothing to read that was not just computed."""
        heads = self.kv_heads * self.groups
        parts = qkv_TAD.transpose(0, 1).unsqueeze(0).split((heads, self.kv_heads, self.kv_heads), dim=1)
        q, (k, v) = parts[0], (x.repeat_interleave(self.groups, dim=1) for x in parts[1:])
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1.0)
        return out[0].transpose(0, 1).flatten(1)

    def _attend(self, q_QLKGD: Tensor, stored: Tensor, trunks: Tensor) -> Tensor:
        rows, width, kv_heads, groups, size = q_QLKGD.shape
        q = q_QLKGD.permute(0, 2, 3, 1, 4).reshape(rows * kv_heads, groups * width, size)
        keys = self.grid.own(stored[0], self.context)
        scores = torch.bmm(q, keys.transpose(1, 2)).view(rows, kv_heads, groups, width, -1)
        columns = scores.new_empty(*scores.shape[:-1], 1 + self.context)
        torch.add(scores, self.mask, out=columns[..., 1:])
        if self.view is not None:
            from_trunk, lse_QLKG = self.view.attend(q_QLKGD, trunks)
            columns[..., 0] = lse_QLKG.permute(0, 2, 3, 1)
        else:
            columns[..., 0] = HIDDEN
        weights = columns.softmax(-1)
        own = weights.view(rows * kv_heads, groups * width, -1)[..., 1:]
        out = torch.bmm(own, self.grid.own(stored[1], self.context)).view(rows, kv_heads, groups, width, size)
        out_QLKGD = out.permute(0, 3, 1, 2, 4)
        if self.view is None:
            return out_QLKGD
        share = weights[..., :1].permute(0, 3, 1, 2, 4)
        return out_QLKGD.addcmul_(from_trunk, share)
