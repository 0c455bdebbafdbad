"""Shapes of Qwen3 models for bars whose weights are random. Standard library only."""

from __future__ import annotations

from typing import Any

_QWEN3 = {
    "model_type": "qwen3",
    "architectures": ["Qwen3ForCausalLM"],
    "attention_bias": False,
    "attention_dropout": 0.0,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "rope_theta": 1000000.0,
    "max_position_embeddings": 40960,
    "initializer_range": 0.02,
    "tie_word_embeddings": True,
    "bos_token_id": None,
    "eos_token_id": 1,
    "pad_token_id": 0,
}


def _qwen3(hidden: int, inter: int, layers: int, heads: tuple[int, int, int], vocab: int) -> dict[str, Any]:
    """`heads` are those of queries, those of keys, and their size."""
    return _QWEN3 | {
        "hidden_size": hidden,
        "intermediate_size": inter,
        "num_hidden_layers": layers,
        "num_attention_heads": heads[0],
        "num_key_value_heads": heads[1],
        "head_dim": heads[2],
        "vocab_size": vocab,
    }


SHAPES: dict[str, dict[str, Any]] = {
    "toy": _qwen3(64, 128, 2, (4, 2, 16), 4096),
    "t6m-32k": _qwen3(256, 768, 6, (8, 4, 32), 32768),
    "0.6b": _qwen3(1024, 3072, 28, (16, 8, 128), 151936),
    "4b": _qwen3(2560, 9728, 36, (32, 8, 128), 151936),
    "8b": _qwen3(4096, 12288, 36, (32, 8, 128), 151936) | {"tie_word_embeddings": False},
}
"""As in the configurations that Qwen publishes (0.6B, 4B, 8B), and two small ones."""
