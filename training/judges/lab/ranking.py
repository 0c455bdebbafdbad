"""A group to be ranked by hand: its tries in an order that gives nothing away, what differs left bright."""

import hashlib
from collections import Counter
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import Prefetch
from django.urls import reverse
from django.utils.translation import gettext as _

from training.judges import human
from training.models import Group, Ranking, Trajectory, TrajectoryRecord
from training.review.transcript import Call, Turn, shared_start, turns
from training.runs import words

SHOWN = 1500
"""Characters of a message that a card shows; the try's own page has all of them."""


@dataclass(frozen=True)
class CardTurn:
    """A turn, cut. `common`: at least half of the tries say this very thing at the same place."""

    turn: Turn
    text: str
    calls: list[Call]
    cut: bool
    common: bool


@dataclass(frozen=True)
class Card:
    """One try, without anything that tells what somebody thought of it."""

    trajectory: Trajectory
    name: str
    ended: str
    turns: list[CardTurn]


@dataclass(frozen=True)
class ToRank:
    group: Group
    start: list[Turn]
    cards: list[Card]
    standing: Ranking | None

    @property
    def settings(self) -> dict[str, object]:
        """What the page's script begins with."""
        standing = self.standing
        return {
            "url": reverse("rank_group", args=[self.group.pk]),
            "places": standing.places if standing else [],
            "undo": reverse("withdraw_ranking", args=[standing.pk]) if standing else "",
        }


def to_rank(group: Group, person: User) -> ToRank:
    records = TrajectoryRecord.objects.defer("segments")
    found = list(group.trajectories.prefetch_related(Prefetch("record", queryset=records)))
    found.sort(key=lambda one: hashlib.sha256(f"{group.pk}/{one.index}".encode()).digest())
    conversations = [trajectory.record.messages for trajectory in found]
    alike = shared_start(conversations)
    said = [turns(messages[alike:], first=alike) for messages in conversations]
    seen = Counter((place, turn) for one in said for place, turn in enumerate(one))
    cards = [
        Card(
            trajectory=trajectory,
            name=try_name(trajectory.index),
            ended=str(words.ENDED.get(trajectory.ended, trajectory.ended)),
            turns=[_shown(place, turn, seen, len(said)) for place, turn in enumerate(one)],
        )
        for trajectory, one in zip(found, said, strict=True)
    ]
    start = turns(conversations[0][:alike]) if conversations else []
    return ToRank(group, start, cards, human.ranking_of(person, group))


def try_name(index: int) -> str:
    return _("Try %(number)s") % {"number": index + 1}


def _shown(place: int, turn: Turn, seen: Counter[tuple[int, Turn]], tries: int) -> CardTurn:
    common = tries > 2 and seen[place, turn] * 2 >= tries
    calls = [_shown_call(call) for call in turn.calls]
    return CardTurn(turn, turn.text[:SHOWN], calls, turn.cut or len(turn.text) > SHOWN, common)


def _shown_call(call: Call) -> Call:
    return Call(
        _cut(call.name, 80), tuple((_cut(name, 60), _cut(value, 300)) for name, value in call.arguments)
    )


def _cut(text: str, most: int) -> str:
    """Here and not by the template's filter: a page of long tries has thousands."""
    return text if len(text) <= most else text[: most - 1] + "…"
