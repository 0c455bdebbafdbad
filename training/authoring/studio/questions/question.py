"""A practice question with what it rests on, and the mix of kinds that are asked by default."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpu_worker.types import Scenario
from judging.checks import text_of

KINDS: Mapping[str, float] = {
    "single": 34,
    "count": 18,
    "missing": 18,
    "filter": 14,
    "compare": 9,
    "two_hop": 7,
}
"""Each kind of question with its share in a mix: most of what small models can learn, some of all."""
DIFFICULTY: Mapping[str, str] = {
    "single": "easy",
    "count": "easy",
    "missing": "medium",
    "filter": "medium",
    "two_hop": "hard",
    "compare": "hard",
}


Call = tuple[str, Mapping[str, Any]]
"""A tool's name and arguments."""


@dataclass(frozen=True)
class Question:
    """`rows` are what it rests on: rows (orders:17) and values (orders:city=oslo), also invented ones."""

    scenario: Scenario
    kind: str
    rows: tuple[str, ...]
    columns: tuple[str, ...] = ()
    """The columns it asks about, as table.column, the one that holds the answer last."""
    calls: tuple[Call, ...] = ()
    """The look-ups that answer it."""

    @property
    def text(self) -> str:
        return " ".join(text_of(message) for message in self.scenario.messages if message["role"] == "user")
