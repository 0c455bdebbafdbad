"""Drafts of questions: what is asked of which rows, which calls answer it, and what the answer is.

Each maker draws one at random and returns None where its table holds none of its kind or chance was unkind;
whoever calls it draws again. Words are left to `wording`, what is finally expected to `expectations`.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from training.authoring.studio.questions.question import Call
from training.authoring.studio.questions.tables import View
from training.authoring.studio.questions.values import apart, telling, usable

Rng = random.Random
Free = Callable[[Sequence[str]], bool]
"""Whether a question may rest on these rows."""
MOST_ROWS = 5
"""Rows a look-up shows."""


@dataclass(frozen=True)
class Draft:
    """`named` is the row the question names, by column and value; `words` what else its wording needs.

    `asked` is the column whose values are the answer, in the table of `holds` where that is another one.
    """

    kind: str
    form: str
    view: View
    rows: tuple[str, ...]
    asked: tuple[str, ...]
    calls: tuple[Call, ...]
    evidence: tuple[str, ...]
    answers: tuple[str, ...]
    wrong: tuple[str, ...] = ()
    """What an answer must not say, also where the question does."""
    candidates: tuple[str, ...] = ()
    """What else an answer that hedges would say: other values of the column asked for, likeliest first."""
    mates: tuple[str, ...] = ()
    """Other values of the row, as an answer would say that lists all of it."""
    named: tuple[str, str] | None = None
    words: Mapping[str, str] = field(default_factory=dict)
    more: tuple[str, bool] | None = None
    holds: View | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it asks about, as table.column."""
        last = self.holds or self.view
        *first, answer = self.asked
        return (*(f"{self.view.table.name}.{name}" for name in first), f"{last.table.name}.{answer}")


@dataclass
class Drawing:
    """What a maker draws from: all tables, one of them to begin with, and what is still free."""

    rng: Rng
    view: View
    views: Sequence[View]
    free: Free
    asked_least: Callable[[View, Sequence[str]], list[str]]
    """The columns in an order that puts those first that were asked for least."""

    def row(self, rows: Sequence[int] | None = None, tries: int = 12) -> Iterator[int]:
        """Some free rows, at random."""
        pool: Sequence[int] = range(len(self.view.table.rows)) if rows is None else rows
        for _ in range(tries if pool else 0):
            row = pool[self.rng.randrange(len(pool))]
            if self.free([row_token(self.view, row)]):
                yield row


def row_token(view: View, row: int) -> str:
    """Names a row by its number in the table, from 1 on and without the header."""
    return f"{view.table.name}:{row + 1}"


def value_token(view: View, column: str, value: str) -> str:
    return f"{view.table.name}:{column}={value.strip().casefold()}"


def single(drawing: Drawing) -> Draft | None:
    """One look-up: a column of a row that is named by another one."""
    view = drawing.view
    column = _naming(drawing)
    if column is None:
        return None
    for row in drawing.row():
        value = view.cell(row, column)
        if not usable(value) or view.rows_with(column, value) != [row]:
            continue
        line = view.line(row, column, value)
        for asked in drawing.asked_least(view, view.shown):
            if line and asked != column and answerable(view, row, asked, (value,)):
                return Draft(
                    kind="single",
                    form="single",
                    view=view,
                    rows=(row_token(view, row),),
                    asked=(asked,),
                    calls=((view.desk.find, {"column": column, "value": value}),),
                    evidence=(line,),
                    answers=(view.cell(row, asked),),
                    candidates=others(drawing.rng, view, asked, ()),
                    mates=mates(drawing.rng, view, row, asked),
                    named=(column, value),
                    words={"column": asked},
                )
    return None


def count(drawing: Drawing) -> Draft | None:
    """How many rows hold a value; it rests on all of them, and on few rows by name."""
    view, rng = drawing.view, drawing.rng
    for column in drawing.asked_least(view, [name for name in view.desk.count_columns if name in view.at]):
        shared = view.shared(column, 2, len(view.table.rows))
        for _ in range(12 if shared else 0):
            rows = view.index(column)[rng.choice(shared)]
            value = view.cell(rows[0], column)
            tokens = [value_token(view, column, value)]
            tokens += [row_token(view, row) for row in rows] if len(rows) <= MOST_ROWS else []
            if not usable(value) or not drawing.free(tokens):
                continue
            arguments = {"column": column, "value": value}
            return Draft(
                kind="count",
                form="count",
                view=view,
                rows=tuple(tokens),
                asked=(column,),
                calls=((view.desk.count, arguments),),
                evidence=(f"count: {len(rows)}",),
                answers=(str(len(rows)),),
                candidates=_near(len(rows)),
                words={"column": column, "value": value},
            )
    return None


