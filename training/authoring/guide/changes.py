"""The versions of an agent: what each changed since the one before, and which runs trained it.

Versions are made by `training.runs.versions` when a run starts; here they are only compared.
"""

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from training.authoring.guide.fields import FIELDS
from training.models import Agent, AgentVersion, Run

TITLES: dict[str, str | Promise] = {
    **{name: field.label for name, field in FIELDS.items()},
    "system_prompt": _("System prompt"),
    "environment": _("Task"),
}
MOST_LINES = 12
"""Lines of one change that are shown."""


@dataclass(frozen=True)
class Line:
    """One line that is gone or new."""

    new: bool
    text: str


@dataclass(frozen=True)
class Change:
    what: str | Promise
    lines: Sequence[Line]
    more: int = 0
    """Lines that are not shown."""


@dataclass(frozen=True)
class Entry:
    """A version with what is new in it; the first has nothing to be compared with."""

    version: AgentVersion
    changes: Sequence[Change]
    runs: Sequence[Run]
    first: bool


def history(agent: Agent) -> list[Entry]:
    """The newest version first."""
    runs: dict[int, list[Run]] = {}
    for run in Run.objects.filter(agent=agent).exclude(version=None).order_by("-pk"):
        runs.setdefault(run.version_id or 0, []).append(run)
    found: list[Entry] = []
    before: AgentVersion | None = None
    for version in agent.versions.order_by("number"):
        changes = compared(before, version) if before else []
        found.append(Entry(version, changes, runs.get(version.pk, []), before is None))
        before = version
    return found[::-1]


def compared(before: AgentVersion, after: AgentVersion) -> list[Change]:
    """What differs between two versions: fields and knobs, then tools."""
    return _fields(_flat(before.content), _flat(after.content)) + _tools(before.tools, after.tools)


def _flat(content: Mapping[str, Any]) -> dict[str, Any]:
    """Fields and knobs side by side."""
    return {name: value for name, value in content.items() if name != "config"} | dict(content["config"])


def _fields(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    names = dict.fromkeys([*before, *after])
    return [
        _change(TITLES.get(name, name), _text(before.get(name)), _text(after.get(name)))
        for name in names
        if before.get(name) != after.get(name)
    ]


def _tools(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> list[Change]:
    old, new = ({str(tool["name"]): tool for tool in tools} for tools in (before, after))
    found = [
        _change(name, _text(old.get(name)), _text(new.get(name)))
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name)
    ]
    shared = [name for name in new if name in old]
    if shared != [name for name in old if name in new]:
        found.append(_change(_("Order of the tools"), ", ".join(old), ", ".join(new)))
    return found


def _text(value: Any) -> str:
    if value is None or value == "":
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)


def _change(what: str | Promise, before: str, after: str) -> Change:
    rows = difflib.ndiff(before.splitlines(), after.splitlines())
    lines = [Line(row[0] == "+", row[2:]) for row in rows if row[0] in "+-"]
    return Change(what, lines[:MOST_LINES], max(0, len(lines) - MOST_LINES))
