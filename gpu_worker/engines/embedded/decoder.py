"""One decoder for Qwen2, Qwen3 and Llama-family checkpoints, in fp32, with Hugging Face parameter names.

The network is written once and used by sampler and trainer alike: whoever calls it brings the attention
(KV cache, packing, shared prefixes) as a function. Files are found by `directory.py`.

Shapes: `*` any leading shape of tokens, C hidden size, H query heads, K key/value heads, D head size,
V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gpu_worker.engines.embedded.dense import linear
from gpu_worker.engines.embedded.directory import ModelError, locate, read_json
from gpu_worker.engines.embedded.tensors import read_weights

ARCHITECTURES = {"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM", "qwen3": "Qwen3ForCausalLM"}
ROPE_TYPES = {
    "default": (),
    "linear": ("factor",),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"),
}

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]
"""attend(q [*, H, D], k [*, K, D], v [*, K, D]) -> [*, H, D]. Called once per layer, in layer order.

q and k are already rotated; dividing by sqrt(D) and masking are attend's business.
"""


@dataclass(frozen=True)
class Shape:
    """The numbers of a checkpoint's config.json that decide its arithmetic."""

    family: str
    vocab: int
    hidden: int
    intermediate: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    max_positions: int
    norm_eps: float
    tied: bool
    qkv_bias: bool
    out_bias: bool
    mlp_bias: bool
    rope: dict[str, Any]

    @classmethod
    def read(cls, directory: Path) -> Shape:
        """From `directory`/config.json. Raises ModelError for whatever this decoder cannot compute."""
        config = read_json(directory / "config.json")
        try:
            _refuse_unsupported(config, directory)
            return cls._of(config)
        except (LookupError, TypeError, ValueError) as error:
            raise ModelError(f"{directory / 'config.json'} lacks a usable value: {error}.") from error

    @classmethod
    def _of(cls, config: dict[str, Any]) -> Shape:
        family, heads = config["model_type"], _count(config, "num_attention_heads")
        hidden = _count(config, "hidden_size")
        all_bias = config.get("attention_bias") is True
        return cls(
            family=family,
            vocab=_count(config, "vocab_size"),
            hidden=hidden,
            intermediate=_count(config, "intermediate_size"),
            layers=_count(config, "num_hidden_layers"),
            heads=heads,
            kv_heads=_count(config, "num_key_value_heads", heads),
            head_dim=_count(config, "head_dim", hidden // heads),
            max_positions=_count(config, "max_position_embeddings", 2048),
            norm_eps=float(config.get("rms_norm_eps", 1e-6)),
            tied=config.get("tie_word_embeddings") is True,
            qkv_bias=family == "qwen2" or all_bias,
            out_bias=family != "qwen2" and all_bias,
            mlp_bias=family == "llama" and config.get("mlp_bias") is True,
            rope=_rope_of(config),
        )


def _count(config: dict[str, Any], key: str, default: int | None = None) -> int:
    value = config.get(key)
    value = default if value is None else value
    if not isinstance(value, int) or value < 1:
        raise ValueError(f"{key} is {value!r}")
    return value


def _rope_of(config: dict[str, Any]) -> dict[str, Any]:
    """Rotary settings from both the older keys (rope_theta, rope_scaling) and the newer rope_parameters."""
    given = config.get("rope_parameters") or config.get("rope_scaling") or {}
    if not isinstance(given, dict):
        raise ValueError(f"rope_parameters is {given!r}")
    rope = {"rope_theta": config.get("rope_theta", 10000.0), **given}
    rope["rope_type"] = rope.get("rope_type") or rope.pop("type", None) or "default"
    for key in ("rope_theta", *ROPE_TYPES.get(rope["rope_type"], ())):
        if not isinstance(rope.get(key), int | float):
            raise ValueError(f"{key} is {rope.get(key)!r}")
    return rope


def _refuse_unsupported(config: dict[str, Any], directory: Path) -> None:
    family, rope = config.get("model_type"), _rope_of(config)
    expected = [ARCHITECTURES.get(str(family))]
    named = config.get("architectures") or expected
    sliding = config.get("use_sliding_window") or "sliding_attention" in (config.get("layer_types") or [])
    reasons = {
        "it brings its own code (auto_map), which is never run": "auto_map" in config,
        f"its family is {family!r}; Qwen2, Qwen3 and Llama can be used": family not in ARCHITECTURES,
        f"its architecture is {named!r}, not a causal language model": named != expected,
        "its weights are quantised; use the unquantised ones": "quantization_config" in config,
        f"its activation is {config.get('hidden_act')!r}": config.get("hidden_act", "silu") != "silu",
        "it uses sliding-window attention": bool(sliding),
        f"its rotary scaling is {rope['rope_type']!r}": rope["rope_type"] not in ROPE_TYPES,
        "it rotates only a part of each head": rope.get("partial_rotary_factor", 1.0) != 1.0,
    }
    for reason, applies in reasons.items():
        if applies:
            raise ModelError(f"The model in {directory} cannot be used: {reason}.")


def rotary_frequencies(shape: Shape) -> Tensor:
    """Angle per position of each rotated pair, [D/2]; llama3 scaling as in Llama 3.1's release."""
    exponents = torch.arange(0, shape.head_dim, 2, dtype=torch.int64).float() / shape.head_dim
    frequencies = 1.0 / (shape.rope["rope_theta"] ** exponents)
    if shape.rope["rope_type"] == "default":
        return frequencies
    slowed = frequencies / shape.rope["factor"]
    if shape.rope["rope_type"] == "linear":
        return slowed
    low, high = shape.rope["low_freq_factor"], shape.rope["high_freq_factor"]
    turns = shape.rope["original_max_position_embeddings"] * frequencies / (2 * math.pi)
    share = ((turns - low) / (high - low)).clamp(0.0, 1.0)
    return (1 - share) * slowed + share * frequencies


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary embedding of x [*, heads, D], halves paired as Hugging Face does.

    cos and sin are [*, 1, D]; sin is negative in the first half, as the second is subtracted there.
    """
    swapped = x.roll(x.shape[-1] // 2, dims=-1)
    return torch.addcmul(x * cos, swapped, sin)


def causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Plain causal attention for [B, T, heads, D]: the reference the faster ones are held against."""
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    out = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    return out.transpose(1, 2)


class Norm(nn.Module):
    """RMSNorm over the last dimension."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.weight.shape, self.weight, self.eps)


class Linear(nn.Linear):
    """nn.Linear, with the faster product where no gradient is asked for."""

    def forward(self, x: Tensor) -> Tensor:
        if torch.is_grad_enabled():
            return F.linear(x, self.weight, self.bias)
        return linear(x.contiguous(), self.weight, self.bias)


class Attention(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.head_dim = shape.head_dim
        width, kv_width = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
        self.q_proj = Linear(shape.hidden, width, bias=shape.qkv_bias)
        self.k_proj = Linear(shape.hidden, kv_width, bias=shape.qkv_bias)
        self.v_proj = Linear(shape.hidden, kv_width, bias=shape.qkv_bias)
        self.o_proj = Linear(width, shape.hidden, bias=shape.out_bias)
        self.normed = shape.family == "qwen3"
        if self.normed:
            self.q_norm = Norm(shape.head_dim, shape.norm_eps)
            self.k_norm = Norm(shape.head_dim, shape.norm_eps)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, attend: Attend) -> Tensor:
        per_head = (-1, self.head_dim)
        q = self.q_proj(x).unflatten(-1, per_head)
        k = self.k_proj(x).unflatten(-1, per_head)
        v = self.v_proj(x).unflatten(-1, per_head)
        if self.normed:
            q, k = self.q_norm(q), self.k_norm(k)
        out = attend(rotate(q, cos, sin), rotate(k, cos, sin), v)
        return self.o_proj(out.flatten(-2))


class MLP(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.gate_proj = Linear(shape.hidden, shape.intermediate, bias=shape.mlp_bias)
        self.up_proj = Linear(shape.hidden, shape.intermediate, bias=shape.mlp_bias)
        self.down_proj = Linear(shape.intermediate, shape.hidden, bias=shape.mlp_bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.input_layernorm = Norm(shape.hidden, shape.norm_eps)
        self.self_attn = Attention(shape)
        self.post_attention_layernorm = Norm(shape.hidden, shape.norm_eps)
        self.mlp = MLP(shape)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, attend: Attend) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), cos, sin, attend)
        return x + self.mlp(self.post_attention_layernorm(x))


class Stack(nn.Module):
    """What Hugging Face calls `model`: embedding, layers, last norm."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        # Given its (empty) weight: drawing one would import torch's compiler, a second and 70 MB.
        self.embed_tokens = nn.Embedding(
            shape.vocab, shape.hidden, _weight=torch.empty(shape.vocab, shape.hidden)
        )
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = Norm(shape.hidden, shape.norm_eps)


class Decoder(nn.Module):
    """The whole network. Made by `load`; a bare `Decoder(shape)` has no storage for its weights yet."""

    frequencies: Tensor

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        with torch.device("meta"):
            self.model = Stack(shape)
            if not shape.tied:
                self.lm_head = Linear(shape.hidden, shape.vocab, bias=False)
        self.register_buffer("frequencies", rotary_frequencies(shape), persistent=False)

    @classmethod
    def load(cls, model: str | Path) -> Decoder:
        """The model named or in the directory, in fp32, frozen (no gradients), in eval mode."""
        directory = locate(model)
        decoder = cls(Shape.read(directory))
        weights = read_weights(directory)
        decoder._take(weights, directory)
        return decoder.requires_grad_(False).eval()

    def _take(self, weights: dict[str, Tensor], directory: Path) -> None:
        """Use `weights` as the parameters, after checking that they are all there and of the right shape."""
        wanted = self.state_dict()
        for name, tensor in wanted.items():
            if name not in weights:
                raise ModelError(f"The weights in {directory} lack {name}.")
            if weights[name].shape != tensor.shape:
                found, expected = list(weights[name].shape), list(tensor.shape)
                raise ModelError(f"{name} in {directory} has shape {found}; its config says {expected}.")
        known = {"lm_head.weight"} if self.shape.tied else set()
        extra = [n for n in weights if n not in wanted and n not in known and not n.endswith("inv_freq")]
        if extra:
            raise ModelError(f"The weights in {directory} have {extra[0]}, which its family does not know.")
        self.load_state_dict({name: weights[name] for name in wanted}, assign=True)

    def forward(self, ids: Tensor, positions: Tensor, attend: Attend) -> Tensor:
        """Final hidden states [*, C] of token `ids` [*] at `positions` [*], with the caller's attention."""
        angles = positions.unsqueeze(-1) * self.frequencies
        cos, sin = angles.cos(), angles.sin()
        cos, sin = torch.cat((cos, cos), -1).unsqueeze(-2), torch.cat((-sin, sin), -1).unsqueeze(-2)
        x = self.model.embed_tokens(ids)
        for layer in self.model.layers:
            x = layer(x, cos, sin, attend)
        return self.model.norm(x)

    def logits(self, hidden: Tensor) -> Tensor:
        """fp32 logits [*, V] of final hidden states [*, C]."""
        if self.shape.tied:
            return F.linear(hidden, self.model.embed_tokens.weight)
        return self.lm_head(hidden)
