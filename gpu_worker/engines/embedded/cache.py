"""Where keys and values are kept between steps.

Every row (one conversation) has a slot of its own. Ids that many rows start with (system prompt, tools,
a group's prompt) are kept once, in a *trunk*: a sequence of its own, of which each of its rows sees the
beginning. A row's position p is in its trunk when p < trunk_length, else at p - trunk_length in its slot.
Who gets which slot and trunk is left to `seats.py`, how rows attend to them to `attention.py`.

Shapes: N sequences (slots or trunks), K key/value heads, P positions there is room for, D head size.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Sequence

import torch
from torch import Tensor

from gpu_worker.engines.embedded.decoder import Shape
from gpu_worker.engines.embedded.directory import ModelError

STRIDE = 64
"""Room grows by multiples of so many positions."""
GROWTH = 1.25
"""… and at least by this factor, so that a long context is not copied too often."""


class Store:
    """Keys and values of all layers for a fixed number of sequences, each layer [2, N, K, P, D].

    P is little more than the longest sequence has needed so far: what a step reads then lies close
    together, which counts for more than the copy now and then. Takes memory only for what was written to.
    """

    def __init__(self, shape: Shape, sequences: int, limit: int, device: torch.device) -> None:
        self.shape, self.sequences, self.limit, self.device = shape, sequences, limit, device
        self.room = 0
        self.used = 0
        self.layers: list[Tensor] = []
        self._refuse_too_large()
        self.reserve(1)

    def reserve(self, positions: int) -> None:
        """Have room for so many positions in every sequence."""
        if positions <= self.room:
            return
        wanted = max(positions, int(self.room * GROWTH))
        room = min(self.limit, -(-wanted // STRIDE) * STRIDE)
        grown = [self._untouched(room) for _ in range(self.shape.layers)]
        for old, new in zip(self.layers, grown, strict=False):
            new[:, : self.used, :, : self.room] = old[:, : self.used]
        self.layers, self.room = grown, room

    def copy(self, source: int, targets: Sequence[int], length: int) -> None:
        """Give the sequences `targets` the first `length` positions of `source`."""
        self.used = max(self.used, *(target + 1 for target in targets))
        for layer in self.layers:
            own = layer[:, source, :, :length]
            for target in targets:
                layer[:, target, :, :length].copy_(own)

    def _untouched(self, room: int) -> Tensor:
        """Zeros (never garbage: a weight of 0 times NaN would be NaN) in pages that exist once written to."""
        shape = (2, self.sequences, self.shape.kv_heads, room, self.shape.head_dim)
        if self.device.type != "cpu":
            return torch.zeros(shape, device=self.device)
        pages = _pages(math.prod(shape) * torch.float32.itemsize)
        return torch.frombuffer(pages, dtype=torch.float32).view(shape)

    def _refuse_too_large(self) -> None:
        positions = self.sequences * self.limit * self.shape.kv_heads * self.shape.head_dim
        _pages(2 * positions * torch.float32.itemsize).close()


def _pages(size: int) -> mmap.mmap:
    try:
        pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if hasattr(mmap, "MADV_NOHUGEPAGE"):
            pages.madvise(mmap.MADV_NOHUGEPAGE)  # one position in use must not take two megabytes
        return pages
    except (OSError, OverflowError) as error:
        raise ModelError(
            f"There is no room for {size / 2**30:.0f} GB of keys and values a layer; "
            "use fewer slots or a shorter context."
        ) from error
