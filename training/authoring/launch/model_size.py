"""How large a base model is, from its config.json or its name, without loading it."""

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from training.runs import base_models

EMBEDDED = Path(base_models.__file__).parents[2] / "gpu_worker" / "engines" / "embedded" / "weights"
NAMED = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)([bm])(?![a-z])", re.IGNORECASE)
"""A size in a model's name: Qwen3-0.6B, SmolLM2-135M."""
USUAL_WIDTH = 64
"""Bytes that a token's keys and values take for a thousand parameters of a small model, roughly."""


@dataclass(frozen=True)
class Size:
    """Parameters, bytes that keys and values of one token take, and numbers that pass through per token."""

    parameters: float
    token_bytes: float
    activations: float


def size_of(base_model: str) -> Size | None:
    """None for a model that is not on this machine and does not tell its size by its name."""
    directory = EMBEDDED if base_model == "embedded" else Path(base_model).expanduser()
    try:
        return _read(directory / "config.json")
    except (OSError, ValueError, KeyError, TypeError, RuntimeError):
        return _named(base_model)


@cache
def _read(path: Path) -> Size:
    config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    width, layers = int(config["hidden_size"]), int(config["num_hidden_layers"])
    heads = int(config["num_attention_heads"])
    kept = int(config.get("num_key_value_heads") or heads)
    head = int(config.get("head_dim") or width // heads)
    inner = int(config["intermediate_size"])
    layer = width * head * (2 * heads + 2 * kept) + 3 * width * inner
    words = int(config["vocab_size"]) * width * (1 if config.get("tie_word_embeddings") else 2)
    activations = layers * (6 * width + 3 * inner + head * (2 * heads + 2 * kept))
    return Size(layers * layer + words, 2 * layers * kept * head * 4, activations)


def _named(base_model: str) -> Size | None:
    found = NAMED.search(base_model.rsplit("/", 1)[-1].replace("-", " ").replace("_", " "))
    if found is None:
        return None
    parameters = float(found[1]) * (1e9 if found[2].lower() == "b" else 1e6)
    return Size(parameters, USUAL_WIDTH * parameters / 1e6 * 4, 60 * (parameters**0.5))
