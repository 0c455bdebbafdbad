"""What both sides of a bar are given to do. Standard library only: the peer's environment reads it too."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

SAMPLES = 4
"""Sampled answers on which the two sides must agree before anything is timed."""


@dataclass(frozen=True)
class Workload:
    """`prompts` are rendered by the model's own chat template; a step takes `prompts_per_step` new ones."""

    model: str
    prompts: tuple[str, ...]
    prompts_per_step: int
    group_size: int
    max_tokens: int
    warm_up: int
    steps: int
    seed: int = 0
    lora_rank: int = 16
    lora_alpha: float = 32.0
    learning_rate: float = 1e-5

    @property
    def tries(self) -> int:
        return self.prompts_per_step * self.group_size

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))


def read_workload(path: Path) -> Workload:
    settings = json.loads(path.read_text())
    return Workload(**settings | {"prompts": tuple(settings["prompts"])})


def reward(answer: str, index: int) -> float:
    """A number from 0 to 1 that depends on nothing but its arguments, and costs next to nothing.

    No group is ever tied, so both sides learn from every try of every step.
    """
    digest = hashlib.sha256(f"{index}/{answer}".encode()).digest()
    return int.from_bytes(digest[:4], "big") / 2**32
