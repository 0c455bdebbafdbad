"""A batch of tries as trees of tokens: what tries have in common is computed once, and exactly.

All segments of a micro-batch are sorted and laid out as a forest in depth-first order: a token that
several segments reach through the same ids is one node, so the system prompt is computed once for the
whole micro-batch, a scenario once for its group, and equal first turns once for the tries that share
them. A node attends to its ancestors and itself. Because the order is depth-first, the nodes below a
run of tokens are one contiguous range, and attention is a handful of dense blocks without any mask.

It offers `packs` (the layout), `attention_over` (what a decoder is given as its attention) and
`token_logprobs` (without ever keeping a tokens × vocabulary tensor). Losses are `grpo.py`'s business.

Sources: tree training for agents, arXiv 2511.00413 and 2602.00482; merging attention blocks by their
log-sum-exp, FlashAttention-2, arXiv 2307.08691.

Shapes: N nodes, M different sampled nodes, T sampled tokens counted once per try, H heads, K key/value
heads, D head size, C hidden size, V vocabulary, B tries.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gpu_worker.types import Segment

CHUNK = 1024
"""Rows of logits that exist at a time."""


@dataclass(frozen=True)
class Edge:
    """A run of nodes without a branch: nodes start … end - 1; all nodes below it are end … below - 1."""

    start: int
    end: int
    below: int


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


Line = tuple[Segment, float]
"""A segment with the advantage of its try."""


def packs(lines: Sequence[Line], token_budget: int, tries: Sequence[int] | None = None) -> list[Pack]:
    """Micro-batches of about equal size with at most `token_budget` nodes each (one try may have more).

    tries[i] says which try line i is of, and lines of one try stay together; by default every line is a
    try. Segments without a sampled token are left out. The result depends on nothing but the arguments.
    """
    by_try: dict[int, list[Line]] = {}
    for line, number in zip(lines, range(len(lines)) if tries is None else tries, strict=True):
        if any(line[0].mask):
            by_try.setdefault(number, []).append(line)
    if not by_try:
        return []
    units = sorted((sorted(unit, key=_order) for unit in by_try.values()), key=lambda u: [*map(_order, u)])
    whole = _Chunk()
    total = sum(whole.add(unit) for unit in units)
    share = total / -(-total // token_budget)
    chunks = [_Chunk()]
    for unit in units:
        if chunks[-1].nodes > share or (chunks[-1].nodes and chunks[-1].with_(unit) > token_budget):
            chunks.append(_Chunk())
        chunks[-1].add(unit)
    return [_pack(chunk) for chunk in chunks]


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

    def with_(self, unit: Sequence[Line]) -> int:
        """How many nodes there would be with another try, or a few more where it shares with itself."""
        return self.nodes + sum(self._new(line, self._place(line)) for line in unit)

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


def _pack(chunk: _Chunk) -> Pack:
    """The forest of a chunk. Raises ValueError where a segment's very first token was sampled."""
    forest = _Forest()
    rows: dict[int, int] = {}
    row_T: list[int] = []
    sampled: list[tuple[float, float, int]] = []
    for (segment, advantage), number in chunk.lines:
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


def attention_over(edges: tuple[Edge, ...]) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """attend(q [N, H, D], k [N, K, D], v [N, K, D]) -> [N, H, D]: each node over its ancestors and itself."""

    def attend(q_NHD: Tensor, k_NKD: Tensor, v_NKD: Tensor) -> Tensor:
        repeats = q_NHD.shape[1] // k_NKD.shape[1]
        if repeats > 1:
            k_NKD, v_NKD = (x.repeat_interleave(repeats, dim=1) for x in (k_NKD, v_NKD))
        return _TreeAttention.apply(q_NHD, k_NKD, v_NKD, edges)

    return attend


_block = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_block_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


