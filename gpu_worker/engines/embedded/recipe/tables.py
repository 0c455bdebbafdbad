"""Invented worlds: two small tables that belong together, and tools to look things up in them.

Nothing stays the same from world to world: nouns, column names and their order, formats of ids and
values, tool names, argument names. `dialogues` asks about them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass

from gpu_worker.engines.embedded.recipe import words
from gpu_worker.tools.table import NO_ROWS, Table, look_up_tool
from gpu_worker.types import ToolSpec

Rng = random.Random

STATE_COLUMNS = ("status", "state", "stage", "progress", "situation")
AMOUNT_COLUMNS = ("total", "price", "cost", "amount", "fee", "sum", "paid", "value")
DAY_COLUMNS = ("date", "day", "due", "placed", "start", "made")
KIND_COLUMNS = ("color", "kind", "type", "size", "item", "topic", "material", "class", "group")
PLACE_COLUMNS = ("city", "town", "place", "branch", "site", "home", "region")
ALIAS_COLUMNS = ("email", "email", "mail", "phone", "login", "code", "card", "account", "nick")
NAME_COLUMNS = ("name", "name", "name", "full_name")
TOOL_NAMES = ("find_{}", "find_{}", "get_{}", "search_{}", "lookup_{}", "{}", "{}_by", "read_{}", "query_{}")
ARGUMENT_NAMES = (
    (("column", "value"),) * 5
    + (("field", "value"), ("key", "value"), ("by", "text"), ("column", "is"), ("where", "equals"))
)  # fmt: skip
OTHER_TOOLS = (
    ("send_message", ("text",)),
    ("add", ("a", "b")),
    ("close", ("number",)),
    ("note", ("text",)),
    ("call_manager", ()),
    ("get_time", ()),
)


@dataclass(frozen=True)
class Column:
    """A column, what it means (for the way it is asked about), and its values in all rows."""

    name: str
    meaning: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Sheet:
    """One table of a world: its noun, and its columns in the order they are shown."""

    noun: str
    columns: tuple[Column, ...]

    def column(self, meaning: str) -> Column:
        return next(column for column in self.columns if column.meaning == meaning)

    def has(self, meaning: str) -> bool:
        return any(column.meaning == meaning for column in self.columns)

    def fields(self) -> list[Column]:
        """The columns one can ask about: all but the ids."""
        return [column for column in self.columns if column.meaning not in ("id", "ref")]

    def table(self) -> Table:
        rows = tuple(zip(*(column.values for column in self.columns), strict=True))
        return Table(words.plural(self.noun), tuple(column.name for column in self.columns), rows)


@dataclass(frozen=True)
class World:
    """Things (newest first) that belong to people, and the tools that find both."""

    things: Sheet
    people: Sheet
    tools: tuple[ToolSpec, ...]
    call: Callable[[Sheet, str, str], tuple[str, dict[str, str]]]
    """(sheet, column, value) → tool name and arguments that look this up."""
    answer: Callable[[Sheet, str, str], str]
    """(sheet, column, value) → the text the tool gives back."""


def invent_world(rng: Rng) -> World:
    """A world of two to four people with one to five things each."""
    owners = [at for at in range(rng.randint(2, 4)) for _ in range(rng.randint(1, 5))]
    rng.shuffle(owners)
    people = _people(rng, max(owners) + 1)
    things = _things(rng, people, owners)
    sheets = [things, people]
    shape = _shape_of_rows(rng)
    if rng.random() < 0.7:
        tools, call = _column_tools(rng, sheets)
    else:
        tools, call = _key_tools(rng, sheets)
    return World(things, people, tools, call, lambda s, c, v: _looked_up(s, c, v, shape))


def _id_format(rng: Rng) -> Callable[[], str]:
    count = rng.choice((2, 3, 4, 4, 4, 4, 5, 6))
    prefix = rng.choice(("", "", "", "", "", "", "A", "K", "T-", "No"))
    return lambda: prefix + words.digits(rng, count)


def _different(make: Callable[[], str], count: int) -> tuple[str, ...]:
    values: dict[str, None] = {}
    while len(values) < count:
        values[make()] = None
    return tuple(values)


def mail_address(rng: Rng, given: str = "") -> str:
    """An e-mail address that is short."""
    user = (given or words.name(rng, words.GIVEN_NAMES)).lower()
    user += rng.choice(("", ".", "_", "")) if rng.random() < 0.2 else ""
    user += words.digits(rng, 2) if rng.random() < 0.85 else words.invented(rng, 1)
    return f"{user}@{words.word(rng, words.MAIL_HOSTS)}.{rng.choice(words.MAIL_ENDS)}"


def _alias_format(rng: Rng, column: str) -> Callable[[], str]:
    if "mail" in column:
        return lambda: mail_address(rng)
    if column == "phone":
        return lambda: f"{words.digits(rng, 2)}-{words.digits(rng, 2)}-{words.digits(rng, 2)}"
    if column in ("login", "nick"):
        return lambda: words.invented(rng, 2) + words.digits(rng, 2)
    return lambda: words.invented(rng, 1).upper() + words.digits(rng, 2)


def _id_column(rng: Rng, noun: str) -> str:
    return rng.choice(
        (f"{noun}_id", f"{noun}_id", f"{noun}_id", f"{noun}_no", f"{noun}_number", noun, f"{noun}_ref", "id")
    )


def _people(rng: Rng, count: int) -> Sheet:
    noun = words.word(rng, words.PEOPLE)
    alias = rng.choice(ALIAS_COLUMNS)
    columns = [
        Column(_id_column(rng, noun), "id", _different(_id_format(rng), count)),
        Column(alias, "alias", _different(_alias_format(rng, alias), count)),
        Column(rng.choice(NAME_COLUMNS), "name", _different(lambda: _full_name(rng), count)),
    ]
    if rng.random() < 0.7:
        columns.append(_field(rng, "place", count))
    if rng.random() < 0.3:
        columns.append(_field(rng, "kind", count))
    return Sheet(noun, _in_some_order(rng, columns))


def _full_name(rng: Rng) -> str:
    return f"{words.name(rng, words.GIVEN_NAMES)} {words.name(rng, words.FAMILY_NAMES)}"


def _things(rng: Rng, people: Sheet, owners: list[int]) -> Sheet:
    noun = words.word(rng, words.THINGS)
    count = len(owners)
    key = people.column("id")
    ref = key.name if key.name != "id" and rng.random() < 0.85 else f"{people.noun}_id"
    columns = [
        Column(_id_column(rng, noun), "id", _different(_id_format(rng), count)),
        Column(ref, "ref", tuple(key.values[owner] for owner in owners)),
    ]
    meanings = [m for m in ("state", "amount", "day", "kind", "place") if rng.random() < 0.6]
    columns += [_field(rng, meaning, count) for meaning in meanings or ["state", "amount"]]
    return Sheet(noun, _in_some_order(rng, columns))


def _field(rng: Rng, meaning: str, count: int) -> Column:
    names = {
        "state": STATE_COLUMNS,
        "amount": AMOUNT_COLUMNS,
        "day": DAY_COLUMNS,
        "kind": KIND_COLUMNS,
        "place": PLACE_COLUMNS,
    }
    column = words.word(rng, names[meaning], 0.08)
    return Column(column, meaning, _values(rng, meaning, count))


def _values(rng: Rng, meaning: str, count: int) -> tuple[str, ...]:
    if meaning == "day":
        days = sorted((rng.randrange(1, 360) for _ in range(count)), reverse=True)
        year = rng.choice((2024, 2025, 2026))
        return tuple(f"{year}-{1 + day // 30:02d}-{1 + day % 30:02d}" for day in days)
    return tuple(made_up_value(rng, meaning) for _ in range(count))


def made_up_value(rng: Rng, meaning: str) -> str:
    """A value that a column of this meaning could hold."""
    if meaning == "state":
        return words.word(rng, words.STATES)
    if meaning == "amount":
        return rng.choice((f"{rng.randrange(1, 200)}.{rng.randrange(100):02d}", str(rng.randrange(2, 400))))
    if meaning == "day":
        return f"2026-{rng.randrange(1, 13):02d}-{rng.randrange(1, 29):02d}"
    if meaning == "place":
        return words.name(rng, words.TOWNS)
    if meaning == "name":
        return _full_name(rng)
    if meaning == "alias":
        return mail_address(rng)
    return words.digits(rng, 4) if meaning in ("id", "ref") else words.word(rng, words.KINDS)


def _in_some_order(rng: Rng, columns: list[Column]) -> tuple[Column, ...]:
    """Ids mostly come first, the rest in any order; no name stands twice."""
    unique = list({column.name: column for column in reversed(columns)}.values())
    ids = [column for column in unique if column.meaning == "id"]
    rest = [column for column in unique if column.meaning != "id"]
    rng.shuffle(rest)
    if rng.random() < 0.7:
        rest.sort(key=lambda column: column.meaning != "ref")
    return tuple(ids + rest if rng.random() < 0.85 else rest + ids)


def _shape_of_rows(rng: Rng) -> str:
    return rng.choice(("lines",) * 7 + ("json", "equals"))


def _looked_up(sheet: Sheet, column: str, value: str, shape: str) -> str:
    """What a tool says; mostly in the words of `gpu_worker.tools.table`."""
    table = sheet.table()
    if shape == "lines":
        return look_up_tool(table).call({"column": column, "value": value})
    rows = table.find(column, value)[:5]
    if not rows:
        return NO_ROWS if shape == "equals" else "[]"
    if shape == "json":
        return "\n".join(
            json.dumps(dict(zip(table.columns, row, strict=True)), separators=(",", ":")) for row in rows
        )
    return "\n".join(", ".join(f"{c}={v}" for c, v in zip(table.columns, row, strict=True)) for row in rows)


def _schema(parameters: dict[str, list[str] | None]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": {
            name: {"type": "string", "enum": choices} if choices else {"type": "string"}
            for name, choices in parameters.items()
        },
        "required": list(parameters),
    }


def _other_tools(rng: Rng) -> list[ToolSpec]:
    count = rng.choice((0, 0, 0, 1, 2))
    return [
        ToolSpec(name, "", _schema(dict.fromkeys(arguments)))
        for name, arguments in rng.sample(OTHER_TOOLS, count)
    ]


Caller = Callable[[Sheet, str, str], tuple[str, dict[str, str]]]


def _column_tools(rng: Rng, sheets: list[Sheet]) -> tuple[tuple[ToolSpec, ...], Caller]:
    """One tool a table, which is told the column and the value."""
    style, (column_argument, value_argument) = rng.choice(TOOL_NAMES), rng.choice(ARGUMENT_NAMES)
    tools = {}
    for sheet in sheets:
        noun = words.plural(sheet.noun) if rng.random() < 0.8 else sheet.noun
        choices = [column.name for column in sheet.columns]
        parameters: dict[str, list[str] | None] = {column_argument: choices, value_argument: None}
        tools[sheet.noun] = ToolSpec(style.format(noun), "", _schema(parameters))

    def call(sheet: Sheet, column: str, value: str) -> tuple[str, dict[str, str]]:
        return tools[sheet.noun].name, {column_argument: column, value_argument: value}

    return tuple(_shuffled(rng, [*tools.values(), *_other_tools(rng)])), call


def _key_tools(rng: Rng, sheets: list[Sheet]) -> tuple[tuple[ToolSpec, ...], Caller]:
    """One tool a key: the argument's name says which column it looks in."""
    style = rng.choice(("get_{0}_by_{1}", "{0}_by_{1}", "find_{0}_{1}"))
    tools = {}
    for sheet in sheets:
        for column in sheet.columns:
            if column.meaning in ("id", "ref", "alias"):
                name = style.format(sheet.noun, column.name)
                tools[sheet.noun, column.name] = ToolSpec(name, "", _schema({column.name: None}))

    def call(sheet: Sheet, column: str, value: str) -> tuple[str, dict[str, str]]:
        tool = tools.get((sheet.noun, column)) or rng.choice(list(tools.values()))
        return tool.name, {next(iter(tool.parameters["properties"])): value}

    return tuple(_shuffled(rng, [*tools.values(), *_other_tools(rng)])), call


def _shuffled(rng: Rng, tools: list[ToolSpec]) -> list[ToolSpec]:
    return rng.sample(tools, len(tools))
