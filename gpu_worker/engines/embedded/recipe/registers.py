"""An invented register: one table as a person would upload it, in any language, and the tools made from it.

Columns have names of one script and one style, values of formats of their own; the first few columns can be
looked up, at most eight are shown. `inquiries` asks about them. What the tools say is worded as
`gpu_worker.tools` words it, so that the model reads in training what it will read in use.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from unicodedata import normalize

from gpu_worker.engines.embedded.recipe import words
from gpu_worker.engines.embedded.recipe.scripts import (
    SPACED,
    name_in,
    phrase_in,
    some_script,
    styled,
    word_in,
)
from gpu_worker.engines.embedded.recipe.tables import Column
from gpu_worker.tools.table import MAX_ROWS_BACK, NO_ROWS
from gpu_worker.types import ToolSpec

Rng = random.Random

MOST_SHOWN = 8
MOST_LOOKED_UP = 6
STYLES = ("snake", "snake", "snake", "camel", "Camel", "Title", "UPPER", "Solid", "Solid", "spaced", "spaced")
HEADS = words.listed("""
    id number name price status date city country amount type color size weight height stock owner
    code group level rating year area phone email address department team salary start end due unit
    total quantity brand model room floor speed length width score points grade author title genre
    language license category supplier region manager channel priority balance currency voltage
""")
MODIFIERS = words.listed("""
    first last net gross unit total main home order item sales ship birth due max min avg old new next
    base list tax line store own local short full key in out
""")
ROW_NOUNS = ("row", "entry", "record", "line", "item")
TOOL_STYLES = {
    "find": ("find_{}",) * 9 + ("look_up_{}", "get_{}", "{}_find"),
    "count": ("count_{}",) * 9 + ("number_of_{}", "{}_count", "how_many_{}"),
    "search": ("search_{}",) * 9 + ("{}_search", "search_in_{}", "words_in_{}"),
}
EXPORTS = ("{}_export", "{}_{}", "{}_{}", "{}_{}", "{}_list", "all_{}", "{}_final", "my_{}", "{}{}", "{}_v{}")


@dataclass(frozen=True)
class Register:
    """A table: what its rows are called, its columns, and which of them are looked up and shown."""

    title: str
    """As the tools' names have it."""
    noun: str
    nouns: str
    columns: tuple[Column, ...]
    looked_up: tuple[Column, ...]
    shown: tuple[Column, ...]

    @property
    def key(self) -> Column:
        return next(column for column in self.columns if column.meaning == "key")

    def of(self, *meanings: str) -> list[Column]:
        """The shown columns of these meanings."""
        return [column for column in self.shown if column.meaning in meanings]

    def rows(self, column: Column, value: str) -> list[int]:
        return [at for at, found in enumerate(column.values) if found == value]

    def line(self, row: int) -> str:
        return "; ".join(f"{column.name}: {column.values[row]}" for column in self.shown)

    def found(self, rows: list[int]) -> str:
        """What a tool says that found these rows."""
        lines = [self.line(row) for row in rows[:MAX_ROWS_BACK]]
        if len(rows) > MAX_ROWS_BACK:
            lines.append(f"{len(rows) - MAX_ROWS_BACK} more rows")
        return "\n".join(lines) or NO_ROWS


@dataclass(frozen=True)
class Desk:
    """One register, or two of which the first refers to the second; and all tools, by kind and register."""

    registers: tuple[Register, ...]
    names: dict[tuple[str, str], str]
    """(find, count or search; a register's title) → the tool's name"""
    arguments: tuple[str, str, str]
    tools: tuple[ToolSpec, ...]


def invent_desk(rng: Rng) -> Desk:
    """Mostly one register of three to twelve columns and six to twenty rows."""
    script = some_script(rng)
    first = invent_register(rng, script)
    registers = [first]
    if rng.random() < 0.2:
        second = invent_register(rng, script, few=True)
        if second.title != first.title and {c.name for c in first.columns}.isdisjoint({second.key.name}):
            registers = [_referring(rng, first, second), second]
    return _equipped(rng, registers)


