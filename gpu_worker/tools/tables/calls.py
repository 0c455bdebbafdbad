"""Calling a table's tools: the arguments checked, the look-up made, the answer in the words agents know.

The texts are those of `gpu_worker.tools.table`, so that an agent reads every table in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from gpu_worker.tools.table import (
    MAX_ROWS_BACK,
    NO_ROWS,
    check_names,
    checked_column,
    checked_text,
    row_shown,
    rows_shown,
)
from gpu_worker.tools.tables.encoding import without_controls
from gpu_worker.tools.tables.live import Found, LiveTable
from gpu_worker.tools.tables.sheet import Row, TableError
from gpu_worker.types import Tool, ToolError, ToolPlan

Arguments = dict[str, Any]


def table_tool(plan: ToolPlan, live: LiveTable) -> Tool:
    """The tool of a plan, on one try's view of its table. Raises TableError if a column is not there."""
    does = plan.settings["does"]
    if does not in _DOES:
        raise TableError(f"A table tool cannot “{does}”.")
    for key in ("columns", "shown", "by", "unique"):
        for column in plan.settings.get(key, ()):
            if column not in live.columns:
                raise TableError(f"The tool {plan.spec.name} needs a column “{column}”, which is not there.")
    return Tool(spec=plan.spec, call=partial(_DOES[does], live, plan.settings))


def _find(live: LiveTable, settings: Mapping[str, Any], arguments: Arguments) -> str:
    column, value = _column_and_value(arguments, settings["columns"])
    return _shown(live, settings, live.find(column, value, MAX_ROWS_BACK))


def _count(live: LiveTable, settings: Mapping[str, Any], arguments: Arguments) -> str:
    column, value = _column_and_value(arguments, settings["columns"])
    return f"count: {live.count(column, value)}"


def _search(live: LiveTable, settings: Mapping[str, Any], arguments: Arguments) -> str:
    check_names(arguments, ("words",))
    words = _text(arguments["words"], "words")
    if not words.strip():
        raise ToolError("words is empty; give at least one word")
    return _shown(live, settings, live.search(words, MAX_ROWS_BACK))


def _update(live: LiveTable, settings: Mapping[str, Any], arguments: Arguments) -> str:
    check_names(arguments, ("column", "value", "change", "to"))
    column = checked_column(arguments["column"], settings["by"])
    value = _text(arguments["value"], "value")
    if arguments["change"] not in settings["columns"]:
        raise ToolError(f"change names no column to change; those are {', '.join(settings['columns'])}")
    to = _text(arguments["to"], "to").strip()
    found = live.find(column, value, 1)
    if not found.total:
        return NO_ROWS
    if found.total > 1:
        raise ToolError(f"{found.total} rows have this value; name the row by a value that only it has")
    return _row(live, settings, live.update(found.rows[0][0], arguments["change"], to))


def _insert(live: LiveTable, settings: Mapping[str, Any], arguments: Arguments) -> str:
    unique = settings.get("unique", ())
    check_names(arguments, unique, [name for name in settings["columns"] if name not in unique])
    values = {name: _text(value, name).strip() for name, value in arguments.items()}
    if not any(values.values()):
        raise ToolError("a row needs at least one value")
    for name in unique:
        if not values[name]:
            raise ToolError(f"{name} is empty")
        if live.count(name, values[name]):
            raise ToolError(f"there is already a row whose {name} is {values[name]}")
    return _row(live, settings, live.insert(values))


_DOES: dict[str, Callable[[LiveTable, Mapping[str, Any], Arguments], str]] = {
    "find": _find,
    "count": _count,
    "search": _search,
    "update": _update,
    "insert": _insert,
}


def _column_and_value(arguments: Arguments, columns: Sequence[str]) -> tuple[str, str]:
    check_names(arguments, ("column", "value"))
    return checked_column(arguments["column"], columns), _text(arguments["value"], "value")


def _text(value: Any, name: str) -> str:
    """A text that any database takes."""
    return without_controls(checked_text(value, name))[0]


def _shown(live: LiveTable, settings: Mapping[str, Any], found: Found) -> str:
    return rows_shown([_row(live, settings, row) for _, row in found.rows], found.total)


def _row(live: LiveTable, settings: Mapping[str, Any], row: Row) -> str:
    shown = settings["shown"]
    by_name = dict(zip(live.columns, row, strict=True))
    return row_shown(shown, [by_name[name] for name in shown])
