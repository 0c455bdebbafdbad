"""A batch of tries as trees of tokens: what tries have in common is computed once, and exactly.

All segments of a micro-batch are sorted and laid out as a forest in depth-first order: a token that
several segments reach through the same ids is one node, so the system prompt is computed once for the
whole micro-batch, a scenario once for its group, and equal first turns once for the tries that share
them. A node attends to its ancestors and itself. Because the order is depth-first, the nodes below a
run of tokens are one contiguous range: `tree_attention.py` computes with that, `token_logprobs.py` turns
final states into log-probabilities. Losses are `grpo.py`'s business.

Source: tree training for agents, arXiv 2511.00413 and 2602.00482.

Shapes: N nodes, M different sampled nodes, T sampled tokens counted once per try, B tries.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from gpu_worker.token_logprobs import token_logprobs
from gpu_worker.tree_attention import Edge, attention_over
from gpu_worker.types import Segment

__all__ = ["Line", "Pack", "attention_over", "packs", "token_logprobs"]

SMALL = 384
"""So few nodes are one micro-batch; more are at least two, so that two cores have something to do."""
WASTE = 1.3
"""Micro-batches are larger than their budget where smaller ones would compute so much more in all, because
each has to compute anew what its tries share with others."""


@dataclass(frozen=True)
class Pack:
    """One micro-batch. Row m of predictors_M and targets_M: this node's state predicts that token id."""

    ids_N: Tensor
    positions_N: Tensor
    edges: tuple[Edge, ...]
    predictors_M: Tensor
    targets_M: Tensor
    row_T: Tensor
    """Which row of the M is the T-th sampled token."""
    old_logprobs_T: Tensor
    advantages_T: Tensor
    try_T: Tensor
    """Which try of this micro-batch (0 … B - 1) the T-th sampled token is of."""
    lines: tuple[tuple["Line", int], ...]
    """What it was made of, sorted, each with its try."""

    def to(self, device: torch.device) -> "Pack":
        """The same with its tensors on another device."""
        tensors = {f.name: getattr(self, f.name) for f in fields(self) if f.name.endswith(("_N", "_M", "_T"))}
        return replace(self, **{name: tensor.to(device) for name, tensor in tensors.items()})

    def of_tries(self, numbers: range) -> tuple["Pack", Tensor]:
        """Only these tries, and which of the T sampled tokens are theirs, in the same order."""
        lines = [(line, number) for line, number in self.lines if number in numbers]
        first, last = numbers.start, numbers.stop - 1
        return _pack(lines), ((self.try_T >= first) & (self.try_T <= last)).nonzero().squeeze(-1)


Line = tuple[Segment, float]
"""A segment with the advantage of its try."""


