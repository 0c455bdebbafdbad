"""Layers that are computed again in the backward pass, where keeping what they made would take much memory.

The same operations run on the same numbers both times, so not a bit of the result differs; a step that
needs it takes about a quarter more time.
"""

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from gpu_worker.engines.embedded.decoder import Attend, Decoder, Layer, Shape

KEPT = {"cpu": 384 * 2**20, "cuda": 16 * 2**30}
"""Bytes that a micro-batch may keep for its backward pass; beyond it keeps only each layer's input."""


def install(decoder: Decoder) -> None:
    """Have the layers of the decoder decide for each micro-batch; parameters keep their names."""
    kept = KEPT.get(decoder.model.norm.weight.device.type, KEPT["cpu"])
    layers = decoder.model.layers
    for at, layer in enumerate(layers):
        assert isinstance(layer, Layer)
        layers[at] = RecomputedLayer(layer, kept // bytes_per_node(decoder.shape))


def bytes_per_node(shape: Shape) -> int:
    """What all layers keep of one node: inputs and outputs of norms, attention, the MLP's four tensors."""
    heads = (5 * shape.heads + shape.kv_heads) * shape.head_dim
    return 4 * shape.layers * (4 * shape.hidden + heads + 4 * shape.intermediate)


class RecomputedLayer(Layer):
    """Stands in for `layer`; a micro-batch of more than `nodes` nodes is computed again."""

    def __init__(self, layer: Layer, nodes: int) -> None:
        nn.Module.__init__(self)
        self.nodes = nodes
        for name, child in layer.named_children():
            self.add_module(name, child)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, attend: Attend) -> Tensor:
        if torch.is_grad_enabled() and len(x) > self.nodes:
            found: Tensor = checkpoint(
                super().forward, x, cos, sin, attend, use_reentrant=False, preserve_rng_state=False
            )
            return found
        return super().forward(x, cos, sin, attend)
