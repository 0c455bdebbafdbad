"""Which two tries a person is asked about, in which order, and which of the two stands left.

Order and sides are drawn from a hash of the comparison, the person and the pair: they tell nothing, stay the
same at every visit, and another person has others.
"""

import hashlib
from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import combinations

from training.models import BlindVote, Comparison


@dataclass(frozen=True)
class Pair:
    """The tries of two contenders, by their keys, at one scenario. The token gives nothing away."""

    token: str
    scenario_key: str
    left: str
    right: str

    @property
    def place(self) -> tuple[str, str, str]:
        """What its vote is found by."""
        return self.scenario_key, self.left, self.right


def pairs(
    seed: str, scenario_keys: Sequence[str], contenders: Sequence[str], played: Container[tuple[str, str]]
) -> list[Pair]:
    """Every two contenders at every scenario that both have `played`, in the order they are asked about.

    `played` has (contender, scenario) keys.
    """
    found = [
        _shuffled(seed, key, one, other)
        for one, other in combinations(contenders, 2)
        for key in scenario_keys
        if (one, key) in played and (other, key) in played
    ]
    return sorted(found, key=lambda pair: pair.token)


def place_of(vote: BlindVote) -> tuple[str, str, str]:
    return vote.scenario_key, vote.left, vote.right


def seed_of(comparison: Comparison, author_id: int) -> str:
    """Nobody who reads the page can work it out: the request's id is known to the server alone."""
    return f"{comparison.request_id}/{author_id}"


def _shuffled(seed: str, key: str, one: str, other: str) -> Pair:
    digest = hashlib.sha256(f"{seed}/{key}/{one}/{other}".encode()).hexdigest()
    token, turned = digest[:24], int(digest[-1], 16) % 2
    return Pair(token, key, other, one) if turned else Pair(token, key, one, other)
