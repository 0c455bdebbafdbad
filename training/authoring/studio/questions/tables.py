"""The tables questions are asked about, as the agent's own tools show them.

Rows are found here by an index of this module and everything an answer rests on is then asked of the tools
again: where the two differ there is no question.
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gpu_worker.tools.tables import kinds
from gpu_worker.tools.tables.calls import table_tool
from gpu_worker.tools.tables.plans import READS
from gpu_worker.tools.tables.sheet import Row
from gpu_worker.tools.tables.storage import StoredTable
from gpu_worker.tools.tables.words import folded
from gpu_worker.types import Tool, ToolError, ToolPlan
from training.authoring.studio.questions.nouns import nouns_for
from training.authoring.studio.questions.values import LONGEST, flat, usable

GLANCE = 2000
"""Rows of a large table that are looked at to learn what a column is like."""
_NAMING = "id nr no num number code zip postcode plz phone tel year jahr 编号 号 电话 邮编"
NAMING = frozenset(_NAMING.split())
"""Last words of columns whose numbers are names."""
Ask = Callable[[str, Mapping[str, Any]], str]
"""Calls a tool by its name. Raises ToolError."""


@dataclass(frozen=True)
class QuestionTable:
    """A stored table by its name; tool plans refer to it by its sha256.

    `title` is what people call it, such as the name of their file; its rows are called after that.
    """

    name: str
    stored: StoredTable
    title: str = ""

    @property
    def sha256(self) -> str:
        return self.stored.path.stem

    @cached_property
    def rows(self) -> list[Row]:
        return list(self.stored.rows())


@dataclass(frozen=True)
class Desk:
    """The tools that look into one table. A count tool that the agent lacks has an empty name."""

    find: str
    find_columns: tuple[str, ...]
    shown: tuple[str, ...]
    count: str
    count_columns: tuple[str, ...]


@dataclass
class View:
    """A table through the agent's tools."""

    table: QuestionTable
    desk: Desk
    ask: Ask
    language: str = "en"

    @cached_property
    def _by_value(self) -> dict[str, dict[str, list[int]]]:
        return {}

    @cached_property
    def nouns(self) -> tuple[str, str]:
        return nouns_for(self.table.title or self.table.name, self.language)

    @cached_property
    def at(self) -> dict[str, int]:
        """Where each column stands."""
        return {column.name: at for at, column in enumerate(self.table.stored.columns)}

    @cached_property
    def names(self) -> str:
        """Everything an agent may say of the table without saying anything of its rows."""
        return " ; ".join((self.table.name, *self.nouns, self.desk.find, self.desk.count, *self.at))

    @cached_property
    def looked_up(self) -> tuple[str, ...]:
        return tuple(name for name in self.desk.find_columns if name in self.at)

    @cached_property
    def shown(self) -> tuple[str, ...]:
        return tuple(name for name in self.desk.shown if name in self.at)

    @cached_property
    def key(self) -> str | None:
        """The column that names rows: looked up, shown, short, and different in most of them."""
        named = [name for name in self.looked_up if name in self.shown and self.unlike(name) > 0.5]
        return max(named, key=self._likeness_to_a_key, default=None)

    def _likeness_to_a_key(self, name: str) -> tuple[float, float, int]:
        lengths = [len(self.cell(row, name)) for row in self.some_rows[:200]]
        too_long = max(0.0, sum(lengths) / max(1, len(lengths)) - 12)
        return round(self.unlike(name), 2), -too_long, -self.at[name]

    def unlike(self, column: str) -> float:
        """The share of rows whose value in this column no other row has."""
        return len(self.shared(column, 1, 1)) / max(1, len(self.table.rows))

    def cell(self, row: int, column: str) -> str:
        return flat(self.table.rows[row][self.at[column]])

    def index(self, column: str) -> dict[str, list[int]]:
        """Rows by what they hold in a column, as tools compare it. Empty cells are left out."""
        if column not in self._by_value:
            found: dict[str, list[int]] = {}
            at = self.at[column]
            for number, row in enumerate(self.table.rows):
                value = folded(row[at])
                if value:
                    found.setdefault(value, []).append(number)
            self._by_value[column] = found
        return self._by_value[column]

    def rows_with(self, column: str, value: str) -> list[int]:
        return self.index(column).get(folded(value), [])

    def shared(self, column: str, least: int, most: int) -> list[str]:
        """The values, as `index` has them, that from `least` to `most` rows hold."""
        if (column, least, most) not in self._shared:
            found = [value for value, rows in self.index(column).items() if least <= len(rows) <= most]
            self._shared[column, least, most] = found
        return self._shared[column, least, most]

    @cached_property
    def _shared(self) -> dict[tuple[str, int, int], list[str]]:
        return {}

    @cached_property
    def some_rows(self) -> list[int]:
        """All rows, or a sample of a large table's."""
        count = len(self.table.rows)
        if count <= GLANCE:
            return list(range(count))
        return sorted(random.Random(self.table.sha256).sample(range(count), GLANCE))

    @cached_property
    def _values(self) -> dict[str, Counter[str]]:
        return {}

    def values(self, column: str) -> Counter[str]:
        """Different usable values of the rows that are looked at, with how often they come."""
        if column not in self._values:
            cells = (self.cell(row, column) for row in self.some_rows)
            self._values[column] = Counter(cell for cell in cells if usable(cell))
        return self._values[column]

    @cached_property
    def measures(self) -> dict[str, str]:
        """The shown columns whose values have an order, each with "number" or "date"."""
        found = {}
        for column in self.table.stored.columns:
            measured = {"whole number": "number", "number": "number", "date": "date"}.get(column.type)
            if measured and column.name in self.shown and not self._is_name(column.name):
                found[column.name] = measured
        return found

    def _is_name(self, column: str) -> bool:
        """Numbers that name rows or refer to some are not more or less than each other."""
        values = list(self.values(column))
        long = bool(values) and all(value.isdigit() and len(value) > 5 for value in values)
        words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|[^\W\d_a-zA-Z]+", column) or [""]
        return column == self.key or long or words[-1].casefold() in NAMING

    @cached_property
    def order(self) -> dict[str, dict[int, Any]]:
        """For each measured column, what the rows that are looked at hold, to be compared."""
        found: dict[str, dict[int, Any]] = {}
        for column, measured in self.measures.items():
            cells = [self.cell(row, column) for row in self.some_rows]
            read = kinds.dates(cells) if measured == "date" else kinds.numbers(cells)
            pairs = zip(self.some_rows, read, strict=True)
            found[column] = {row: value for row, value in pairs if value is not None}
        return found

    def lines(self, column: str, value: str) -> list[str]:
        """What the find tool shows for a value, a line a row. Empty if it refuses, or there are more."""
        try:
            shown = self.ask(self.desk.find, {"column": column, "value": value}).split("\n")
        except ToolError:
            return []
        return shown if len(shown) == len(self.rows_with(column, value)) else []

    def line(self, row: int, column: str, value: str) -> str | None:
        """How the find tool shows `row` when it is looked up by this value; None if that is not certain."""
        rows, lines = self.rows_with(column, value), self.lines(column, value)
        if row not in rows or not lines:
            return None
        line = lines[rows.index(row)]
        cells = ((name, self.cell(row, name)) for name in self.shown)
        told = all(f"; {name}: {cell}; " in f"; {line}; " for name, cell in cells if len(cell) <= LONGEST)
        return line if told else None


