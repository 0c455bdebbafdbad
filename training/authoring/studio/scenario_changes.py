"""Many scenarios changed at once: into a split, tagged, into the bin, dealt out anew, and all of it undone.

Each change is one transaction and returns an `Undo`. One scenario by itself is `scenarios.py`.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from training.authoring.studio import audit
from training.authoring.studio.questions.splits import split as dealt
from training.authoring.studio.scenarios import (
    MOST_TAGS,
    SPLITS,
    Refused,
    Undo,
    clean_tags,
    known_split,
    touch,
)
from training.models import LIVING, Agent, Scenario


def move(agent: Agent, ids: Sequence[int], split: str) -> Undo:
    """Put scenarios into a split. Raises Refused for one that does not exist."""
    split = known_split(split)
    with transaction.atomic():
        before = _grouped(_living(agent, ids).exclude(split=split), "split")
        _living(agent, ids).update(split=split)
        touch(agent)
    return _undo_of(before, "split", _moved_told(split, before))


def tag(agent: Agent, ids: Sequence[int], name: str) -> Undo:
    """Give scenarios a tag. Raises Refused for a name that is none, or where there are too many."""
    (name,) = clean_tags([name]) or [""]
    if not name:
        raise Refused(_("Write the tag that the chosen scenarios are to get."), "tag")

    def tagged(tags: list[str]) -> list[str]:
        return tags if name in tags or len(tags) >= MOST_TAGS else [*tags, name]

    return _retag(agent, ids, tagged, _("The tag “%(tag)s” was given to %(count)s."), name)


def untag(agent: Agent, ids: Sequence[int], name: str) -> Undo:
    """Take a tag away from scenarios."""

    def untagged(tags: list[str]) -> list[str]:
        return [tag for tag in tags if tag != name.strip()]

    return _retag(agent, ids, untagged, _("The tag “%(tag)s” was taken from %(count)s."), name.strip())


def delete(agent: Agent, ids: Sequence[int]) -> Undo:
    """Put scenarios in the bin. Runs that were started keep theirs."""
    with transaction.atomic():
        gone = list(_living(agent, ids).values_list("pk", flat=True))
        Scenario.objects.filter(pk__in=gone).update(deleted_at=timezone.now())
        touch(agent)
    told = _("%(count)s deleted.") % {"count": _so_many(len(gone))}
    return Undo(told, [({"deleted_at": None}, gone)] if gone else [])


def delete_duplicates(agent: Agent) -> Undo:
    """Of scenarios that ask nearly the same, keep the first."""
    return delete(agent, list(audit.of(agent).twins))


def split_anew(agent: Agent, *, seed: int = 0) -> Undo:
    """Deal all scenarios into splits so that none share a row or ask nearly the same."""
    wanted = {q.scenario.id: q.scenario.split for q in dealt(audit.questions_of(agent), seed)}
    with transaction.atomic():
        before: dict[str, list[int]] = defaultdict(list)
        after: dict[str, list[int]] = defaultdict(list)
        for pk, key, now in agent.scenarios.filter(LIVING).values_list("pk", "key", "split"):
            if wanted.get(key, now) != now:
                before[now].append(pk)
                after[wanted[key]].append(pk)
        for name, ids in after.items():
            Scenario.objects.filter(pk__in=ids).update(split=name)
        touch(agent)
    moved = sum(map(len, after.values()))
    return Undo(
        _("Split again: %(count)s moved to another split.") % {"count": _so_many(moved)},
        [({"split": name}, ids) for name, ids in before.items()],
    )


def take_back(agent: Agent, before: Iterable[tuple[Mapping[str, Any], Sequence[int]]]) -> int:
    """Undo a change: give rows of this agent the columns they had. Returns how many there were."""
    count = 0
    with transaction.atomic():
        for columns, ids in before:
            count += Scenario.objects.filter(agent=agent, pk__in=ids).update(**columns)
        touch(agent)
    return count


def _living(agent: Agent, ids: Sequence[int]) -> QuerySet[Scenario]:
    return Scenario.objects.filter(LIVING, agent=agent, pk__in=ids)


def _grouped(rows: QuerySet[Scenario], column: str) -> list[tuple[Any, list[int]]]:
    """The values of a column, each with the ids of the rows that hold it."""
    found: dict[str, tuple[Any, list[int]]] = {}
    for pk, value in rows.values_list("pk", column):
        found.setdefault(repr(value), (value, []))[1].append(pk)
    return list(found.values())


def _undo_of(before: Sequence[tuple[Any, list[int]]], column: str, told: str) -> Undo:
    return Undo(told, [({column: value}, ids) for value, ids in before])


def _retag(
    agent: Agent, ids: Sequence[int], change: Callable[[list[str]], list[str]], told: str, name: str
) -> Undo:
    with transaction.atomic():
        before = [
            (tags, rows) for tags, rows in _grouped(_living(agent, ids), "tags") if change(tags) != tags
        ]
        for tags, rows in before:
            Scenario.objects.filter(pk__in=rows).update(tags=change(tags))
        touch(agent)
    count = sum(len(rows) for _tags, rows in before)
    return _undo_of(before, "tags", told % {"tag": name, "count": _so_many(count)})


def _moved_told(split: str, before: Sequence[tuple[Any, list[int]]]) -> str:
    count = sum(len(ids) for _split, ids in before)
    return _("%(count)s moved to “%(split)s”.") % {"count": _so_many(count), "split": SPLITS[split]}


def _so_many(count: int) -> str:
    return ngettext("%(count)s scenario", "%(count)s scenarios", count) % {"count": count}
