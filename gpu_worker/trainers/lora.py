"""Learns LoRA matrices on all linear layers of a decoder: parameters, merged weights, files as PEFT has them.

How they learn is `learner.py`'s business.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save
from torch import Tensor, nn

from gpu_worker.checkpoints import ADAPTER, ADAPTER_CONFIG, write_bytes
from gpu_worker.engines.embedded.decoder import Decoder
from gpu_worker.seeds import seed_for
from gpu_worker.trainers.learner import Learner
from gpu_worker.trainers.low_rank import LowRankLinear
from gpu_worker.types import Job

PREFIX = "base_model.model."
"""What PEFT's files put before the names of a model's modules."""


class LoraTrainer(Learner):
    """Implements types.Trainer. `workers` threads compute micro-batches; their number changes no result.

    Raises ValueError for a job whose algorithm makes no sense, or without a rank.
    """

    def __init__(
        self, model: str | Path, job: Job, *, workers: int | None = None, device: str = "cpu"
    ) -> None:
        if job.lora_rank < 1:
            raise ValueError("A LoRA matrix has a rank of at least 1; lora_rank 0 is for full.FullTrainer.")
        base = Decoder.load(model).to(device)
        policy = Decoder(base.shape)
        policy.frequencies = base.frequencies
        policy.load_state_dict(base.state_dict(), assign=True)
        policy.requires_grad_(False)
        self.layers = _inject(policy, job)
        self.adapter = {name: p for name, p in policy.named_parameters() if p.requires_grad}
        self.config = _peft_config(str(model), job, self.layers)
        super().__init__(base, policy, self.adapter, job, workers)

    def weights(self) -> dict[str, Tensor]:
        """The merged weights of all adapted layers, fp32, by parameter name; an update makes new ones."""
        return {f"{name}.weight": layer.merged_OI for name, layer in self.layers.items()}

    def _updated(self) -> None:
        for layer in self.layers.values():
            layer.merge()

    def save(self, directory: Path) -> None:
        """Adapter in PEFT's own files, AdamW's moments and the random state; safetensors and JSON only."""
        weights = {_peft_name(name): p.detach() for name, p in self.adapter.items()}
        write_bytes(directory / ADAPTER, save(weights, {"format": "pt"}))
        write_bytes(directory / ADAPTER_CONFIG, (json.dumps(self.config, indent=2) + "\n").encode())
        self._save_state(directory)

    def load(self, directory: Path) -> None:
        """Take up exactly where `save` left off. The caller has verified the files."""
        weights = load_file(directory / ADAPTER)
        self._load(directory, {name: weights[_peft_name(name)] for name in self.adapter})


def _inject(decoder: Decoder, job: Job) -> dict[str, LowRankLinear]:
    """LoRA on every linear layer of the decoder, by name; neither on the embedding nor on the head."""
    generator = torch.Generator().manual_seed(seed_for(job.seed, "lora"))
    found = {name: module for name, module in decoder.named_modules() if isinstance(module, nn.Linear)}
    found.pop("lm_head", None)
    layers = {}
    for name, module in found.items():
        parent, _, own = name.rpartition(".")
        layers[name] = LowRankLinear(module, job.lora_rank, job.lora_alpha / job.lora_rank, generator)
        setattr(decoder.get_submodule(parent), own, layers[name])
    return layers


def _peft_config(model: str, job: Job, layers: Iterable[str]) -> dict[str, Any]:
    """adapter_config.json as PEFT and vLLM read it."""
    alpha = int(job.lora_alpha) if job.lora_alpha == int(job.lora_alpha) else job.lora_alpha
    return {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": model,
        "r": job.lora_rank,
        "lora_alpha": alpha,
        "lora_dropout": 0.0,
        "target_modules": sorted({name.rpartition(".")[2] for name in layers}),
        "bias": "none",
        "fan_in_fan_out": False,
        "use_rslora": False,
        "use_dora": False,
        "modules_to_save": None,
        "inference_mode": True,
    }


def _peft_name(name: str) -> str:
    return f"{PREFIX}{name}.weight"
