"""An agent's tools: what one may be, whether it may be called, and what it still lacks.

`check` decides what may be saved, and whoever calls a tool asks it again. What the settings of a kind may be
is in `tool_settings.py`; saving is in `tool_saving.py`, what pages show in `tool_pages.py`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from gpu_worker.tools.filling import secret_names
from gpu_worker.tools.python.lint import lint
from gpu_worker.tools.python.signature import Problem as CodeProblem
from gpu_worker.types import AUTHORED, ToolSpec
from training.authoring.toolbox import schema_check, tool_settings
from training.authoring.toolbox.schema_check import Schema, written
from training.authoring.toolbox.schema_rows import Problem
from training.models import LIVING, Agent, Secret, Tool
from training.phrasebook import said

MAX_DESCRIPTION = 2000
NAME = re.compile(r"[a-z][a-z0-9_]{0,63}\Z")
FAULTS = ("timeout", "error", "empty")
EMPTY: Schema = {"type": "object", "properties": {}}


@dataclass(frozen=True)
class Draft:
    """A tool as somebody wants it, not saved yet."""

    kind: str
    name: str
    description: str = ""
    parameters: Schema = field(default_factory=lambda: dict(EMPTY))
    settings: dict[str, Any] = field(default_factory=dict)
    faults: dict[str, float] = field(default_factory=dict)


def draft_of(tool: Tool) -> Draft:
    """The tool as it is saved."""
    return Draft(tool.kind, tool.name, tool.description, tool.parameters, tool.settings, tool.faults)


def mark_of(tool: Tool) -> str:
    """A short word that differs whenever the tool does; pages send back the one they were made from."""
    content = written([tool.name, tool.description, tool.parameters, tool.settings, tool.faults])
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def check(agent: Agent, draft: Draft, *, but: Tool | None = None) -> list[Problem]:
    """What keeps a tool from being saved, and so from being called. `but` is the tool it replaces."""
    problems = _faults_of_name(agent, draft.name, but)
    if len(draft.description) > MAX_DESCRIPTION:
        limit = {"limit": MAX_DESCRIPTION}
        text = _("The description is longer than %(limit)d characters; the agent reads it before every try.")
        problems.append(Problem("description", text % limit))
    problems += [Problem("parameters", text) for text in schema_check.check(draft.parameters)]
    problems += tool_settings.check(draft.kind, draft.settings, draft.parameters)
    return problems + _faults_of_shares(draft.faults)


def spec_of(draft: Draft) -> ToolSpec:
    return ToolSpec(draft.name, draft.description, draft.parameters)


def _faults_of_name(agent: Agent, name: str, but: Tool | None) -> list[Problem]:
    if not NAME.match(name):
        text = _(
            "A tool's name begins with a small letter; small letters, digits and _ may follow, 64 in all."
        )
        return [Problem("name", text)]
    others = agent.tools.filter(LIVING, name=name).exclude(pk=but.pk if but else None)
    if others.exists():
        text = _("This agent already has a tool called “%(name)s”. Choose another name.") % {"name": name}
        return [Problem("name", text)]
    return []


def _faults_of_shares(faults: Mapping[str, float]) -> list[Problem]:
    wrong = [name for name, share in faults.items() if name not in FAULTS or not 0 < share <= 0.5]
    problems = [Problem(f"fault-{name}", _("A share must be between 0 and 50 %.")) for name in wrong]
    if not wrong and sum(faults.values()) > 0.8:
        text = _("Together more than 80 % of the calls would fail; the agent could not learn anything.")
        problems.append(Problem(f"fault-{next(iter(faults))}", text))
    return problems


def refusals(tool: Tool) -> list[Problem]:
    """Why a tool may not be called: it is gone, or as it stands it could not be saved."""
    if tool.deleted_at is not None:
        return [Problem("name", _("This tool was removed. Bring it back to call it."))]
    if tool.agent.environment != AUTHORED:
        return [Problem("name", _("This agent's tools come with its task and cannot be called here."))]
    return check(tool.agent, draft_of(tool), but=tool)


def tested(tool: Tool) -> bool:
    """Whether a call by hand worked since the tool last changed what it does."""
    return tool.tested_at is not None and tool.tested_at >= tool.edited_at


def needs(agent: Agent) -> list[str]:
    """What keeps the agent's tools from being used, in sentences. Having no tools at all is fine."""
    if agent.environment != AUTHORED:
        return []
    found = agent.tools.filter(LIVING).select_related("table", "agent")
    return [sentence for tool in found for sentence in missing(tool)]


def advice(agent: Agent) -> list[str]:
    """What is worth a look and keeps nobody from starting."""
    if agent.environment != AUTHORED:
        return []
    found = list(agent.tools.filter(LIVING).select_related("table"))
    untested = [tool.name for tool in found if not tested(tool)]
    told = [_("Not called by hand since the last change: %(names)s.") % {"names": ", ".join(untested)}]
    problems = {tool.table.filename: len(tool.table.problems) for tool in found if tool.table}
    return (told if untested else []) + [
        ngettext(
            "“%(file)s” has %(count)d remark on how it was read.",
            "“%(file)s” has %(count)d remarks on how it was read.",
            count,
        )
        % {"file": name, "count": count}
        for name, count in problems.items()
        if count
    ]


def missing(tool: Tool) -> list[str]:
    """What one tool lacks before an agent can use it."""
    name = {"name": tool.name}
    found = [problem.text for problem in refusals(tool)]
    if not tool.description.strip():
        found.append(_("“%(name)s” has no description: say when the agent should use it.") % name)
    if tool.kind == Tool.Kind.PYTHON:
        found += _lint_sentences(tool)
    if tool.kind == Tool.Kind.TABLE and (tool.table is None or tool.table.deleted_at):
        found.append(_("“%(name)s” has lost its table: upload it again.") % name)
    if (
        tool.kind == Tool.Kind.HTTP
        and tool.settings.get("mode") == "replay"
        and not tool.settings.get("recorded")
    ):
        found.append(_("“%(name)s” replays recorded answers and none is recorded.") % name)
    if (
        tool.kind == Tool.Kind.SIMULATED
        and not tool.settings.get("model")
        and not tool.settings.get("examples")
    ):
        found.append(_("“%(name)s” has neither examples nor a model to play it.") % name)
    return found + _secrets_missing(tool)


def _secrets_missing(tool: Tool) -> list[str]:
    named = secret_names(tool.settings) if tool.kind in (Tool.Kind.HTTP, Tool.Kind.MCP) else set()
    if not named:
        return []
    kept = Secret.objects.filter(owner=tool.agent.owner_id, name__in=named).values_list("name", flat=True)
    text = _("“%(name)s” needs the secret %(secret)s: enter it on the page Secrets.")
    return [text % {"name": tool.name, "secret": secret} for secret in sorted(named - set(kept))]


def _lint_sentences(tool: Tool) -> list[str]:
    return [
        _("“%(name)s”, line %(line)d: %(problem)s")
        % {"name": tool.name, "line": problem.line, "problem": said(problem.text)}
        for problem in code_problems(tool.settings.get("code", ""))
        if problem.severity == "error"
    ]


@lru_cache(maxsize=256)
def code_problems(code: str) -> tuple[CodeProblem, ...]:
    """What is wrong with a tool's code, line by line; it takes some milliseconds the first time."""
    return tuple(lint(code))
