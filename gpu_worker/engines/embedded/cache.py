"""Where keys and values are kept between steps, and the attention that reads them.

Every row (one conversation) has a slot of its own. Ids that many rows start with (system prompt, tools)
are kept once, in the *trunk*: prefixes laid end to end, of which each row sees its own part. A row's
position p is in the trunk when p < trunk_length, else at p - trunk_length in its slot.
Who gets which slot, and what is put in the trunk, is left to `engine.py`.

Shapes: S slots, C positions in a slot, P positions in the trunk, R rows of one forward pass, L tokens a
row, T tokens in all, H query heads, K key/value heads, G = H / K, D head size.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from gpu_worker.engines.embedded.decoder import Shape
from gpu_worker.engines.embedded.directory import ModelError


@dataclass(frozen=True)
class LayerCache:
    """One layer's keys and values: of the slots [S, K, C, D], and of the trunk [K, P, D]."""

    keys: Tensor
    values: Tensor
    trunk_keys: Tensor
    trunk_values: Tensor


class Cache:
    """Keys and values of all layers. Takes memory only for positions that were ever used."""

    def __init__(self, shape: Shape, slots: int, positions: int) -> None:
        trunk = (shape.kv_heads, positions, shape.head_dim)
        own = (slots, *trunk)
        self.layers = [
            LayerCache(_untouched(own), _untouched(own), _untouched(trunk), _untouched(trunk))
            for _ in range(shape.layers)
        ]

    def copy(self, source: int, targets: list[int], length: int) -> None:
        """Give the slots `targets` the first `length` positions of slot `source`."""
        for layer in self.layers:
            layer.keys[targets, :, :length] = layer.keys[source, :, :length]
            layer.values[targets, :, :length] = layer.values[source, :, :length]

    def plant(self, source: int, start: int, length: int) -> None:
        """Put the first `length` positions of slot `source` into the trunk at `start`."""
        for layer in self.layers:
            layer.trunk_keys[:, start : start + length] = layer.keys[source, :, :length]
            layer.trunk_values[:, start : start + length] = layer.values[source, :, :length]


def _untouched(shape: tuple[int, ...]) -> Tensor:
    """Zeros (never garbage: a weight of 0 times NaN would be NaN) in pages that exist once written to."""
    size = math.prod(shape) * torch.float32.itemsize
    try:
        pages = mmap.mmap(-1, size)
    except (OSError, OverflowError) as error:
        raise ModelError(
            f"There is no room for {size / 2**30:.0f} GB of keys or values a layer; "
            "use fewer slots or a shorter context."
        ) from error
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        pages.madvise(mmap.MADV_NOHUGEPAGE)  # one position in use must not take two megabytes
    return torch.frombuffer(pages, dtype=torch.float32).view(shape)


@dataclass(frozen=True)
class Plan:
    """Which tokens one forward pass feeds, and where their keys and values go.

    For row i of the R rows: slots[i], and the part of the trunk it sees. For token t of the T tokens: its
    row (index into the R rows), its place among that row's new tokens, its position in the row's slot.
    """

    slots_R: Tensor
    trunk_start_R: Tensor
    trunk_length_R: Tensor
    row_T: Tensor
    place_T: Tensor
    slot_position_T: Tensor