def views_of(tables: Sequence[QuestionTable], plans: Sequence[ToolPlan], language: str) -> list[View]:
    """Each table through the tools that look into it. Tables the agent cannot look up are left out."""
    tools: dict[str, Tool] = {}
    found = []

    def ask(name: str, arguments: Mapping[str, Any]) -> str:
        return tools[name].call(dict(arguments))

    for table in tables:
        mine = {
            plan.settings["does"]: plan
            for plan in reversed(plans)
            if plan.kind == "table" and plan.settings.get("table") == table.sha256
        }
        tools |= _tools(table, mine.values())
        if "find" in mine and table.rows:
            found.append(View(table, _desk(mine), ask, language))
    return found


def _desk(plans: Mapping[str, ToolPlan]) -> Desk:
    find, count = plans["find"], plans.get("count")
    return Desk(
        find=find.spec.name,
        find_columns=tuple(find.settings["columns"]),
        shown=tuple(find.settings["shown"]),
        count=count.spec.name if count else "",
        count_columns=tuple(count.settings["columns"]) if count else (),
    )


def _tools(table: QuestionTable, plans: Iterable[ToolPlan]) -> dict[str, Tool]:
    """The agent's tools that read the table, on a fresh copy of it."""
    live = table.stored.for_one_try()
    return {plan.spec.name: table_tool(plan, live) for plan in plans if plan.settings["does"] in READS}
