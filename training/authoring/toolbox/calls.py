"""Calls by hand, as the site sees them: asked for, waited for, shown, kept as examples and tests.

The call itself is made at the desk (`console.py`). Here it is only asked for, and only of a tool that could
be saved as it is: whoever may not save a tool may not have it called either.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from training.authoring.office import errands
from training.authoring.toolbox import tool_saving
from training.authoring.toolbox.schema_check import written
from training.authoring.toolbox.schema_rows import Problem
from training.authoring.toolbox.tool_saving import Refused
from training.authoring.toolbox.tools import FAULTS, draft_of, refusals, tested
from training.models import Errand, Tool, ToolCall
from training.runs.rows import plain

WAIT = 1.5
"""Seconds a page waits for a call before it shows that it is under way."""
LOOKED_AGAIN_AFTER = 0.04
SHOWN = 10
KINDS = ("example", "test")
EXAMPLES_IN = {Tool.Kind.SIMULATED: "examples", Tool.Kind.HTTP: "recorded"}
"""The setting that holds a tool's examples, for the kinds that have them."""


def start(tool: Tool, arguments: dict[str, Any], *, fault: str = "", live: bool = False) -> Errand:
    """Ask the desk for a call. `live` asks the server even if recorded answers are on. Raises Refused."""
    if problems := refusals(tool):
        raise Refused(problems)
    if fault and fault not in FAULTS:
        raise Refused([Problem("fault", _("Choose one of the faults."))])
    asked = {"tool": tool.pk, "arguments": plain(arguments), "fault": fault, "live": live}
    return errands.start(owner=tool.agent.owner, kind="call_tool", agent=tool.agent, **asked)


def start_tests(tool: Tool) -> Errand:
    """Ask the desk to make every call again that was kept as a test. Raises Refused."""
    if problems := refusals(tool):
        raise Refused(problems)
    return errands.start(owner=tool.agent.owner, kind="test_tool", agent=tool.agent, tool=tool.pk)


def settled(errand: Errand) -> Errand:
    """The errand as soon as it is over, or as it stands after a moment's waiting."""
    until = time.monotonic() + WAIT
    while errand.state not in Errand.OVER and time.monotonic() < until:
        time.sleep(LOOKED_AGAIN_AFTER)
        errand.refresh_from_db()
    return errand


def latest(tool: Tool) -> QuerySet[ToolCall]:
    """The last calls, the newest first."""
    return tool.calls.all()[:SHOWN]


def under_way(tool: Tool) -> Errand | None:
    """The newest call or test of the tool if it has not ended, or ended without a result."""
    found = Errand.objects.filter(
        agent=tool.agent, kind__in=("call_tool", "test_tool"), arguments__tool=tool.pk
    ).first()
    return found if found and found.state != Errand.State.DONE else None


@transaction.atomic
def keep(call: ToolCall, kind: str) -> None:
    """Make a call an example or a test of its tool. Raises Refused."""
    if kind not in KINDS or (kind == "example" and call.tool.kind not in EXAMPLES_IN):
        raise Refused([Problem("kept", _("A call of this tool can be kept as a test only."))])
    if call.fault:
        raise Refused([Problem("kept", _("A fault that was made on purpose says nothing about the tool."))])
    if kind == "example":
        _add_example(call.tool, call)
    ToolCall.objects.filter(pk=call.pk).update(kept=kind)


def let_go(call: ToolCall) -> None:
    """A test is one no longer. Examples are edited with the tool."""
    ToolCall.objects.filter(pk=call.pk, kept="test").update(kept="")


def _add_example(tool: Tool, call: ToolCall) -> None:
    """The call's answer is the tool's to these arguments from now on; it has just been seen to be."""
    key = EXAMPLES_IN[Tool.Kind(tool.kind)]
    before = draft_of(tool)
    asked = written(call.arguments)
    others = [one for one in before.settings.get(key, []) if written(one["arguments"]) != asked]
    outcome = {"result": call.result} if call.ok else {"error": call.result.removeprefix("Error: ")}
    settings = {**before.settings, key: [*others, {"arguments": call.arguments, **outcome}]}
    was_tested = tested(tool)
    tool_saving.save(tool, replace(before, settings=settings))
    if was_tested:
        Tool.objects.filter(pk=tool.pk).update(tested_at=timezone.now())
