"""The network before training: sizes, and an initialisation in which copying already half works.

Mimetic initialisation: from random weights a model this small hardly ever discovers copying, so it is
given an attention head that looks at the previous token (made of the query and key biases alone) and,
in the layers above, heads that look for "what followed this token before" and pass that on. Compare
arXiv 2305.09828 and 2209.11895 (induction heads).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gpu_worker.engines.embedded.decoder import Decoder, Shape, rotary_frequencies

PREVIOUS_TOKEN_PAIRS = 10
PREVIOUS_TOKEN_BIAS = 7.0
EMBEDDING_SCALE = 0.1
SLOW = 1 / 250
"""Rotary pairs slower than this (radians a token) hardly turn within a dialogue; copy heads match on them."""


@dataclass(frozen=True)
class Size:
    hidden: int
    layers: int
    heads: int
    intermediate: int


SIZES = {"tiny": Size(64, 2, 1, 128), "demo": Size(144, 4, 2, 384), "large": Size(192, 4, 3, 512)}


def config_of(size: Size, vocabulary: int, end_of_turn: int, padding: int) -> dict[str, Any]:
    """The config.json of a Llama with biases in its attention (Qwen2's mathematics)."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "attention_bias": True,
        "attention_dropout": 0.0,
        "mlp_bias": False,
        "bos_token_id": None,
        "eos_token_id": end_of_turn,
        "pad_token_id": padding,
        "head_dim": size.hidden // size.heads,
        "hidden_act": "silu",
        "hidden_size": size.hidden,
        "initializer_range": 0.02,
        "intermediate_size": size.intermediate,
        "max_position_embeddings": 2048,
        "num_attention_heads": size.heads,
        "num_hidden_layers": size.layers,
        "num_key_value_heads": size.heads,
        "rms_norm_eps": 1e-6,
        "rope_theta": 1000000.0,
        "tie_word_embeddings": True,
        "dtype": "float32",
        "use_cache": True,
        "vocab_size": vocabulary,
    }


def new_network(directory: Path, config: dict[str, Any], seed: int) -> Decoder:
    """An untrained decoder with every parameter trainable; writes its config.json into `directory`."""
    (directory / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    decoder = Decoder(Shape.read(directory))
    generator = torch.Generator().manual_seed(seed)
    weights = {name: _plain(name, tensor, generator) for name, tensor in decoder.state_dict().items()}
    _give_copying(weights, decoder.shape, generator)
    decoder.load_state_dict(weights, assign=True)
    return decoder.requires_grad_(True)


def _plain(name: str, like: Tensor, generator: torch.Generator) -> Tensor:
    """Norms one, biases zero, the embedding small, matrices smaller still."""
    if name.endswith("bias"):
        return torch.zeros(like.shape)
    if "norm" in name:
        return torch.ones(like.shape)
    scale = EMBEDDING_SCALE if "embed_tokens" in name else 0.4 / like.shape[1] ** 0.5
    return torch.randn(like.shape, generator=generator) * scale


def _give_copying(weights: dict[str, Tensor], shape: Shape, generator: torch.Generator) -> None:
    """Head 0 of layer 0 moves the previous token along; head 0 of every later layer copies."""
    basis, _ = torch.linalg.qr(torch.randn(shape.hidden, shape.hidden, generator=generator))
    width = min(shape.head_dim, shape.hidden // 2)
    content, moved = basis[:width], basis[-width:]
    _previous_token_head(weights, shape, content, moved)
    for layer in range(1, shape.layers):
        _copy_head(weights, shape, layer, content, moved)


def _previous_token_head(weights: dict[str, Tensor], shape: Shape, content: Tensor, moved: Tensor) -> None:
    """Writes `content` of the previous token into the directions `moved`."""
    prefix, half = "model.layers.0.self_attn.", shape.head_dim // 2
    angle = rotary_frequencies(shape)[:PREVIOUS_TOKEN_PAIRS]
    pairs = slice(0, PREVIOUS_TOKEN_PAIRS)
    for projection, turn in (("k_proj", torch.zeros_like(angle)), ("q_proj", -angle)):
        weights[f"{prefix}{projection}.weight"][: shape.head_dim] *= 0.1
        bias = weights[f"{prefix}{projection}.bias"]
        bias[: shape.head_dim][pairs] = PREVIOUS_TOKEN_BIAS * turn.cos()
        bias[half : shape.head_dim][pairs] = PREVIOUS_TOKEN_BIAS * turn.sin()
    weights[f"{prefix}v_proj.weight"][: len(content)] = content
    weights[f"{prefix}o_proj.weight"][:, : len(moved)] = EMBEDDING_SCALE * moved.T


def _copy_head(weights: dict[str, Tensor], shape: Shape, layer: int, content: Tensor, moved: Tensor) -> None:
    """Attends where the previous token equals the present one, and adds the token found there."""
    prefix, half = f"model.layers.{layer}.self_attn.", shape.head_dim // 2
    slow = torch.nonzero(rotary_frequencies(shape) < SLOW).flatten()
    rows = torch.cat((slow, slow + half))[: len(content)]
    sharpness = 1.6
    for projection, directions in (("q_proj", content), ("k_proj", moved)):
        weight = weights[f"{prefix}{projection}.weight"]
        weight[: shape.head_dim] *= 0.1
        weight[rows] = sharpness * directions[: len(rows)]
    weights[f"{prefix}v_proj.weight"][: len(content)] = content
    weights[f"{prefix}o_proj.weight"][:, : len(content)] = 2 * EMBEDDING_SCALE * content.T
