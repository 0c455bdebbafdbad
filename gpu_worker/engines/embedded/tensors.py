"""Reads the weights in a model directory: safetensors only, with a sentence for whatever is wrong with them.

What the numbers mean is left to `decoder.py`.
"""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from gpu_worker.engines.embedded.directory import ModelError, read_json


def read_weights(directory: Path) -> dict[str, torch.Tensor]:
    """All tensors of a model directory in fp32, from one safetensors file or from shards with an index."""
    tensors: dict[str, torch.Tensor] = {}
    for path in _weight_files(directory):
        tensors.update(read_safetensors(path))
    return {name: tensor.float() for name, tensor in tensors.items()}


def read_safetensors(path: Path) -> dict[str, torch.Tensor]:
    try:
        return load_file(path)
    except FileNotFoundError as error:
        raise ModelError(f"The weights file {path} is missing.") from error
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelError(f"{path} is not a readable safetensors file: {error}.") from error


def _weight_files(directory: Path) -> list[Path]:
    index = directory / "model.safetensors.index.json"
    if not index.exists():
        single = directory / "model.safetensors"
        if not single.exists():
            raise ModelError(
                f"The model directory {directory} has no model.safetensors; only safetensors are read."
            )
        return [single]
    names = read_json(index).get("weight_map")
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise ModelError(f"{index} has no weight_map.")
    files = [directory / name for name in sorted(set(names.values()))]
    if any(path.parent != directory for path in files):
        raise ModelError(f"{index} points outside its own directory.")
    return files