class CachedAttention:
    """attend() of one forward pass: stores the new keys and values, attends to all that a row may see.

    Rows are either read in place (most slots between the lowest and the highest take part) or gathered.
    Q is R * L, the queries including the padding of shorter rows.
    """

    def __init__(self, cache: Cache, plan: Plan) -> None:
        self.layers: Iterator[LayerCache] = iter(cache.layers)
        self.context = int(plan.slot_position_T.max()) + 1
        self.trunk = int((plan.trunk_start_R + plan.trunk_length_R).max()) if plan.trunk_length_R.any() else 0
        self.width = int(plan.place_T.max()) + 1
        self.first, last = int(plan.slots_R.min()), int(plan.slots_R.max())
        dense = 2 * len(plan.slots_R) > last - self.first
        self.gathered = None if dense else plan.slots_R
        self.rows = last - self.first + 1 if dense else len(plan.slots_R)
        slot_T = plan.slots_R[plan.row_T]
        row_T = slot_T - self.first if dense else plan.row_T
        query_T = row_T * self.width + plan.place_T
        full = self.rows * self.width == len(query_T)
        self.query_T = None if full and bool((query_T == torch.arange(len(query_T))).all()) else query_T
        _, heads, room, _ = cache.layers[0].keys.shape
        self.store_X = (
            (slot_T[:, None] * heads + torch.arange(heads)) * room + plan.slot_position_T[:, None]
        ).flatten()
        self.mask_RLX = self._mask(plan, row_T)

    def _mask(self, plan: Plan, row_T: Tensor) -> Tensor:
        """0 where a query may look, -inf elsewhere: [R, 1, 1, L, P + C], first the trunk, then the slot."""
        last_RL = torch.zeros(self.rows, self.width, dtype=torch.long)
        last_RL[row_T, plan.place_T] = plan.slot_position_T
        visible = torch.arange(self.context) <= last_RL.unsqueeze(-1)
        if self.trunk:
            start_R, end_R = torch.zeros(2, self.rows, dtype=torch.long)
            start_R[row_T] = plan.trunk_start_R[plan.row_T]
            end_R[row_T] = (plan.trunk_start_R + plan.trunk_length_R)[plan.row_T]
            column = torch.arange(self.trunk)
            shared_RP = (column >= start_R.unsqueeze(-1)) & (column < end_R.unsqueeze(-1))
            shared_RLP = shared_RP.unsqueeze(1).expand(-1, self.width, -1)
            visible = torch.cat((shared_RLP, visible), dim=-1)
        return torch.zeros(visible.shape).masked_fill_(~visible, float("-inf"))[:, None, None]

    def __call__(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """q [T, H, D], k and v [T, K, D] of the next layer -> [T, H, D]."""
        layer = next(self.layers)
        kv_heads, size = k.shape[1], k.shape[2]
        layer.keys.view(-1, size).index_copy_(0, self.store_X, k.reshape(-1, size))
        layer.values.view(-1, size).index_copy_(0, self.store_X, v.reshape(-1, size))
        q = q * size**-0.5
        if self.query_T is not None:
            q = q.new_zeros(self.rows * self.width, *q.shape[1:]).index_copy_(0, self.query_T, q)
        q_RLKGD = q.view(self.rows, self.width, kv_heads, -1, size)
        out_RKGLD = self._attend(q_RLKGD.permute(0, 2, 3, 1, 4), layer)
        out = out_RKGLD.permute(0, 3, 1, 2, 4).reshape(q.shape)
        return out if self.query_T is None else out.index_select(0, self.query_T)

    def _attend(self, q_RKGLD: Tensor, layer: LayerCache) -> Tensor:
        own_keys, own_values = self._own(layer.keys), self._own(layer.values)
        rows, kv_heads, groups, width, size = q_RKGLD.shape
        batch = (rows * kv_heads, groups * width, -1)
        scores = torch.bmm(q_RKGLD.reshape(batch), own_keys.transpose(1, 2))
        scores = scores.view(rows, kv_heads, groups, width, -1)
        if self.trunk:
            q_KXD = q_RKGLD.transpose(0, 1).reshape(kv_heads, -1, size)
            shared = torch.bmm(q_KXD, layer.trunk_keys[:, : self.trunk].transpose(1, 2))
            shared = shared.view(kv_heads, rows, groups, width, -1).transpose(0, 1)
            scores = torch.cat((shared, scores), dim=-1)
        weights = (scores + self.mask_RLX).softmax(-1)
        out = torch.bmm(weights.view(batch)[..., self.trunk :], own_values).view(q_RKGLD.shape)
        if self.trunk:
            shared = weights[..., : self.trunk].transpose(0, 1).reshape(kv_heads, -1, self.trunk)
            from_trunk = torch.bmm(shared, layer.trunk_values[:, : self.trunk])
            out = out + from_trunk.view(kv_heads, rows, groups, width, size).transpose(0, 1)
        return out

    def _own(self, stored: Tensor) -> Tensor:
        """The rows' own keys or values, [R * K, C, D]: a view in place, or a copy of the few rows."""
        if self.gathered is None:
            return stored[self.first : self.first + self.rows].flatten(0, 1)[:, : self.context]
        return stored[:, :, : self.context].index_select(0, self.gathered).flatten(0, 1)
