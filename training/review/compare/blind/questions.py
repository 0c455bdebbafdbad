"""What the page that asks shows: two tries of one scenario, and nothing that tells whose they are."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Q

from training.models import BlindVote, Comparison, ComparisonTry, Errand
from training.review.compare import contenders
from training.review.compare.blind import votes
from training.review.compare.blind.pairs import Pair, pairs, place_of, seed_of
from training.review.transcript import Turn, shared_start, turns
from training.runs import words


@dataclass(frozen=True)
class Side:
    """One of the two tries. `prefix` begins the anchors of its messages."""

    prefix: str
    turns: list[Turn]
    ended: str


@dataclass(frozen=True)
class Question:
    """`start` is what both tries begin with; `same` if they are word for word the same."""

    token: str
    start: list[Turn]
    left: Side
    right: Side
    same: bool


@dataclass(frozen=True)
class Progress:
    total: int
    answered: int
    skipped: int
    """Of those answered."""

    @property
    def number(self) -> int:
        """Of the question that is asked now, from 1."""
        return self.answered + 1


def asked(comparison: Comparison, person: User) -> list[Pair]:
    """Every pair this person can judge; none while tries are still played."""
    if comparison.errand is not None and comparison.errand.state not in Errand.OVER:
        return []
    played = set(comparison.tries.filter(error="").values_list("contender", "scenario_key"))
    keys = [one.key for one in contenders.of(comparison)]
    return pairs(seed_of(comparison, person.pk), comparison.scenario_keys, keys, played)


def page(comparison: Comparison, person: User) -> dict[str, Any]:
    """The first pair without an answer, and how far the person is."""
    every = asked(comparison, person)
    given = {place_of(vote): vote.choice for vote in votes.of(comparison, person)}
    waiting = [pair for pair in every if pair.place not in given]
    skips = Counter(given[pair.place] for pair in every if pair.place in given)[BlindVote.Choice.SKIP]
    return {
        "comparison": comparison,
        "run": comparison.run,
        "over": comparison.errand is None or comparison.errand.state in Errand.OVER,
        "contenders": len(comparison.contenders),
        "progress": Progress(len(every), len(every) - len(waiting), skips),
        "question": _question(comparison, waiting[0]) if waiting else None,
    }


def _question(comparison: Comparison, pair: Pair) -> Question:
    both = Q(contender=pair.left) | Q(contender=pair.right)
    rows = ComparisonTry.objects.filter(both, comparison=comparison, scenario_key=pair.scenario_key)
    found: Mapping[str, ComparisonTry] = {row.contender: row for row in rows}
    left, right = found[pair.left], found[pair.right]
    alike = shared_start([left.messages, right.messages])
    return Question(
        token=pair.token,
        start=turns(left.messages[:alike]),
        left=_side("l", left, alike),
        right=_side("r", right, alike),
        same=left.messages == right.messages,
    )


def _side(prefix: str, row: ComparisonTry, alike: int) -> Side:
    ended = str(words.ENDED.get(row.ended, row.ended))
    return Side(prefix, turns(row.messages[alike:], first=alike), ended)
