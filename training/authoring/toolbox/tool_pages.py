"""What the pages of tools show: the list with its marks, one tool with its form, and what is still needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from gpu_worker.environments import ENVIRONMENTS
from gpu_worker.tools.http import BODIES, METHODS, PER_MINUTE
from gpu_worker.tools.python.examples import EXAMPLES
from gpu_worker.types import ToolSpec
from training.authoring.toolbox import calls, console_form, tool_forms
from training.authoring.toolbox.schema_check import written
from training.authoring.toolbox.schema_rows import TYPES, Problem, Row, rest_of, rows_of
from training.authoring.toolbox.tool_settings import column_lists
from training.authoring.toolbox.tools import (
    FAULTS,
    Draft,
    code_problems,
    draft_of,
    mark_of,
    missing,
    refusals,
    spec_of,
    tested,
)
from training.models import LIVING, Agent, TableFile, Tool, ToolCall

Tested = Literal["yes", "no", "never"]


@dataclass(frozen=True)
class Kind:
    """A kind of tool as people read it."""

    slug: str
    title: str | Promise
    says: str | Promise


KINDS = {
    kind.slug: kind
    for kind in (
        Kind("table", gettext_lazy("Table"), gettext_lazy("Looks things up in a file you upload.")),
        Kind("http", gettext_lazy("HTTP"), gettext_lazy("Calls a web service, or replays its answers.")),
        Kind("python", gettext_lazy("Python"), gettext_lazy("Computes something with a small function.")),
        Kind("mcp", gettext_lazy("MCP"), gettext_lazy("Borrows tools from an MCP server.")),
        Kind("simulated", gettext_lazy("Simulated"), gettext_lazy("Plays a tool that does not exist yet.")),
    )
}
FAULT_TITLES: Mapping[str, str | Promise] = {
    "timeout": gettext_lazy("no answer in time"),
    "error": gettext_lazy("server error"),
    "empty": gettext_lazy("empty answer"),
}
TYPE_TITLES: Mapping[str, str | Promise] = {
    "string": gettext_lazy("text"),
    "integer": gettext_lazy("whole number"),
    "number": gettext_lazy("number"),
    "boolean": gettext_lazy("yes or no"),
    "list": gettext_lazy("list of texts"),
    "other": gettext_lazy("other (edit as JSON)"),
}
DOES_TITLES: Mapping[str, str | Promise] = {
    "find": gettext_lazy("Finds rows by the value of one column."),
    "count": gettext_lazy("Counts the rows that have a value in one column."),
    "search": gettext_lazy("Finds rows by words in any column."),
    "update": gettext_lazy("Changes one value of one row, in a copy that belongs to one try."),
    "insert": gettext_lazy("Adds a row, in a copy that belongs to one try."),
}
COLUMN_LIST_TITLES: Mapping[str, str | Promise] = {
    "columns": gettext_lazy("Used"),
    "by": gettext_lazy("Looked up"),
    "unique": gettext_lazy("Required"),
    "shown": gettext_lazy("Shown"),
}


@dataclass(frozen=True)
class Line:
    """A tool in the list."""

    tool: Tool
    kind: Kind
    tested: Tested
    used: int
    faults: Sequence[tuple[str, float]]
    missing: Sequence[str]


def lines_of(agent: Agent) -> list[Line]:
    """The agent's tools in the order in which the model reads them."""
    used = uses_of(agent)
    found = agent.tools.filter(LIVING).select_related("table", "agent")
    return [
        Line(
            tool,
            KINDS[tool.kind],
            tested_of(tool),
            used[tool.name],
            [(str(FAULT_TITLES[name]), share) for name, share in tool.faults.items()],
            missing(tool),
        )
        for tool in found
    ]


def removed_of(agent: Agent) -> list[Tool]:
    """Tools in the bin, the last one first."""
    return list(agent.tools.exclude(LIVING).order_by("-deleted_at")[:10])


def built_in(agent: Agent) -> list[dict[str, str]]:
    """The tools that come with the agent's task, for reading; none for an authored one."""
    world = ENVIRONMENTS.get(agent.environment)
    if world is None:
        return []
    specs = [tool.spec for tool in world.tools(world.scenarios("train", 1, 0)[0])]
    return [{"name": spec.name, "description": spec.description, "json": tool_json(spec)} for spec in specs]


def uses_of(agent: Agent) -> Counter[str]:
    """In how many scenarios each tool, by name, is expected to be called."""
    used: Counter[str] = Counter()
    for expect in agent.scenarios.filter(LIVING).values_list("expect", flat=True):
        used.update({call.get("name", "") for call in expect.get("calls") or ()})
    return used


def tested_of(tool: Tool) -> Tested:
    if tool.tested_at is None:
        return "never"
    return "yes" if tested(tool) else "no"


# One tool


@dataclass(frozen=True)
class NumberedRow:
    """A row of a form with the number in its inputs' names."""

    number: str
    row: Any


@dataclass(frozen=True)
class ColumnLine:
    """A column of a table, and which of the tool's lists it is in."""

    at: int
    column: Mapping[str, Any]
    boxes: Sequence[tuple[str, bool]]


def context(tool: Tool, draft: Draft | None = None, problems: Sequence[Problem] = ()) -> dict[str, Any]:
    """What the page of one tool needs; `draft` is what was typed where it is not what is saved."""
    shown = draft or draft_of(tool)
    return {
        "tool": tool,
        "agent": tool.agent,
        "kind": KINDS[tool.kind],
        "draft": shown,
        "mark": mark_of(tool),
        "problems": problems,
        "tested": tested_of(tool),
        "used": uses_of(tool.agent)[tool.name],
        "missing": missing(tool),
        "own_parameters": tool.kind in tool_forms.OWN_PARAMETERS,
        "faults": [(name, FAULT_TITLES[name], _per_cent(shown.faults.get(name))) for name in FAULTS],
        "as_json": tool_json(spec_of(shown)),
        **parameters(shown),
        **_of_kind(tool, shown),
        **console(tool),
    }


