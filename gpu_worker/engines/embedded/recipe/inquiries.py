"""Questions about a register: one row, two conditions, how many, which is more, the other one like it, none.

Here is what is asked and which look-ups answer it; `demonstrations` shows how that is done, well or badly.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from gpu_worker.engines.embedded.recipe.phrasings import (
    ASKING,
    BY_NAME,
    LOOKING,
    NAMING,
    quoted,
    said,
)
from gpu_worker.engines.embedded.recipe.registers import Desk, Register, invent_desk
from gpu_worker.engines.embedded.recipe.tables import Column

Rng = random.Random


@dataclass(frozen=True)
class Look:
    """One call: a kind of tool, a register, a column and a value."""

    tool: str
    register: Register
    column: Column
    value: str


@dataclass(frozen=True)
class Inquiry:
    """What is asked, the calls that answer it, the column and row of the answer, and rows like it.

    Without `answer_row` the answer is a number (`count`) or that there is no such row (`count` is None).
    """

    text: str
    looks: tuple[Look, ...]
    asked: Column
    answer_row: int | None = None
    others: tuple[int, ...] = ()
    count: int | None = None


KINDS = {"single": 26, "filter": 15, "count": 11, "compare": 18, "two_hop": 16, "missing": 14}


def some_inquiry(rng: Rng, freely: bool = False) -> tuple[Desk, Inquiry]:
    """A question of some kind, and a desk that answers it; asked `freely`, not always by the key."""
    kind = rng.choices(list(KINDS), list(KINDS.values()))[0]
    while True:
        desk = invent_desk(rng)
        inquiry = _of_kind(rng, kind, desk, freely)
        if inquiry is not None:
            return desk, inquiry


def _of_kind(rng: Rng, kind: str, desk: Desk, freely: bool = False) -> Inquiry | None:
    """A question of this kind, or None if the desk can answer none."""
    first, last = desk.registers[0], desk.registers[-1]
    if kind == "two_hop" and last is not first and rng.random() < 0.7:
        return _across(rng, first, last)
    if kind in ("single", "missing"):
        first = rng.choice(desk.registers)
    if freely and kind in ("single", "missing") and rng.random() < 0.25:
        inquiry = _by_another_name(rng, first)
        return inquiry if inquiry is None or kind == "single" else _in_vain(rng, inquiry)
    return _MAKERS[kind](rng, first)


def _looking(rng: Rng, register: Register, key: str) -> str:
    """How a row is named by its key."""
    return rng.choice(LOOKING).format(noun=register.noun, key=key, key_column=said(rng, register.key.name))


def _find(register: Register, column: Column, value: str) -> Look:
    return Look("find", register, column, value)


def _single(rng: Rng, register: Register) -> Inquiry | None:
    fields = [column for column in register.shown if column is not register.key]
    if not fields or register.key not in register.looked_up:
        return None
    asked, row = rng.choice(fields), rng.randrange(len(register.key.values))
    key = register.key.values[row]
    text = rng.choice(ASKING["single"]).format(
        column=said(rng, asked.name),
        the_row=_looking(rng, register, key),
        noun=register.noun,
        key=key,
        key_column=said(rng, register.key.name),
    )
    return Inquiry(text, (_find(register, register.key, key),), asked, row)


def _by_another_name(rng: Rng, register: Register) -> Inquiry | None:
    """A row named by a value that only it has, of a column that is not the key."""
    options = []
    for column in register.looked_up:
        if column is not register.key:
            options += [
                (column, at) for at, value in enumerate(column.values) if column.values.count(value) == 1
            ]
    if not options:
        return None
    named, row = rng.choice(options)
    asked = rng.choice([column for column in register.shown if column is not named])
    name = rng.choice(NAMING).format(
        noun=register.noun, column=said(rng, named.name), value=quoted(rng, named.values[row])
    )
    text = rng.choice(BY_NAME).format(column=said(rng, asked.name), the_row=name)
    return Inquiry(text, (_find(register, named, named.values[row]),), asked, row)


def _filter(rng: Rng, register: Register) -> Inquiry | None:
    """Two conditions; the first leaves a few rows, the second one of them."""
    options = []
    for first in (c for c in register.looked_up if c.meaning in ("group", "number", "day", "ref")):
        for second in register.of("group", "number", "day", "text"):
            if second is first:
                continue
            row = rng.randrange(len(first.values))
            rows = register.rows(first, first.values[row])
            if 2 <= len(rows) <= 5 and [second.values[at] for at in rows].count(second.values[row]) == 1:
                options.append((first, second, row, rows))
    if not options:
        return None
    first, second, row, rows = rng.choice(options)
    text = rng.choice(ASKING["filter"]).format(
        noun=register.noun,
        column1=said(rng, first.name),
        value1=quoted(rng, first.values[row]),
        column2=said(rng, second.name),
        value2=quoted(rng, second.values[row]),
        key_column=said(rng, register.key.name),
    )
    others = tuple(at for at in rows if at != row)
    return Inquiry(text, (_find(register, first, first.values[row]),), register.key, row, others)


def _count(rng: Rng, register: Register) -> Inquiry | None:
    columns = [c for c in register.looked_up if c.meaning in ("group", "ref")]
    if not columns:
        return None
    column = rng.choice(columns)
    value = rng.choice(column.values)
    text = rng.choice(ASKING["count"]).format(
        noun=register.noun, nouns=register.nouns, column=said(rng, column.name), value=quoted(rng, value)
    )
    number = rng.choice((len(register.rows(column, value)), rng.randint(1, 60), rng.randint(2, 9000)))
    return Inquiry(text, (Look("count", register, column, value),), column, count=number)


def _compare(rng: Rng, register: Register) -> Inquiry | None:
    columns = register.of("number", "day")
    if not columns or register.key not in register.looked_up:
        return None
    column = rng.choice(columns)
    first, second = rng.sample(range(len(column.values)), 2)
    if sortable(column, first) == sortable(column, second):
        return None
    higher = rng.random() < 0.6
    kind = column.meaning if rng.random() < 0.6 or column.meaning == "number" else "number"
    text = rng.choice(ASKING["compare"]).format(
        more=rng.choice(MORE[kind, higher]),
        column=said(rng, column.name),
        key1=register.key.values[first],
        key2=register.key.values[second],
        noun=register.noun,
    )
    if (sortable(column, second) > sortable(column, first)) == higher:
        winner, other = second, first
    else:
        winner, other = first, second
    looks = tuple(_find(register, register.key, register.key.values[at]) for at in (first, second))
    return Inquiry(text, looks, register.key, winner, (other,))


MORE = {
    ("number", True): ("higher", "higher", "larger", "bigger", "greater", "highest"),
    ("number", False): ("lower", "lower", "smaller", "lesser", "lowest"),
    ("day", True): ("later", "newer", "more recent", "later"),
    ("day", False): ("earlier", "older", "earlier"),
}


def sortable(column: Column, row: int) -> tuple[float, ...]:
    """A number, or a day as year, month, day."""
    text = column.values[row]
    if column.meaning == "number":
        return (float(text.replace(",", ".")),)
    parts = [int(part) for part in text.replace(".", "-").replace("/", "-").split("-")]
    return tuple(map(float, parts if parts[0] > 31 else reversed(parts)))


def _two_hop(rng: Rng, register: Register) -> Inquiry | None:
    """Two rows share a value; asked is what the other one has."""
    options = []
    if register.key in register.looked_up:
        for shared in (c for c in register.looked_up if c.meaning in ("group", "ref")):
            for row, value in enumerate(shared.values):
                if shared.values.count(value) == 2:
                    options.append((shared, row))
    if not options:
        return None
    shared, row = rng.choice(options)
    (other,) = (at for at in register.rows(shared, shared.values[row]) if at != row)
    asked = rng.choice([c for c in register.shown if c is not shared])
    key = register.key.values[row]
    text = rng.choice(ASKING["two_hop"]).format(
        column=said(rng, asked.name),
        noun=register.noun,
        column2=said(rng, shared.name),
        key=key,
        the_row=_looking(rng, register, key),
    )
    looks = (_find(register, register.key, key), _find(register, shared, shared.values[row]))
    return Inquiry(text, looks, asked, other, (row,))


def _across(rng: Rng, register: Register, second: Register) -> Inquiry | None:
    """From a row of the first register to the row of the second that it refers to."""
    owners = register.of("ref")
    fields = [column for column in second.shown if column is not second.key]
    if not owners or not fields:
        return None
    row, asked = rng.randrange(len(register.key.values)), rng.choice(fields)
    key, owner = register.key.values[row], owners[0].values[row]
    text = rng.choice(ASKING["across"]).format(
        column=said(rng, asked.name), noun2=second.noun, the_row=_looking(rng, register, key)
    )
    looks = (_find(register, register.key, key), _find(second, second.key, owner))
    return Inquiry(text, looks, asked, second.key.values.index(owner))


def _missing(rng: Rng, register: Register) -> Inquiry | None:
    """A question about one row, or two, whose key is nowhere."""
    inquiry = _single(rng, register) if rng.random() < 0.75 else _compare(rng, register)
    if inquiry is None:
        return None
    return _in_vain(rng, inquiry)


def _in_vain(rng: Rng, inquiry: Inquiry) -> Inquiry | None:
    """The same question about a value that nobody has; None if none can be made of the present one."""
    look = inquiry.looks[0]
    unknown = look.value
    while unknown in look.column.values:
        unknown = "".join(_another(rng, sign) for sign in look.value) or "x"
        if unknown == look.value and not any(sign.isdigit() or sign.islower() for sign in unknown):
            return None
    text = inquiry.text.replace(look.value, unknown)
    return Inquiry(text, (_find(look.register, look.column, unknown),), inquiry.asked)


def _another(rng: Rng, sign: str) -> str:
    """Another sign of the same kind."""
    if sign.isdigit():
        return rng.choice("0123456789")
    return rng.choice("abdefghkmnrstuvz") if sign.islower() else sign


_MAKERS: dict[str, Callable[[Rng, Register], Inquiry | None]] = {
    "single": _single,
    "filter": _filter,
    "count": _count,
    "compare": _compare,
    "two_hop": _two_hop,
    "missing": _missing,
}
