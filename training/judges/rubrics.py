"""The versions of an agent's rubric: made, compared, taken back.

The text that counts is the agent's own column; a version is a copy that stays. One is made when somebody
presses "Keep this version" and when a run is started, never by the form that saves itself.
"""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Max

from judging.rubric import DEFAULT, unwrapped
from training.models import Agent, RubricVersion, Run
from training.runs import jobs
from training.runs.rows import clean


@dataclass(frozen=True)
class Line:
    """A line of a comparison; `mark` is + for new ones, - for those that are gone, a space for the rest."""

    mark: str
    text: str


@dataclass(frozen=True)
class Entry:
    """A version as the history shows it: what it changed since the one before, and the runs that used it."""

    version: RubricVersion
    current: bool
    lines: Sequence[Line]
    runs: Sequence[Run] = field(default_factory=list)


def keep(agent: Agent, *, author: User | None, note: str = "") -> RubricVersion | None:
    """The agent's rubric as a version: the newest if it has this text already, none for the default."""
    with transaction.atomic():
        current = Agent.objects.select_for_update().get(pk=agent.pk)
        newest = current.rubrics.first()
        if not current.rubric.strip():
            return None
        if newest is not None and newest.text == current.rubric:
            return newest
        number = (current.rubrics.aggregate(Max("number"))["number__max"] or 0) + 1
        return current.rubrics.create(
            number=number, text=current.rubric, note=clean(note.strip())[:200], author=author
        )


def take_back(agent: Agent, text: str, *, author: User) -> None:
    """Make an earlier text, or none for the default, the agent's rubric. What stood there is kept first."""
    with transaction.atomic():
        keep(agent, author=author)
        current = Agent.objects.select_for_update().get(pk=agent.pk)
        marks = [name for name in current.suggested if name != "rubric"]
        rubric = clean(text)[: jobs.TEXTS["rubric"]]
        Agent.objects.filter(pk=agent.pk).update(rubric=rubric, suggested=marks, edits=F("edits") + 1)
    agent.refresh_from_db()


def history(agent: Agent) -> list[Entry]:
    """The newest version first, each beside the one before it; the first is beside the default."""
    used: dict[str, list[Run]] = {}
    for run in Run.objects.filter(agent=agent).only("pk", "name", "config").order_by("-pk")[:200]:
        used.setdefault(str(run.config.get("rubric", "")), []).append(run)
    found, before = [], DEFAULT
    for version in agent.rubrics.select_related("author").order_by("number"):
        lines = compared(before, version.text)
        found.append(Entry(version, version.text == agent.rubric, lines, used.get(version.text, [])[:5]))
        before = version.text
    return found[::-1]


def compared(before: str, after: str) -> list[Line]:
    """Line by line as people read it, with what stayed."""
    rows = difflib.ndiff(unwrapped(before).splitlines(), unwrapped(after).splitlines())
    return [Line(row[0], row[2:]) for row in rows if row[0] in "+- "]