def missing(drawing: Drawing) -> Draft | None:
    """A row that does not exist, named like those that do."""
    view, rng = drawing.view, drawing.rng
    column = _naming(drawing)
    if column is None:
        return None
    values = list(view.values(column))
    for _ in range(12 if values else 0):
        value = _invented(rng, values)
        tokens = [value_token(view, column, value)]
        if not usable(value) or not drawing.free(tokens) or _anywhere(drawing.views, value):
            continue
        asked = next((name for name in drawing.asked_least(view, view.shown) if name != column), None)
        if asked is None:
            return None
        common = [text for text, _ in view.values(asked).most_common(12)]
        return Draft(
            kind="missing",
            form="single",
            view=view,
            rows=tuple(tokens),
            asked=(asked,),
            calls=((view.desk.find, {"column": column, "value": value}),),
            evidence=(),
            answers=(),
            candidates=tuple(common),
            named=(column, value),
            words={"column": asked},
        )
    return None


def filtered(drawing: Drawing) -> Draft | None:
    """Two conditions: the first leaves a few rows, the second one of them."""
    view, rng = drawing.view, drawing.rng
    key = view.key
    for column in drawing.asked_least(view, [name for name in view.looked_up if name != key]):
        shared = view.shared(column, 2, MOST_ROWS)
        for _ in range(12 if shared and key else 0):
            rows = view.index(column)[rng.choice(shared)]
            value = view.cell(rows[0], column)
            tokens = [value_token(view, column, value), *(row_token(view, row) for row in rows)]
            if usable(value) and drawing.free(tokens):
                found = _told_apart(drawing, rows, column)
                if found and key:
                    return _filter(view, key, tokens, (column, value), found)
    return None


def _filter(
    view: View, key: str, tokens: list[str], first: tuple[str, str], found: tuple[int, list[int], str]
) -> Draft | None:
    row, rows, second = found
    keys = [view.cell(other, key) for other in rows]
    line = view.line(row, *first)
    if line is None or not apart(keys) or not all(map(telling, keys)):
        return None
    answer = view.cell(row, key)
    return Draft(
        kind="filter",
        form="filter",
        view=view,
        rows=tuple(tokens),
        asked=(first[0], second),
        calls=((view.desk.find, {"column": first[0], "value": first[1]}),),
        evidence=(line,),
        answers=(answer,),
        candidates=tuple(other for other in keys if other != answer),
        words={
            "column1": first[0],
            "value1": first[1],
            "column2": second,
            "value2": view.cell(row, second),
            "key_column": key,
        },
    )


def _told_apart(drawing: Drawing, rows: list[int], first: str) -> tuple[int, list[int], str] | None:
    """One of the rows and a second column that only this one has such a value in."""
    view = drawing.view
    row = drawing.rng.choice(rows)
    for second in drawing.asked_least(view, view.shown):
        value = view.cell(row, second)
        beside = [view.cell(other, second) for other in rows if other != row]
        if second not in (first, view.key) and usable(value) and apart([value, *beside]) and all(beside):
            return row, rows, second
    return None


def _naming(drawing: Drawing) -> str | None:
    """The column a row is named by: mostly the key, now and then another that tells rows apart."""
    view = drawing.view
    rest = [name for name in view.looked_up if name != view.key and view.unlike(name) > 0.2]
    if view.key:
        rest = [name for name in rest if name not in view.measures]
    if view.key and (not rest or drawing.rng.random() < 0.8):
        return view.key
    return drawing.rng.choice(rest) if rest else None


def answerable(view: View, row: int, asked: str, named: Sequence[str]) -> bool:
    """Whether one column of the row is an answer: it says something, others differ, nothing else says it."""
    answer = view.cell(row, asked)
    if not telling(answer) or len(view.values(asked)) < 2:
        return False
    cells = [view.cell(row, name) for name in view.shown if name != asked]
    return all(apart([answer, other]) for other in (*named, *cells) if other)


def others(rng: Rng, view: View, asked: str, rows: Sequence[int]) -> tuple[str, ...]:
    """What the column holds besides: in these rows, and in others."""
    seen = [view.cell(row, asked) for row in rows]
    common = [text for text, _ in view.values(asked).most_common(24)]
    rng.shuffle(common)
    return (*seen, *common)


def mates(rng: Rng, view: View, row: int, asked: str) -> tuple[str, ...]:
    """Some of what else the row holds, in any order."""
    cells = [view.cell(row, name) for name in view.shown if name != asked]
    return tuple(rng.sample(cells, len(cells)))


def _near(number: int) -> tuple[str, ...]:
    steps = (1, -1, 2, -2, 3, -3, 10, -10)
    return tuple(str(number + step) for step in steps if number + step >= 0)


def _anywhere(views: Sequence[View], value: str) -> bool:
    return any(view.rows_with(name, value) for view in views for name in view.looked_up)


def _invented(rng: Rng, values: Sequence[str]) -> str:
    """A value that looks like the others: other digits, or the halves of two of them."""
    value, other = rng.choice(values), rng.choice(values)
    if any(sign.isdigit() for sign in value):
        signs = (rng.choice("123456789") if sign in "0123456789" else sign for sign in value)
        return "".join(signs)
    if " " in value and " " in other:
        return f"{value.split(' ', 1)[0]} {other.split(' ', 1)[1]}"
    return value[: (len(value) + 1) // 2] + other[len(other) // 2 :]