def _equipped(rng: Rng, registers: list[Register]) -> Desk:
    styles = {kind: rng.choice(forms) for kind, forms in TOOL_STYLES.items()}
    arguments = ("column", "value", "words") if rng.random() < 0.9 else ("field", "text", "query")
    names, tools = {}, []
    shown = ("find", "count", "search") if rng.random() < 0.85 else ("find", "count")
    for register in registers:
        enum = [column.name for column in register.looked_up]
        for kind in shown:
            name = styles[kind].format(register.title)
            names[kind, register.title] = name
            properties: dict[str, object] = (
                {arguments[2]: {"type": "string"}}
                if kind == "search"
                else {arguments[0]: {"type": "string", "enum": enum}, arguments[1]: {"type": "string"}}
            )
            required = list(properties)
            tools.append(
                ToolSpec(name, "", {"type": "object", "properties": properties, "required": required})
            )
    if rng.random() < 0.2:
        rng.shuffle(tools)
    return Desk(tuple(registers), names, arguments, tuple(tools))


def invent_register(rng: Rng, script: str, few: bool = False) -> Register:
    """A table whose column names are of one script and style; `few` for the second of two."""
    style = rng.choice(STYLES)
    values = script if rng.random() < 0.75 else some_script(rng)
    count = rng.randint(6, 9) if few else rng.randint(6, 20)
    names = _column_names(
        rng, script, style, rng.randint(3, 4) if few else rng.choice((3, 4, 4, 5, 5, 6, 6, 7, 8, 10, 12))
    )
    columns = [_key(rng, names[0], values, count)]
    columns += [_column(rng, name, values, count) for name in names[1:]]
    if rng.random() < 0.2:
        at = rng.randrange(len(columns))
        columns[0], columns[at] = columns[at], columns[0]
    shown = tuple(columns if len(columns) <= MOST_SHOWN else _kept(rng, columns, MOST_SHOWN))
    choices = [c for c in shown if c.meaning != "text" or rng.random() < 0.3]
    looked_up = tuple(choices if len(choices) <= MOST_LOOKED_UP else _kept(rng, choices, MOST_LOOKED_UP))
    title, noun, nouns = _titles(rng, script)
    return Register(title, noun, nouns, tuple(columns), looked_up, shown)


def _kept(rng: Rng, columns: list[Column], most: int) -> list[Column]:
    """At most so many, in their order, the key among them."""
    others = [column for column in columns if column.meaning != "key"]
    kept = others[: most - 1] if rng.random() < 0.6 else rng.sample(others, most - 1)
    return [column for column in columns if column in kept or column.meaning == "key"]


