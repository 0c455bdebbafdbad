"""What a lab asks: every judge by every rubric on every group, in order, and what was answered before."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User

from training.judges.lab.sources import FLIPPED, SEEDED, sha256_of
from training.models import JudgeTrial

KIND = "judge_lab"
"""Of the errand that asks."""
MOST_REPEATS = 3


@dataclass(frozen=True)
class Question:
    """What one trial asks. Every judge and every rubric meets the tries of a group in the same order."""

    group_id: int
    judge_model: str
    rubric: str = ""
    flipped: bool = False
    repeat: int = 0

    @property
    def order(self) -> str:
        return FLIPPED if self.flipped else SEEDED

    @property
    def key(self) -> tuple[int, str, str, str, int]:
        """What two trials have in common that answer the same question."""
        return self.group_id, self.judge_model, sha256_of(self.rubric), self.order, self.repeat


@dataclass(frozen=True)
class Hearing:
    """What is to be judged: every judge by every rubric on every group."""

    groups: Sequence[int]
    judges: Sequence[str]
    rubrics: Sequence[str]
    flips: bool = True
    repeats: int = 1

    @property
    def arguments(self) -> dict[str, Any]:
        """Of the errand."""
        return {
            "groups": list(self.groups),
            "judges": list(self.judges),
            "rubrics": list(self.rubrics),
            "flips": self.flips,
            "repeats": self.repeats,
        }

    def questions(self) -> list[Question]:
        """What ranks comes first, so that a page has something to show early."""
        passes = [
            (False, 0),
            *([(True, 0)] if self.flips else []),
            *((False, n + 1) for n in range(self.repeats)),
        ]
        return [
            Question(group, judge, rubric, flipped, repeat)
            for flipped, repeat in passes
            for group in self.groups
            for judge in self.judges
            for rubric in self.rubrics
        ]


def hearing_of(arguments: Mapping[str, Any]) -> Hearing:
    names = ("groups", "judges", "rubrics", "flips", "repeats")
    return Hearing(**{name: arguments[name] for name in names})


def unanswered(owner: User, questions: Iterable[Question]) -> list[Question]:
    """Those nobody has a usable answer to yet, each once."""
    wanted = {question.key: question for question in questions}
    groups = {question.group_id for question in wanted.values()}
    given = JudgeTrial.objects.filter(owner=owner, group__in=groups, error="")
    for key in given.values_list("group_id", "judge_model", "rubric_sha256", "order", "repeat"):
        wanted.pop(key, None)
    return list(wanted.values())
