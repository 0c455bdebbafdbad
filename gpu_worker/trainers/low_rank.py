"""LoRA on a linear layer: a frozen weight with a trainable low-rank product added (arXiv 2106.09685).

The sum is made once per weight update, so a forward pass costs what the plain layer costs and computes
with the very weights the sampler uses; the backward pass never makes a gradient of the weight's size.
What PEFT does around such a layer (names, files) is in `lora.py`; its own layers would compute the same
with more work, and importing it costs two seconds and 140 MB in every worker.

Shapes: T tokens, I inputs, O outputs, R rank.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn

from gpu_worker.engines.embedded.dense import linear


class LowRankLinear(nn.Module):
    """Stands in for `layer`. A starts random, B at zero: untrained, it computes what `layer` computes."""

    merged_OI: Tensor

    def __init__(self, layer: nn.Linear, rank: int, scale: float, generator: torch.Generator) -> None:
        super().__init__()
        self.layer, self.scale = layer, scale
        limit = 1 / math.sqrt(layer.in_features)
        a_RI = torch.empty(rank, layer.in_features).uniform_(-limit, limit, generator=generator)
        self.lora_A = nn.Parameter(a_RI.to(layer.weight.device))
        self.lora_B = nn.Parameter(layer.weight.new_zeros(layer.out_features, rank))
        self.register_buffer("merged_OI", layer.weight.detach(), persistent=False)

    @torch.no_grad()
    def merge(self) -> None:
        """Compute with the matrices as they are now, until the next merge."""
        self.merged_OI = self.layer.weight + self.scale * (self.lora_B @ self.lora_A)

    def forward(self, x: Tensor) -> Tensor:
        return _LowRank.apply(x, self.merged_OI, self.layer.bias, self.lora_A, self.lora_B, self.scale)


class _LowRank(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        merged_OI: Tensor,
        bias_O: Tensor | None,
        a_RI: Tensor,
        b_OR: Tensor,
        scale: float,
    ) -> Tensor:
        x = x.contiguous()
        ctx.save_for_backward(x, merged_OI, a_RI, b_OR)
        ctx.scale = scale
        return linear(x, merged_OI, bias_O)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, merged_OI, a_RI, b_OR = ctx.saved_tensors
        grad = grads[0].contiguous()  # oneDNN has no fast product for rows that lie apart
        x_TI, grad_TO = x.flatten(0, -2), grad.flatten(0, -2)
        grad_x = linear(grad, merged_OI.T) if ctx.needs_input_grad[0] else None
        grad_a = linear(linear(grad_TO, b_OR.T).T, x_TI.T).mul_(ctx.scale)
        grad_b = linear(linear(x_TI, a_RI).T, grad_TO.T).mul_(ctx.scale).T
        return grad_x, None, None, grad_a, grad_b, None
