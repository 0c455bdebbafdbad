"""What both sides of a bar are given to do. Standard library only: the peer's environment reads it too."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

SAMPLES = 4
"""Sampled answers on which the two sides must agree before anything is timed."""
WARM_UP = 1
"""Steps of a side that are not timed."""


@dataclass(frozen=True)
class Workload:
    """`prompts` are rendered by the model's own chat template; a step takes `prompts_per_step` new ones."""

    model: str
    task: Literal["t6m", "desk"]
    prompts: tuple[str, ...]
    prompts_per_step: int
    group_size: int
    max_tokens: int
    seed: int = 0
    lora_rank: int = 16
    lora_alpha: int = 32
    learning_rate: float = 1e-5

    @property
    def tries(self) -> int:
        return self.prompts_per_step * self.group_size

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))


def read_workload(path: Path) -> Workload:
    settings = json.loads(path.read_text())
    return Workload(**settings | {"prompts": tuple(settings["prompts"])})


@dataclass(frozen=True)
class Try:
    """A recorded try: its ids, which of them were sampled, their log-probabilities, and its advantage."""

    ids: tuple[int, ...]
    mask: tuple[bool, ...]
    logprobs: tuple[float, ...]
    advantage: float

    @property
    def prompt(self) -> int:
        """How many ids come before the first sampled one."""
        return self.mask.index(True)


@dataclass(frozen=True)
class Recording:
    """A batch that both learners are given: the tries of each group, and the model that made them."""

    model: str
    groups: tuple[tuple[Try, ...], ...]
    lora_rank: int = 16
    lora_alpha: int = 32
    learning_rate: float = 1e-5

    @property
    def tries(self) -> tuple[Try, ...]:
        return tuple(one for group in self.groups for one in group)

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))


def read_recording(path: Path) -> Recording:
    settings = json.loads(path.read_text())
    groups = tuple(tuple(_try(one) for one in group) for group in settings["groups"])
    return Recording(**settings | {"groups": groups})


def _try(one: dict[str, Any]) -> Try:
    return Try(tuple(one["ids"]), tuple(one["mask"]), tuple(one["logprobs"]), one["advantage"])


def reward(answer: str, index: int) -> float:
    """A number from 0 to 1 that depends on nothing but its arguments, and costs next to nothing.

    No group is ever tied, so both sides learn from every try of every step.
    """
    digest = hashlib.sha256(f"{index}/{answer}".encode()).digest()
    return int.from_bytes(digest[:4], "big") / 2**32
