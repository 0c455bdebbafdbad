"""Random LoRA adapters in PEFT's files, for tests that want one without training it."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors.torch import save_file

from gpu_worker.engines.embedded.decoder import Decoder


def build_adapter(directory: Path, model: Path, *, seed: int, strength: float = 1.0) -> Path:
    """Write an adapter of rank 2 for all projections of `model` into `directory`; returns it.

    Strength 1 changes what is said; strength 0 changes nothing.
    """
    directory.mkdir(parents=True, exist_ok=True)
    generator = torch.Generator().manual_seed(seed)
    tensors = {}
    for weight, parameter in Decoder.load(model).named_parameters():
        if weight.endswith("_proj.weight"):
            module = f"base_model.model.{weight.removesuffix('.weight')}"
            rows, columns = parameter.shape
            tensors[f"{module}.lora_A.weight"] = torch.randn(2, columns, generator=generator)
            tensors[f"{module}.lora_B.weight"] = torch.randn(rows, 2, generator=generator) * strength
    save_file(tensors, directory / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "r": 2, "lora_alpha": 4, "bias": "none", "target_modules": ["q_proj"]}
    (directory / "adapter_config.json").write_text(json.dumps(config))
    return directory