def _column_names(rng: Rng, script: str, style: str, count: int) -> list[str]:
    """Different names; half of the tables make theirs of a few parts that come again and again."""
    parts = [_name_part(rng, script) for _ in range(count // 2 + 2)] if rng.random() < 0.5 else []
    names: dict[str, None] = {}
    while len(names) < count:
        names[_column_name(rng, script, style, parts)] = None
    return list(names)


def _name_part(rng: Rng, script: str) -> str:
    if script == "english" and rng.random() < 0.25:
        return rng.choice((*HEADS, *MODIFIERS))
    return word_in(rng, script)


def _column_name(rng: Rng, script: str, style: str, known: list[str]) -> str:
    count = rng.choice((1, 1, 2) if not known else (1, 2, 2, 2))
    parts = [
        rng.choice(known) if known and rng.random() < 0.8 else _name_part(rng, script) for _ in range(count)
    ]
    if script not in SPACED:
        return "".join(parts)
    if rng.random() < 0.04:
        parts.append(str(rng.randint(1, 9)))
    name = styled(rng, parts, style)
    if rng.random() < 0.04:
        name += rng.choice((" (kg)", " %", "_eur", " in €", " (m²)", "."))
    return name


def _titles(rng: Rng, script: str) -> tuple[str, str, str]:
    """The table's name in its tools, which is of plain letters, and its rows' noun in one and many."""
    if script == "english":
        noun = rng.choice((*words.THINGS, *words.PEOPLE)) if rng.random() < 0.35 else word_in(rng, script)
        nouns = words.plural(noun)
        title = nouns if rng.random() < 0.7 else noun
    else:
        noun = nouns = word_in(rng, script)
        title = plain(noun) if rng.random() < 0.6 else word_in(rng, "english")
    if rng.random() < 0.12:
        title = rng.choice(EXPORTS).format(title or "table", words.digits(rng, rng.choice((1, 2, 4))))
    if rng.random() < 0.25:
        noun = nouns = title
    elif rng.random() < 0.2:
        noun = rng.choice(ROW_NOUNS)
        nouns = words.plural(noun)
    return title.lower() or "table", noun, nouns


def plain(word: str) -> str:
    """A word without its accents; nothing is left of other scripts."""
    return "".join(sign for sign in normalize("NFKD", word) if sign.isascii() and sign.isalnum())


def _key(rng: Rng, name: str, script: str, count: int) -> Column:
    make = (
        rng.choice(_KEYS)(rng) if rng.random() < 0.85 else lambda: phrase_in(rng, script, rng.choice((1, 2)))
    )
    values: dict[str, None] = {}
    while len(values) < count:
        values[make()] = None
    return Column(name, "key", tuple(values))


def _numbered(rng: Rng) -> Callable[[], str]:
    size = rng.choice((2, 3, 4, 4, 5, 6, 8))
    prefix = "".join(rng.choice("ABCDEFGHKLMNPRSTUVXZ") for _ in range(rng.choice((0, 0, 1, 2, 2, 3))))
    prefix += rng.choice(("", "", "-", "-", "_", "/", "#")) if prefix else ""
    return lambda: prefix + words.digits(rng, size)


def _running(rng: Rng) -> Callable[[], str]:
    """Numbers close to one another, as counters give them."""
    prefix = rng.choice(("", "", "A-", "INV-", "DE", "No. ", "K", "2024-", "SKU-", "ab-"))
    start, width = rng.choice((1, 1, 100, 1000, 5000)), rng.choice((1, 3, 4, 5))
    return lambda: f"{prefix}{start + rng.randrange(90):0{width}d}"


def _mixed(rng: Rng) -> Callable[[], str]:
    signs = rng.choice(("0123456789abcdef", "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"))
    size = rng.choice((4, 5, 6, 8))
    return lambda: "".join(rng.choice(signs) for _ in range(size))


def _dotted(rng: Rng) -> Callable[[], str]:
    gap = rng.choice(("-", ".", "/", ":"))
    return lambda: (
        f"{words.digits(rng, 2)}{gap}{words.digits(rng, 3)}{rng.choice(('', gap + words.digits(rng, 2)))}"
    )


_KEYS = (_numbered, _numbered, _numbered, _running, _running, _mixed, _dotted)


def _column(rng: Rng, name: str, script: str, count: int) -> Column:
    meaning = rng.choices(("group", "number", "day", "text"), (46, 28, 10, 16))[0]
    if meaning == "group":
        return Column(name, meaning, _groups(rng, script, count))
    if meaning == "number":
        return Column(name, meaning, _numbers(rng, count))
    if meaning == "day":
        return Column(name, meaning, _days(rng, count))
    make = _TEXTS[rng.choices(("name", "words", "mail", "code"), (5, 3, 1, 2))[0]]
    return Column(name, meaning, tuple(make(rng, script) for _ in range(count)))


def _groups(rng: Rng, script: str, count: int) -> tuple[str, ...]:
    """Values that several rows share: each of a pool of two to a dozen, many of them exactly twice."""
    size = rng.choice((2, 3, 4, 5, count // 2, count // 2, count // 2 + 1, count // 2 + 1))
    kind = rng.random()
    if kind < 0.07:
        pool = list(rng.choice((("yes", "no"), ("true", "false"), ("ja", "nein"), ("Y", "N"), ("是", "否"))))
    elif kind < 0.17:
        pool = [str(number) for number in rng.sample(range(1, 40), size)]
    elif kind < 0.27:
        pool = [rng.choice("ABCDEFGH") + str(number) for number in rng.sample(range(1, 40), size)]
    elif kind < 0.45 and script == "english":
        pool = [words.word(rng, rng.choice((words.STATES, words.KINDS, words.TOWNS))) for _ in range(size)]
    elif kind < 0.53:
        pool = [f"{name_in(rng, script)} {number}" for number in rng.sample(range(1, 300), size)]
    else:
        style = rng.choice((name_in, name_in, word_in, lambda r, s: phrase_in(r, s, r.choice((1, 2)))))
        pool = [style(rng, script) for _ in range(size)]
    pool = list(dict.fromkeys(pool))
    values = [pool[at % len(pool)] if rng.random() < 0.8 else rng.choice(pool) for at in range(count)]
    rng.shuffle(values)
    return tuple(values)


def _numbers(rng: Rng, count: int) -> tuple[str, ...]:
    top = rng.choice((10, 100, 100, 1000, 1000, 10_000, 100_000))
    places = rng.choice((0, 0, 1, 2, 2))
    comma = places and rng.random() < 0.12
    made = (f"{rng.uniform(top / 20 if rng.random() < 0.7 else 1, top):.{places}f}" for _ in range(count))
    return tuple(text.replace(".", ",") if comma else text for text in made)


def _days(rng: Rng, count: int) -> tuple[str, ...]:
    form = rng.choice(("{y}-{m:02d}-{d:02d}",) * 4 + ("{d:02d}.{m:02d}.{y}", "{y}/{m:02d}/{d:02d}"))
    first = rng.randint(1970, 2025)
    years = range(first, first + rng.choice((1, 2, 6)))
    return tuple(
        form.format(y=rng.choice(years), m=rng.randint(1, 12), d=rng.randint(1, 28)) for _ in range(count)
    )


def _person(rng: Rng, script: str) -> str:
    if script in ("chinese", "japanese", "korean"):
        return word_in(rng, script)
    if script == "english" and rng.random() < 0.4:
        return f"{rng.choice(words.GIVEN_NAMES)} {rng.choice(words.FAMILY_NAMES)}"
    return f"{name_in(rng, script)} {name_in(rng, script)}"


def _mail(rng: Rng, script: str) -> str:
    end = rng.choice(words.MAIL_ENDS) if rng.random() < 0.5 else word_in(rng, "english")
    host = f"{word_in(rng, 'english')}.{end}"
    if rng.random() < 0.4:
        return f"{rng.choice('abcdefghkmnprstuvxz')}{words.digits(rng, rng.choice((3, 4, 5)))}@{host}"
    return f"{words.invented(rng, 1)}{rng.choice(('.', '', '_'))}{words.invented(rng)}@{host}"


_TEXTS: dict[str, Callable[[Rng, str], str]] = {
    "name": _person,
    "words": lambda rng, script: phrase_in(rng, script, rng.choice((2, 3, 4))),
    "mail": _mail,
    "code": lambda rng, script: rng.choice(_KEYS)(rng)(),
}


def _referring(rng: Rng, first: Register, second: Register) -> Register:
    """The first register with one more column, which holds keys of the second."""
    name = second.key.name
    owners = Column(name, "ref", tuple(rng.choice(second.key.values) for _ in first.columns[0].values))
    shown = (*first.shown[: MOST_SHOWN - 1], owners)
    if first.key not in shown:
        shown = (first.key, *shown[1:])
    looked_up = (*(c for c in first.looked_up[: MOST_LOOKED_UP - 1] if c in shown), owners)
    if first.key not in looked_up:
        looked_up = (first.key, *looked_up[1:])
    return Register(first.title, first.noun, first.nouns, (*first.columns, owners), looked_up, shown)