def packs(
    lines: Sequence[Line], token_budget: int, tries: Sequence[int] | None = None, small: int = SMALL
) -> list[Pack]:
    """Micro-batches of about equal size with at most `token_budget` nodes each, if tries are short enough
    for that and what they share is not so long that dividing them would be WASTE.

    tries[i] says which try line i is of, and lines of one try stay together; by default every line is a
    try. Up to `small` nodes are one micro-batch. Segments without a sampled token are left out. The result
    depends on nothing but the arguments.
    """
    by_try: dict[int, list[Line]] = {}
    for line, number in zip(lines, range(len(lines)) if tries is None else tries, strict=True):
        if any(line[0].mask):
            by_try.setdefault(number, []).append(line)
    if not by_try:
        return []
    units = sorted((sorted(unit, key=_order) for unit in by_try.values()), key=lambda u: [*map(_order, u)])
    count, chunks = 1, _divided(units, 1)
    nodes = chunks[0].nodes
    while any(chunk.nodes > min(token_budget, small if count == 1 else nodes) for chunk in chunks):
        count = 2 * -(-max(count + 1, count * 5 // 4) // 2)  # even: two micro-batches are computed at a time
        finer = _divided(units, count)
        if sum(chunk.nodes for chunk in finer) > WASTE * nodes:
            break
        chunks = finer
        if len(chunks) == len(units):
            break
    return [_pack(chunk.lines) for chunk in chunks]


def _divided(units: Sequence[Sequence[Line]], count: int) -> list["_Chunk"]:
    """At most `count` chunks of neighbouring tries. Each is closed when more of the next try would lie
    beyond its share of all nodes, shared ones counted once, than within."""
    whole = _Chunk()
    new = [whole.add(unit) for unit in units]
    chunks, before = [_Chunk()], 0
    for unit, nodes in zip(units, new, strict=True):
        if chunks[-1].tries and before + nodes / 2 > len(chunks) * whole.nodes / count:
            chunks.append(_Chunk())
        chunks[-1].add(unit)
        before += nodes
    return chunks


def _order(line: Line) -> tuple[tuple[int, ...], float]:
    return line[0].ids, line[1]


class _Chunk:
    """Whole tries that will be one forest: their lines, sorted, and the number of nodes they need."""

    def __init__(self) -> None:
        self.lines: list[tuple[Line, int]] = []
        self.nodes = 0
        self.tries = 0

    def add(self, unit: Sequence[Line]) -> int:
        """Take in the lines of one more try; returns how many nodes that adds."""
        before = self.nodes
        for line in unit:
            at = self._place(line)
            self.nodes += self._new(line, at)
            self.lines.insert(at, (line, self.tries))
        self.tries += 1
        return self.nodes - before

    def _place(self, line: Line) -> int:
        return bisect_right(self.lines, _order(line), key=lambda entry: _order(entry[0]))

    def _new(self, line: Line, at: int) -> int:
        """What a line adds: all of it but what it shares with either neighbour."""
        ids = line[0].ids
        neighbours = [entry[0][0].ids for entry in self.lines[max(0, at - 1) : at + 1]]
        return len(ids) - max((_shared(ids, other) for other in neighbours), default=0)


def _shared(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    """Length of the common prefix."""
    length = min(len(a), len(b))
    if a[:length] == b[:length]:
        return length
    low, high = 0, length
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[:middle] == b[:middle] else (low, middle - 1)
    return low


def _pack(lines: Sequence[tuple[Line, int]]) -> Pack:
    """The forest of sorted lines, each with its try. Raises ValueError where a first token was sampled."""
    forest = _Forest()
    rows: dict[int, int] = {}
    row_T: list[int] = []
    sampled: list[tuple[float, float, int]] = []
    for (segment, advantage), number in lines:
        path = forest.add(segment.ids)
        if segment.mask[0]:
            raise ValueError("the first token of a segment cannot have been sampled: nothing predicts it")
        for node, logprob, is_sampled in zip(path, segment.logprobs, segment.mask, strict=True):
            if is_sampled:
                row_T.append(rows.setdefault(node, len(rows)))
                sampled.append((logprob, advantage, number))
    return Pack(
        ids_N=torch.tensor(forest.ids),
        positions_N=torch.tensor(forest.depths),
        edges=forest.edges(),
        predictors_M=torch.tensor([forest.parents[node] for node in rows]),
        targets_M=torch.tensor([forest.ids[node] for node in rows]),
        row_T=torch.tensor(row_T),
        old_logprobs_T=torch.tensor([logprob for logprob, _, _ in sampled]),
        advantages_T=torch.tensor([advantage for _, advantage, _ in sampled]),
        try_T=torch.tensor([number for _, _, number in sampled]),
        lines=tuple(lines),
    )


class _Forest:
    """Sorted sequences as nodes in depth-first order; the edges from the root to the last node are open."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.depths: list[int] = []
        self.parents: list[int] = []
        self._path: list[int] = []
        self._open: list[tuple[int, int]] = []
        self._closed: list[Edge] = []

    def add(self, ids: tuple[int, ...]) -> list[int]:
        """Append a sequence, not smaller than the one before; returns the node of each of its tokens."""
        shared = _shared(tuple(self.ids[node] for node in self._path), ids)
        path = self._path[:shared]
        if shared < len(ids):
            self._close_below(shared)
            self._open.append((len(self.ids), len(self.ids) + len(ids) - shared))
            for depth in range(shared, len(ids)):
                self.parents.append(path[-1] if path else -1)
                path.append(len(self.ids))
                self.ids.append(ids[depth])
                self.depths.append(depth)
            self._path = path
        return path

    def _close_below(self, depth: int) -> None:
        """Close what lies at or below `depth`; an edge that reaches across it is cut in two there."""
        below = len(self.ids)
        while self._open and self.depths[self._open[-1][0]] >= depth:
            self._closed.append(Edge(*self._open.pop(), below))
        if self._open:
            start, end = self._open[-1]
            cut = start + depth - self.depths[start]
            if cut < end:
                self._closed.append(Edge(cut, end, below))
                self._open[-1] = (start, cut)

    def edges(self) -> tuple[Edge, ...]:
        self._close_below(0)
        return tuple(sorted(self._closed, key=lambda edge: edge.start))
