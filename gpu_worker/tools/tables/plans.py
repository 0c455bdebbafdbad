"""The tools a table gets without anybody writing them, and what the model reads of each."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any, Literal

from gpu_worker.tools.tables.sheet import Column
from gpu_worker.types import ToolPlan, ToolSpec

Does = Literal["find", "count", "search", "update", "insert"]
READS: tuple[Does, ...] = ("find", "count", "search")
WRITES: tuple[Does, ...] = ("update", "insert")

MOST_LOOKED_UP = 6
"""Columns a look-up offers by default."""
MOST_SHOWN = 8
"""Columns of a row that are shown by default."""
LONGEST_NAME = 56
"""Characters of a table's name within a tool's name, of which there may be 64."""
SHORT = 60
"""Characters of a cell that is easily named and shown."""

_KEY = re.compile(
    r"(?:^|[\W_])(?:id|no|nr|num|number|code|key|ref|sku|e-?mail|uuid)$|(?-i:[a-z]I[dD]$)|编号|编码|代码|单号|"
    r"工号|学号|番号|コード|번호|코드",
    re.IGNORECASE,
)
_LETTERS = str.maketrans(
    {"ß": "ss", "ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ı": "i", "þ": "th", "ð": "d"}
)


def standard_plans(
    sheet_name: str,
    columns: Sequence[Column],
    *,
    sha256: str,
    writes: bool = False,
    called: str = "",
) -> list[ToolPlan]:
    """The tools of a table: find, count and search; with `writes` also update and insert.

    `called` is the table's name within the tools' names, where it must not be the usual one. The path of
    the stored table is not among the settings: whoever builds the tools knows where tables lie.
    """
    name = called or tool_name(sheet_name)
    plans = []
    for does in READS + (WRITES if writes else ()):
        settings = {"does": does, "table": sha256, **default_columns(does, columns)}
        spec = ToolSpec(f"{does}_{name}", described(does, sheet_name), parameters_of(settings))
        plans.append(ToolPlan(spec=spec, kind="table", settings=settings))
    return plans


def tool_name(name: str) -> str:
    """A table's name as tools call it: small Latin letters, digits and underscores, a letter first."""
    plain = unicodedata.normalize("NFKD", name.casefold().translate(_LETTERS))
    found = re.sub(r"[^a-z0-9]+", "_", plain.encode("ascii", "ignore").decode()).strip("_")
    if not re.search("[a-z]", found):
        return f"table_{found}" if found else "table"
    return (found if found[0].isalpha() else f"table_{found}")[:LONGEST_NAME].strip("_")


def described(does: Does, table: str) -> str:
    """What the model is told a tool does."""
    return {
        "find": f"Look up {table} by the value of one column.",
        "count": f"Count the rows of {table} that have a value in one column.",
        "search": f"Search {table} for words in any column.",
        "update": f"Change one value of the one row of {table} that has a value in one column.",
        "insert": f"Add a row to {table}.",
    }[does]


def default_columns(does: Does, columns: Sequence[Column]) -> dict[str, list[str]]:
    """The settings that say which columns a tool looks in, shows, changes or asks for."""
    shown = shown_columns(columns)
    if does == "search":
        return {"columns": [], "shown": shown}
    if does == "insert":
        return {"columns": shown, "unique": _keys(columns, shown), "shown": shown}
    if does == "update":
        keys = _keys(columns, shown) or look_up_columns(columns)
        return {"by": keys, "columns": [name for name in shown if name not in keys] or shown, "shown": shown}
    return {"columns": look_up_columns(columns), "shown": shown}


def look_up_columns(columns: Sequence[Column]) -> list[str]:
    """The columns people ask by, in the file's order: keys first, then short and mostly filled ones."""
    return _best(columns, MOST_LOOKED_UP, _asked_by)


def shown_columns(columns: Sequence[Column]) -> list[str]:
    """The columns a row is shown with, in the file's order: those asked by, then short and filled ones."""
    asked = look_up_columns(columns)
    rows = _rows(columns)
    return _best(columns, MOST_SHOWN, lambda each, _: (each.name not in asked, *_awkward(each, rows)))


def parameters_of(settings: dict[str, Any]) -> dict[str, Any]:
    """The JSON schema of a table tool's arguments."""
    names: list[str] = settings["columns"]
    does: Does = settings["does"]
    text = {"type": "string"}
    if does == "search":
        return _schema({"words": {**text, "description": "Words that must all stand in the row."}})
    if does == "insert":
        return _schema({name: text for name in names}, required=settings["unique"])
    look_in = settings["by"] if does == "update" else names
    asked = {
        "column": {**text, "enum": look_in, "description": "The column to look in."},
        "value": {**text, "description": "The whole value to find."},
    }
    if does == "update":
        asked["change"] = {**text, "enum": names, "description": "The column to change."}
        asked["to"] = {**text, "description": "The new value."}
    return _schema(asked)


def _schema(properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
        "additionalProperties": False,
    }


def _keys(columns: Sequence[Column], among: Sequence[str]) -> list[str]:
    rows = _rows(columns)
    return [each.name for each in columns if each.name in among and _is_key(each, rows)]


def _rows(columns: Sequence[Column]) -> int:
    """Rows of the table, or fewer where every column repeats a value."""
    return max((each.distinct + each.empty for each in columns), default=0)


def _is_key(column: Column, rows: int) -> bool:
    whole = column.distinct == rows and not column.empty
    return whole and column.type in ("text", "whole number") and column.longest <= SHORT


def _asked_by(column: Column, rows: int) -> tuple[float, ...]:
    key = _is_key(column, rows)
    named = bool(_KEY.search(column.name))
    groups = column.distinct * 2 <= rows and column.type in ("text", "yes/no", "whole number")
    return (not (key and named), not (key or named), *_awkward(column, rows), not groups)


def _awkward(column: Column, rows: int) -> tuple[float, ...]:
    return (column.empty * 2 > rows, column.distinct < 1, column.longest > SHORT)


def _best(columns: Sequence[Column], most: int, rank: Any) -> list[str]:
    rows = _rows(columns)
    ranked = sorted(range(len(columns)), key=lambda at: (*rank(columns[at], rows), at))
    return [columns[at].name for at in sorted(ranked[:most])]
