"""Reads a LoRA adapter from PEFT's files and says what it adds to each weight.

Nothing is changed here: an adapter is read and checked as a whole before anybody uses it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gpu_worker.checkpoints import ADAPTER, ADAPTER_CONFIG, WHOLE, WHOLE_CONFIG
from gpu_worker.engines.embedded.directory import ModelError, read_json
from gpu_worker.engines.embedded.tensors import read_safetensors

NAME = re.compile(r"(?:base_model\.model\.)?(?P<module>.+)\.lora_(?P<side>[AB])(?:\.default)?\.weight")


def read_deltas(directory: Path, weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """What the adapter in `directory` adds to the `weights` it names (all fp32, of the same shapes).

    Raises ModelError when a file is missing or broken, or asks for something other than plain LoRA.
    """
    if not directory.is_dir():
        raise ModelError(f"There is no adapter directory {directory}.")
    config = read_json(directory / ADAPTER_CONFIG)
    _refuse_unsupported(config, directory)
    pairs = _pairs(read_safetensors(directory / ADAPTER), directory)
    deltas = {}
    for module, sides in pairs.items():
        name = f"{module}.weight"
        if name not in weights or set(sides) != {"A", "B"}:
            raise ModelError(f"The adapter in {directory} does not fit the model: {module}.")
        down, up = sides["A"].float(), sides["B"].float()
        if down.dim() != 2 or up.dim() != 2 or (up.shape[0], down.shape[1]) != weights[name].shape:
            raise ModelError(f"The adapter in {directory} has the wrong shape for {module}.")
        if up.shape[1] != down.shape[0] or not (down.isfinite().all() and up.isfinite().all()):
            raise ModelError(f"The adapter in {directory} has unusable numbers for {module}.")
        deltas[name] = _scale(config, down.shape[0]) * (up @ down)
    return deltas


def _refuse_unsupported(config: dict[str, Any], directory: Path) -> None:
    plain: dict[str, tuple[object, ...]] = {
        "peft_type": ("LORA",),
        "bias": (None, "none"),
        "use_dora": (None, False),
        "fan_in_fan_out": (None, False),
        "modules_to_save": (None, []),
        "rank_pattern": (None, {}),
        "alpha_pattern": (None, {}),
    }
    for key, usable in plain.items():
        if config.get(key) not in usable:
            raise ModelError(f"The adapter in {directory} cannot be used: its {key} is {config.get(key)!r}.")
    if not isinstance(config.get("lora_alpha"), int | float):
        raise ModelError(f"The adapter in {directory} has no lora_alpha.")


def _pairs(tensors: dict[str, Tensor], directory: Path) -> dict[str, dict[str, Tensor]]:
    pairs: dict[str, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        match = NAME.fullmatch(name)
        if match is None:
            raise ModelError(f"The adapter in {directory} has {name}, which is no LoRA matrix.")
        pairs.setdefault(match["module"], {})[match["side"]] = tensor
    return pairs


def _scale(config: dict[str, Any], rank: int) -> float:
    divisor = math.sqrt(rank) if config.get("use_rslora") is True else rank
    return float(config["lora_alpha"]) / divisor


class Swappable:
    """The weights of a decoder: pristine, with an adapter merged into them, or exchanged for others."""

    def __init__(self, decoder: torch.nn.Module) -> None:
        self.parameters = dict(decoder.named_parameters())
        self.pristine = {name: parameter.data for name, parameter in self.parameters.items()}

    def use(self, directory: Path | None) -> None:
        """Merge the adapter in `directory` into the pristine weights; None leaves them pristine.

        Where all weights were trained (full.json), take those. Raises ModelError, with the weights as they
        were, when they cannot be used.
        """
        if directory is not None and (directory / WHOLE_CONFIG).exists():
            return self.adopt(read_safetensors(directory / WHOLE))
        deltas = read_deltas(directory, self.pristine) if directory is not None else {}
        for name, parameter in self.parameters.items():
            own = self.pristine[name]
            parameter.data = own + deltas[name] if name in deltas else own

    def check(self, weights: Mapping[str, Tensor]) -> None:
        """Raises ModelError when a name or shape is not the model's."""
        for name, tensor in weights.items():
            if name not in self.pristine or tensor.shape != self.pristine[name].shape:
                raise ModelError(f"The new weights do not fit the model: {name} {list(tensor.shape)}.")

    def lookup(self, weights: Mapping[str, Tensor]) -> Callable[[Tensor], Tensor]:
        """Which tensor stands for a parameter when these weights are used, pristine ones for the rest."""
        names = {id(parameter): name for name, parameter in self.parameters.items()}

        def find(parameter: Tensor) -> Tensor:
            name = names[id(parameter)]
            return weights.get(name, self.pristine[name])

        return find

    def adopt(self, weights: Mapping[str, Tensor]) -> None:
        """Use these tensors as they are, and the pristine ones for the rest.

        Raises ModelError, with the weights as they were, when a name or shape is not the model's.
        """
        self.check(weights)
        find = self.lookup(weights)
        for parameter in self.parameters.values():
            tensor = find(parameter)
            if parameter.data_ptr() != tensor.data_ptr():
                parameter.data = tensor