class _TreeAttention(torch.autograd.Function):
    """Attention as blocks: each edge within itself (causal), then everything below it over the edge (full).

    Block results are merged by their log-sum-exp. In the backward pass each block is given the final
    output and log-sum-exp, with which its own gradients are exact and simply add up.
    """

    @staticmethod
    def forward(ctx: Any, q_NHD: Tensor, k_NHD: Tensor, v_NHD: Tensor, edges: tuple[Edge, ...]) -> Tensor:
        q, k, v = (x.transpose(0, 1).unsqueeze(0) for x in (q_NHD, k_NHD, v_NHD))
        out_NHD = torch.empty(q_NHD.shape)
        lse_NH = torch.empty(q_NHD.shape[:2])
        for edge in edges:
            own = slice(edge.start, edge.end)
            out, lse = _block(q[:, :, own], k[:, :, own], v[:, :, own], 0.0, True)
            out_NHD[own], lse_NH[own] = out[0].transpose(0, 1), lse[0].T
        for edge in edges:
            if edge.below > edge.end:
                own, below = slice(edge.start, edge.end), slice(edge.end, edge.below)
                out, lse = _block(q[:, :, below], k[:, :, own], v[:, :, own], 0.0, False)
                _merge(out_NHD[below], lse_NH[below], out[0].transpose(0, 1), lse[0].T)
        ctx.save_for_backward(q_NHD, k_NHD, v_NHD, out_NHD, lse_NH)
        ctx.edges = edges
        return out_NHD

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        saved = ctx.saved_tensors
        q, k, v, out, grad = (x.transpose(0, 1).unsqueeze(0) for x in (*saved[:4], grads[0]))
        lse = saved[4].T.unsqueeze(0)
        dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)

        def add_block(asking: slice, own: slice, causal: bool) -> None:
            query = (x[:, :, asking] for x in (grad, q))
            result = (out[:, :, asking], lse[:, :, asking])
            parts = _block_backward(*query, k[:, :, own], v[:, :, own], *result, 0.0, causal)
            dq[:, :, asking] += parts[0]
            dk[:, :, own] += parts[1]
            dv[:, :, own] += parts[2]

        for edge in ctx.edges:
            own = slice(edge.start, edge.end)
            add_block(own, own, True)
            if edge.below > edge.end:
                add_block(slice(edge.end, edge.below), own, False)
        return *(x[0].transpose(0, 1) for x in (dq, dk, dv)), None


def _merge(out_NHD: Tensor, lse_NH: Tensor, more_NHD: Tensor, more_lse_NH: Tensor) -> None:
    """Join the softmax over one set of keys, in place, with that over another set."""
    joint_NH = torch.logaddexp(lse_NH, more_lse_NH)
    out_NHD.mul_(torch.exp(lse_NH - joint_NH).unsqueeze(-1))
    out_NHD.addcmul_(more_NHD, torch.exp(more_lse_NH - joint_NH).unsqueeze(-1))
    lse_NH.copy_(joint_NH)


def token_logprobs(hidden_MC: Tensor, head_VC: Tensor, targets_M: Tensor) -> tuple[Tensor, Tensor]:
    """Log-probability [M] of each target and entropy [M] of its distribution (the latter without gradient).

    Logits are made in chunks, forward and again backward; the head itself gets no gradient.
    """
    return _TokenLogprobs.apply(hidden_MC, head_VC, targets_M)


class _TokenLogprobs(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden_MC: Tensor, head_VC: Tensor, targets_M: Tensor) -> tuple[Tensor, Tensor]:
        logprobs, lses, entropies = [], [], []
        for hidden, targets in zip(hidden_MC.split(CHUNK), targets_M.split(CHUNK), strict=True):
            logits = hidden @ head_VC.T
            lse = logits.logsumexp(-1)
            logprobs.append(logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1) - lse)
            chances = torch.exp(logits - lse.unsqueeze(-1))
            entropies.append(lse - torch.linalg.vecdot(chances, logits))
            lses.append(lse)
        ctx.save_for_backward(hidden_MC, head_VC, targets_M, torch.cat(lses))
        entropy_M = torch.cat(entropies)
        ctx.mark_non_differentiable(entropy_M)
        return torch.cat(logprobs), entropy_M

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        hidden_MC, head_VC, targets_M, lse_M = ctx.saved_tensors
        found = []
        for hidden, targets, lse, grad in zip(
            *(x.split(CHUNK) for x in (hidden_MC, targets_M, lse_M, grads[0])), strict=True
        ):
            dlogits = torch.exp(hidden @ head_VC.T - lse.unsqueeze(-1)) * -grad.unsqueeze(-1)
            dlogits[torch.arange(len(targets)), targets] += grad
            found.append(dlogits @ head_VC)
        return torch.cat(found), None, None
