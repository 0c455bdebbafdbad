"""The decoder's arithmetic for sampling: the same weights and results, in fewer and larger operations.

`decoder.py` is the definition, and what is trained; this is what `sampler.py` runs. It agrees with the
definition to within rounding (1e-5 in fp32). There is no gradient here.

Shapes: T tokens, C hidden size, H query heads, K key/value heads, A = H + 2K, D head size, V vocabulary,
X positions.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gpu_worker.engines.embedded.decoder import Attention, Decoder, Layer, Norm
from gpu_worker.engines.embedded.dense import Dense, Lookup

Attend = Callable[[int, Tensor], Tensor]
"""attend(layer, qkv [T, A, D]) -> [T, H * D]. q and k are rotated, q is already divided by sqrt(D).

The last rows may be padding: they belong to no token, and what comes back for them does not matter.
"""


def padded(tokens: int) -> int:
    """With how many rows a pass over so many tokens is computed: few sizes, as each is prepared for once."""
    step = 8 if tokens <= 128 else 64
    return -(-tokens // step) * step


class Network:
    """One decoder's forward pass. Call `settle` after its weights were exchanged.

    `dtype` is that of the MLPs' first products, half of a layer's work. In bfloat16 these move sampled
    log-probabilities by 5e-4 to 8e-4 on average, all products by 2e-3 to 3e-3.
    """

    def __init__(self, decoder: Decoder, positions: int, dtype: torch.dtype = torch.float32) -> None:
        self.shape = shape = decoder.shape
        self.decoder = decoder
        self.layers = [_FusedLayer(x, dtype) for x in decoder.model.layers if isinstance(x, Layer)]
        head = nn.Linear(1, 1, bias=False, device="meta")
        head.weight = decoder.model.embed_tokens.weight if shape.tied else decoder.lm_head.weight
        self.head = Dense([head], torch.float32)
        self.norm = _Scaling(decoder.model.norm)
        device = decoder.model.norm.weight.device
        angles_XD = torch.arange(positions, device=device).unsqueeze(-1) * decoder.frequencies
        cos, sin = angles_XD.cos(), angles_XD.sin()
        self.cos_XD, self.sin_XD = torch.cat((cos, cos), -1), torch.cat((-sin, sin), -1)
        heads = shape.heads + shape.kv_heads
        self.scale_AD = torch.ones(heads, 1, device=device)
        self.scale_AD[: shape.heads] = shape.head_dim**-0.5
        self.settle()

    def settle(self) -> None:
        """Compute with the weights the decoder has now."""
        self.prepared(lambda parameter: parameter.detach())()

    @torch.inference_mode()
    def prepared(self, lookup: Lookup, pause: float = 0.0) -> Callable[[], None]:
        """Lay out other weights for the parameters; calling what is returned puts them all into use.

        The first costs a copy of them and may be done in another thread, with a pause of so many seconds
        after each matrix, so that whoever decodes meanwhile keeps most of the memory's speed. The second
        costs next to nothing.
        """
        swaps = []
        for part in self._parts():
            swaps.append(part.prepared(lookup))
            time.sleep(pause)

        def use() -> None:
            for swap in swaps:
                swap()

        return use

    def _parts(self) -> list[Dense | _Scaling]:
        return [self.head, self.norm, *(part for layer in self.layers for part in layer.parts)]

    def __call__(self, ids_T: Tensor, position_T: Tensor, attend: Attend) -> Tensor:
        """Final hidden states [T, C] of token `ids` at `positions`."""
        tokens = len(ids_T)
        if padded(tokens) > tokens:
            padding = (0, padded(tokens) - tokens)
            ids_T, position_T = F.pad(ids_T, padding), F.pad(position_T, padding)
        cos_TAD = self.cos_XD[position_T].unsqueeze(1) * self.scale_AD
        sin_TAD = self.sin_XD[position_T].unsqueeze(1) * self.scale_AD
        x_TC = self.decoder.model.embed_tokens.weight[ids_T]
        for index, layer in enumerate(self.layers):
            layer.attention(index, x_TC, cos_TAD, sin_TAD, attend)
            layer.mlp(x_TC)
        return self.norm(x_TC)[:tokens]

    def logits(self, hidden_TC: Tensor) -> Tensor:
        """fp32 logits [T, V]."""
        tokens = len(hidden_TC)
        return self.head(F.pad(hidden_TC, (0, 0, 0, padded(tokens) - tokens)))[:tokens]


class _Scaling:
    """RMSNorm in four operations: x / |x| times the weight, which holds the square root of C."""

    def __init__(self, norm: Norm) -> None:
        self.own = norm
        size = norm.weight.numel()
        self.root = math.sqrt(size)
        self.least = torch.tensor(math.sqrt(size * norm.eps), device=norm.weight.device)
        self.weight_C = norm.weight.detach()

    def prepared(self, lookup: Lookup) -> Callable[[], None]:
        weight_C = lookup(self.own.weight) * self.root

        def use() -> None:
            self.weight_C = weight_C

        return use

    def __call__(self, x: Tensor) -> Tensor:
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        return torch.mul(x, self.weight_C).div_(torch.hypot(length, self.least))


class _FusedLayer:
    """One layer; both halves add to x in place."""

    def __init__(self, layer: Layer, dtype: torch.dtype) -> None:
        own = layer.self_attn
        assert isinstance(own, Attention)
        self.own = own
        self.before_attention = _Scaling(layer.input_layernorm)
        self.before_mlp = _Scaling(layer.post_attention_layernorm)
        self.qkv = Dense([own.q_proj, own.k_proj, own.v_proj], torch.float32)
        self.out = Dense([own.o_proj], torch.float32)
        self.gate_up = Dense([layer.mlp.gate_proj, layer.mlp.up_proj], dtype)
        self.down = Dense([layer.mlp.down_proj], torch.float32)
        products = (self.qkv, self.out, self.gate_up, self.down)
        self.parts = (*products, self.before_attention, self.before_mlp)

    def attention(self, index: int, x_TC: Tensor, cos_TAD: Tensor, sin_TAD: Tensor, attend: Attend) -> None:
        size, rotated = self.own.head_dim, cos_TAD.shape[1]
        qkv_TAD = self.qkv(self.before_attention(x_TC)).unflatten(-1, (-1, size))
        qk_TAD = qkv_TAD[:, :rotated]
        if self.own.normed:
            self._normalise(qk_TAD, rotated)
        swapped_TAD = qk_TAD.roll(size // 2, dims=-1)
        qk_TAD.mul_(cos_TAD).addcmul_(swapped_TAD, sin_TAD)
        x_TC += self.out(attend(index, qkv_TAD))

    def _normalise(self, qk_TAD: Tensor, rotated: int) -> None:
        """Qwen3's norm of every head, in place."""
        kv_heads = self.own.k_proj.out_features // self.own.head_dim
        q_norm, k_norm = self.own.q_norm, self.own.k_norm
        plain_TAD = F.rms_norm(qk_TAD, (self.own.head_dim,), None, q_norm.eps)
        queries = rotated - kv_heads
        torch.mul(plain_TAD[:, :queries], q_norm.weight, out=qk_TAD[:, :queries])
        torch.mul(plain_TAD[:, queries:], k_norm.weight, out=qk_TAD[:, queries:])

    def mlp(self, x_TC: Tensor) -> None:
        gate, up = self.gate_up(self.before_mlp(x_TC)).chunk(2, dim=-1)
        x_TC += self.down(F.silu(gate).mul_(up))
