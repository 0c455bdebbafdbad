"""Log-probabilities of tokens from final hidden states, without ever keeping a tokens × vocabulary tensor.

Logits exist for a chunk of rows at a time. Where only the hidden states learn, what the backward pass
needs is made with them: the gradient of a row's log-probability is its target's row of the head minus
the head's mean under the row's distribution, as small as the hidden state itself. Where the head learns
too, chunks are computed again in the backward pass.

Shapes: M rows, C hidden size, V vocabulary.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from gpu_worker.engines.embedded.dense import linear

LOGITS = {"cpu": 2 * 2**20, "cuda": 64 * 2**20}
"""Logits that exist at a time, twice: 16 MB in all on a CPU, whatever the vocabulary."""
ROWS = (16, 1024)
"""Fewest and most rows of a chunk."""


def token_logprobs(hidden_MC: Tensor, head_VC: Tensor, targets_M: Tensor) -> tuple[Tensor, Tensor]:
    """Log-probability [M] of each target and entropy [M] of its distribution (the latter without gradient).

    fp32 whatever the inputs are; the gradient goes to the hidden states, and to the head if it wants one.
    """
    return _TokenLogprobs.apply(hidden_MC, head_VC, targets_M)


def chunk_rows(vocabulary: int, device: str = "cpu") -> int:
    """Rows of logits that exist at a time."""
    return min(max(LOGITS[device] // vocabulary, ROWS[0]), ROWS[1])


def _chunks(hidden_MC: Tensor, vocabulary: int) -> Iterator[slice]:
    step = chunk_rows(vocabulary, hidden_MC.device.type)
    return (slice(at, at + step) for at in range(0, len(hidden_MC), step))


class _TokenLogprobs(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden_MC: Tensor, head_VC: Tensor, targets_M: Tensor) -> tuple[Tensor, Tensor]:
        wants_hidden, wants_head = ctx.needs_input_grad[:2]
        hidden_MC, head_VC = hidden_MC.float(), head_VC.float()
        logprobs_M, entropy_M, lse_M = (hidden_MC.new_empty(len(hidden_MC)) for _ in range(3))
        slope_MC = torch.empty_like(hidden_MC) if wants_hidden and not wants_head else None
        for rows in _chunks(hidden_MC, len(head_VC)):
            logits = linear(hidden_MC[rows], head_VC)
            at = targets_M[rows].unsqueeze(-1)
            top = logits.amax(-1, keepdim=True)
            own = logits.sub_(top).gather(-1, at).squeeze(-1)
            weights = logits.exp()
            total = weights.sum(-1)
            logprobs_M[rows] = own - total.log()
            entropy_M[rows] = total.log() - torch.linalg.vecdot(weights, logits) / total
            lse_M[rows] = total.log() + top.squeeze(-1)
            if slope_MC is not None:
                slope_MC[rows] = torch.addcdiv(
                    head_VC[targets_M[rows]], linear(weights, head_VC.T), total.unsqueeze(-1), value=-1
                )
        if slope_MC is not None:
            ctx.save_for_backward(slope_MC)
        elif wants_head:
            ctx.save_for_backward(hidden_MC, head_VC, targets_M, lse_M)
        ctx.mark_non_differentiable(entropy_M)
        return logprobs_M, entropy_M

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        grad_M = grads[0]
        if len(ctx.saved_tensors) == 1:
            return ctx.saved_tensors[0] * grad_M.unsqueeze(-1), None, None
        hidden_MC, head_VC, targets_M, lse_M = ctx.saved_tensors
        grad_MC, grad_VC = torch.empty_like(hidden_MC), torch.zeros_like(head_VC)
        for rows in _chunks(hidden_MC, len(head_VC)):
            logits = linear(hidden_MC[rows], head_VC)
            slopes = logits.sub_(lse_M[rows].unsqueeze(-1)).exp_().neg_()
            slopes.scatter_add_(-1, targets_M[rows].unsqueeze(-1), slopes.new_ones(len(slopes), 1))
            slopes.mul_(grad_M[rows].unsqueeze(-1))
            grad_MC[rows] = linear(slopes, head_VC.T)
            grad_VC.addmm_(slopes.T, hidden_MC[rows])
        return grad_MC, grad_VC, None
