"""Attention of a forest of tokens: each node over its ancestors and itself, as dense blocks without a mask.

The forest lies in depth-first order, so what is below a run of nodes without a branch is one range. A run
attends to itself (causal), everything below attends to the run (full), and what a node found in several
blocks is joined by their log-sum-exp. Which nodes there are is `packing.py`'s business.

A block is computed by the fused kernel of its device, or, where there is none, by plain matrix products,
which the tests hold the CPU's kernel against. The CUDA kernel's arguments are checked on tensors without
storage only: it has not been run on a GPU.

Sources: tree training for agents, arXiv 2511.00413 and 2602.00482; merging attention blocks by their
log-sum-exp, FlashAttention-2, arXiv 2307.08691.

Shapes: N nodes, H heads, K key/value heads, D head size; in blocks Q asking nodes, S nodes asked.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

aten = torch.ops.aten
LSE_ALIGNED = 32
"""torch's efficient CUDA kernel keeps log-sum-exps of a multiple of so many rows."""


@dataclass(frozen=True)
class Edge:
    """A run of nodes without a branch: nodes start … end - 1; all nodes below it are end … below - 1."""

    start: int
    end: int
    below: int


@dataclass(frozen=True)
class Kernel:
    """How one block is computed; `causal` blocks have Q = S.

    forward(q [1, H, Q, D], k [1, H, S, D], v, causal) -> out [1, H, Q, D], log-sum-exp [1, H, Q]
    backward(grad, q, k, v, out, log-sum-exp, causal) -> gradients of q, k and v, where out and log-sum-exp
    are those of the whole softmax of which this block is a part
    """

    forward: Callable[[Tensor, Tensor, Tensor, bool], tuple[Tensor, Tensor]]
    backward: Callable[[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, bool], tuple[Tensor, Tensor, Tensor]]


def attention_over(edges: tuple[Edge, ...]) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """attend(q [N, H, D], k [N, K, D], v [N, K, D]) -> [N, H, D]: each node over its ancestors and itself."""

    def attend(q_NHD: Tensor, k_NKD: Tensor, v_NKD: Tensor) -> Tensor:
        repeats = q_NHD.shape[1] // k_NKD.shape[1]
        if repeats > 1:
            k_NKD, v_NKD = (x.repeat_interleave(repeats, dim=1) for x in (k_NKD, v_NKD))
        return _TreeAttention.apply(q_NHD, k_NKD, v_NKD, edges)

    return attend


def kernel_for(device: torch.device) -> Kernel:
    return {"cpu": CPU, "cuda": CUDA}.get(device.type, PLAIN)


def _cpu_forward(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> tuple[Tensor, Tensor]:
    out, lse = aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, causal)
    return out, lse


def _cpu_backward(
    grad: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor, causal: bool
) -> tuple[Tensor, Tensor, Tensor]:
    backward = aten._scaled_dot_product_flash_attention_for_cpu_backward
    dq, dk, dv = backward(grad, q, k, v, out, lse, 0.0, causal)
    return dq, dk, dv


def _cuda_forward(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> tuple[Tensor, Tensor]:
    out, lse, _, _ = aten._scaled_dot_product_efficient_attention(q, k, v, None, True, 0.0, causal)
    return out, lse[..., : q.shape[2]]


def _cuda_backward(
    grad: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor, causal: bool
) -> tuple[Tensor, Tensor, Tensor]:
    lse = F.pad(lse, (0, -lse.shape[-1] % LSE_ALIGNED), value=float("inf"))
    random = torch.zeros((), dtype=torch.int64, device=q.device)  # of a dropout that is 0
    backward = aten._scaled_dot_product_efficient_attention_backward
    wanted = [True, True, True, False]
    dq, dk, dv, _ = backward(grad, q, k, v, None, out, lse, random, random, 0.0, wanted, causal)
    return dq, dk, dv


def _plain_scores(q: Tensor, k: Tensor, causal: bool) -> Tensor:
    scores = (q @ k.transpose(-1, -2)) / q.shape[-1] ** 0.5
    if causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(later, float("-inf"))
    return scores


def _plain_forward(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> tuple[Tensor, Tensor]:
    scores = _plain_scores(q, k, causal)
    return scores.softmax(-1) @ v, scores.logsumexp(-1)


def _plain_backward(
    grad: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor, causal: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """P = exp(scores - lse); dS = P * (grad v^T - rowsum(grad * out)), as in FlashAttention-2."""
    chances = torch.exp(_plain_scores(q, k, causal) - lse.unsqueeze(-1))
    slopes = chances * (grad @ v.transpose(-1, -2) - (grad * out).sum(-1, keepdim=True))
    slopes = slopes / q.shape[-1] ** 0.5
    return slopes @ k, slopes.transpose(-1, -2) @ q, chances.transpose(-1, -2) @ grad


CPU = Kernel(_cpu_forward, _cpu_backward)
CUDA = Kernel(_cuda_forward, _cuda_backward)
PLAIN = Kernel(_plain_forward, _plain_backward)


class _TreeAttention(torch.autograd.Function):
    """Attention as blocks: each edge within itself (causal), then everything below it over the edge (full).

    Block results are merged by their log-sum-exp. In the backward pass each block is given the final
    output and log-sum-exp, with which its own gradients are exact and simply add up.
    """

    @staticmethod
    def forward(ctx: Any, q_NHD: Tensor, k_NHD: Tensor, v_NHD: Tensor, edges: tuple[Edge, ...]) -> Tensor:
        kernel = kernel_for(q_NHD.device)
        q, k, v = (x.transpose(0, 1).unsqueeze(0) for x in (q_NHD, k_NHD, v_NHD))
        out_NHD = torch.empty_like(q_NHD)
        lse_NH = q_NHD.new_empty(q_NHD.shape[:2], dtype=torch.float32)
        for edge in edges:
            own = slice(edge.start, edge.end)
            out, lse = kernel.forward(q[:, :, own], k[:, :, own], v[:, :, own], True)
            out_NHD[own], lse_NH[own] = out[0].transpose(0, 1), lse[0].T
        for edge in edges:
            if edge.below > edge.end:
                own, below = slice(edge.start, edge.end), slice(edge.end, edge.below)
                out, lse = kernel.forward(q[:, :, below], k[:, :, own], v[:, :, own], False)
                _merge(out_NHD[below], lse_NH[below], out[0].transpose(0, 1), lse[0].T)
        ctx.save_for_backward(q_NHD, k_NHD, v_NHD, out_NHD, lse_NH)
        ctx.edges = edges
        return out_NHD

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        saved = ctx.saved_tensors
        q, k, v, out, grad = (x.transpose(0, 1).unsqueeze(0) for x in (*saved[:4], grads[0]))
        lse = saved[4].T.unsqueeze(0).contiguous()
        dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
        kernel = kernel_for(q.device)

        def add_block(asking: slice, own: slice, causal: bool) -> None:
            part = [x[:, :, asking] for x in (grad, q, out, lse)]
            parts = kernel.backward(part[0], part[1], k[:, :, own], v[:, :, own], part[2], part[3], causal)
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
