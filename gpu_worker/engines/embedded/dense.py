"""The matrix products of sampling, in the form in which this machine is fastest at them.

On a CPU oneDNN computes them: `F.linear` asks MKL, which leaves AVX-512 alone on processors that are not
Intel's and then takes twice the time. Results agree to within rounding. There is no gradient here.

Shapes: T tokens, I inputs, O outputs.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ONEDNN = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
ROWS = 32
"""Tokens of a pass for which weights are laid out; other numbers work with the same layout."""


def linear(x_TI: Tensor, weight_OI: Tensor, bias_O: Tensor | None = None) -> Tensor:
    """F.linear without a gradient. The weight may be one that `laid_out` returned."""
    if ONEDNN and x_TI.device.type == "cpu":
        return torch.ops.mkldnn._linear_pointwise(x_TI, weight_OI, bias_O, "none", [], "")
    return F.linear(x_TI, weight_OI, bias_O)


def laid_out(weight_OI: Tensor) -> Tensor:
    """The weight in oneDNN's own order where there is one: only for `linear`."""
    if ONEDNN and weight_OI.device.type == "cpu":
        return torch.ops.mkldnn._reorder_linear_weight(weight_OI, ROWS)
    return weight_OI


class Dense:
    """Linear layers that read the same input; their outputs stand side by side.

    `follow` points at the weights the layers have now, which costs next to nothing; `settle` also makes
    one well-ordered matrix of them, which costs a copy and makes every later call faster.
    """

    def __init__(self, layers: Sequence[nn.Linear], dtype: torch.dtype) -> None:
        self.layers = layers
        self.dtype = dtype
        self.parts: list[tuple[Tensor, Tensor | None]] = []

    def follow(self) -> None:
        self.parts = [(layer.weight.data.to(self.dtype), self._bias(layer)) for layer in self.layers]

    def settle(self) -> None:
        weight = torch.cat([layer.weight.detach() for layer in self.layers]).to(self.dtype)
        biases = [layer.bias.detach() for layer in self.layers if layer.bias is not None]
        self.parts = [(laid_out(weight), torch.cat(biases).to(self.dtype) if biases else None)]

    def _bias(self, layer: nn.Linear) -> Tensor | None:
        return None if layer.bias is None else layer.bias.detach().to(self.dtype)

    def __call__(self, x_TI: Tensor) -> Tensor:
        """[T, O], O over all layers, in the number format of x."""
        x = x_TI.to(self.dtype)
        outputs = [linear(x, weight, bias) for weight, bias in self.parts]
        return (outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=-1)).to(x_TI.dtype)
