"""The matrix products of sampling, in the form in which this machine is fastest at them.

On a CPU oneDNN computes them: `F.linear` asks MKL, which leaves AVX-512 alone on processors that are not
Intel's and then takes twice the time. Results agree to within rounding. There is no gradient here.

Shapes: T tokens, I inputs, O outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

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


Lookup = Callable[[Tensor], Tensor]
"""Which tensor to compute with for a parameter of the decoder."""


class Dense:
    """Linear layers that read the same input, as one matrix; their outputs stand side by side."""

    def __init__(self, layers: Sequence[nn.Linear], dtype: torch.dtype) -> None:
        self.layers = layers
        self.dtype = dtype
        self.weight_OI: Tensor | None = None
        self.bias_O: Tensor | None = None

    def prepared(self, lookup: Lookup) -> Callable[[], None]:
        """Lay the weights out, which costs a copy; calling what is returned puts them into use."""
        weight_OI = laid_out(torch.cat([lookup(layer.weight) for layer in self.layers]).to(self.dtype))
        biases = [lookup(layer.bias) for layer in self.layers if layer.bias is not None]
        bias_O = torch.cat(biases).to(self.dtype) if biases else None

        def use() -> None:
            self.weight_OI, self.bias_O = weight_OI, bias_O

        return use

    def __call__(self, x_TI: Tensor) -> Tensor:
        """[T, O], O over all layers, in the number format of x."""
        assert self.weight_OI is not None
        return linear(x_TI.to(self.dtype), self.weight_OI, self.bias_O).to(x_TI.dtype)