def parameters(draft: Draft, text: str | None = None) -> dict[str, Any]:
    """The parameters as rows, or as JSON where there is a text of it."""
    return {
        "rows": numbered(rows_of(draft.parameters)),
        "blank_row": NumberedRow("__n__", Row()),
        "types": [(name, TYPE_TITLES[name]) for name in TYPES],
        "parameters_rest": written(rest_of(draft.parameters)),
        "parameters_text": text,
    }


def numbered(rows: Sequence[Row]) -> list[NumberedRow]:
    return [NumberedRow(str(at), row) for at, row in enumerate(rows)]


def console(tool: Tool, typed: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The form to call the tool with, and what came of the last calls."""
    latest = list(calls.latest(tool))
    return {
        "fields": console_form.fields_of(tool.parameters, typed),
        "fault_choices": [(name, FAULT_TITLES[name]) for name in FAULTS],
        "calls": [_call_line(tool, call) for call in latest],
        "tests": tool.calls.filter(kept="test").count(),
        "can_keep_examples": tool.kind in calls.EXAMPLES_IN,
        "errand": calls.under_way(tool),
        "can_call": not refusals(tool),
    }


def _call_line(tool: Tool, call: ToolCall) -> dict[str, Any]:
    asked = {"name": tool.name, "arguments": call.arguments}
    return {"call": call, "json": written(asked, indent=2), "latency": latency(call.seconds)}


def latency(seconds: float) -> str:
    """How long a call took, no finer than it can be: "< 0.1 ms", "0.4 ms", "38 ms", "1.6 s"."""
    milliseconds = seconds * 1000
    if milliseconds < 0.1:
        return _("< %(number)s ms") % {"number": "0.1"}
    if milliseconds >= 1000:
        return _("%(number)s s") % {"number": f"{seconds:.1f}"}
    return _("%(number)s ms") % {"number": f"{milliseconds:.{0 if milliseconds >= 10 else 1}f}"}


def outcome(tool: Tool, result: Mapping[str, Any]) -> dict[str, Any]:
    """What a call or the tests brought about, beside the calls themselves."""
    changes = result.get("changes")
    return {
        "results": _test_results(tool, result),
        "changes": written(changes, indent=2) if changes else "",
        "errand": None,
    }


def _test_results(tool: Tool, result: Mapping[str, Any]) -> list[dict[str, Any]]:
    kept = tool.calls.in_bulk([one["call"] for one in result.get("tests", ())])
    return [
        one | {"asked": written(kept[one["call"]].arguments)}
        for one in result.get("tests", ())
        if one["call"] in kept
    ]


def tool_json(spec: ToolSpec) -> str:
    """The tool exactly as a chat template is given it."""
    function = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return written({"type": "function", "function": function}, indent=2)


def example_rows(examples: Sequence[Mapping[str, Any]]) -> list[NumberedRow]:
    """Examples as their form has them: arguments as JSON, the answer as text, and whether it is an error."""
    return [
        NumberedRow(
            str(at),
            {
                "arguments": written(one["arguments"]),
                "result": one.get("error", one.get("result", "")),
                "error": "error" in one,
            },
        )
        for at, one in enumerate(examples)
    ]


def _of_kind(tool: Tool, draft: Draft) -> dict[str, Any]:
    settings = draft.settings
    if tool.kind == Tool.Kind.SIMULATED:
        return {"examples": example_rows(settings.get("examples", ())), "blank_example": _blank_example()}
    if tool.kind == Tool.Kind.HTTP:
        return {
            "methods": METHODS,
            "bodies": list(BODIES),
            "most_per_minute": PER_MINUTE,
            "headers": _header_rows(settings),
            "blank_header": NumberedRow("__n__", {"name": "", "value": ""}),
            "recorded": example_rows(settings.get("recorded", ())),
            "blank_example": _blank_example(),
        }
    if tool.kind == Tool.Kind.MCP:
        return {
            "headers": _header_rows(settings),
            "blank_header": NumberedRow("__n__", {"name": "", "value": ""}),
        }
    if tool.kind == Tool.Kind.PYTHON:
        return {"code_problems": code_problems(settings.get("code", "")), "python_examples": EXAMPLES}
    return _of_table(tool.table, settings) if tool.table else {}


def _of_table(table: TableFile, settings: Mapping[str, Any]) -> dict[str, Any]:
    lists = column_lists(dict(settings))
    return {
        "table": table,
        "does": DOES_TITLES.get(settings.get("does", ""), ""),
        "column_lists": [(key, COLUMN_LIST_TITLES[key]) for key in lists],
        "columns_listed": written([column["name"] for column in table.columns]),
        "column_lines": [
            ColumnLine(at, column, [(key, column["name"] in settings.get(key, ())) for key in lists])
            for at, column in enumerate(table.columns)
        ],
    }


def _header_rows(settings: Mapping[str, Any]) -> list[NumberedRow]:
    headers = settings.get("headers") or {}
    return [
        NumberedRow(str(at), {"name": name, "value": value})
        for at, (name, value) in enumerate(headers.items())
    ]


def _blank_example() -> NumberedRow:
    return NumberedRow("__n__", {"arguments": "", "result": "", "error": False})


def _per_cent(share: float | None) -> str:
    return f"{share * 100:g}" if share else ""
