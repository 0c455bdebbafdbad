"""Drafts of questions that take two look-ups: a comparison, a shared value, and a key of another table."""

from collections.abc import Sequence

from training.authoring.studio.questions.drafts import (
    Draft,
    Drawing,
    answerable,
    mates,
    others,
    row_token,
    value_token,
)
from training.authoring.studio.questions.nouns import ROW, ROW_ZH
from training.authoring.studio.questions.question import Call
from training.authoring.studio.questions.tables import View
from training.authoring.studio.questions.values import apart, telling, usable

MOSTLY = 0.9
"""Share of a column's values that must be keys of the other table to refer to it."""
FEW = 20
"""Keys of a table from which on a column may refer to it under any name."""


def compare(drawing: Drawing) -> Draft | None:
    """Which of two rows has more of something."""
    view, key = drawing.view, drawing.view.key
    if key is None:
        return None
    for column in drawing.asked_least(view, list(view.measures)):
        order = view.order[column]
        drawn = [row for row in drawing.row(list(order)) if _names_it(view, row, key)]
        for first, second in zip(drawn, drawn[1:], strict=False):
            if order[first] != order[second] and apart([view.cell(first, key), view.cell(second, key)]):
                return _compared(drawing, key, column, (first, second))
    return None


def _compared(drawing: Drawing, key: str, column: str, rows: tuple[int, int]) -> Draft | None:
    view, order = drawing.view, drawing.view.order[column]
    first, second = rows
    higher = drawing.rng.random() < 0.6
    best, other = (first, second) if (order[first] > order[second]) == higher else (second, first)
    lines = [view.line(row, key, view.cell(row, key)) for row in rows]
    if not lines[0] or not lines[1]:
        return None
    return Draft(
        kind="compare",
        form="compare",
        view=view,
        rows=tuple(row_token(view, row) for row in rows),
        asked=(column,),
        calls=tuple(_find(view, key, view.cell(row, key)) for row in rows),
        evidence=(lines[0], lines[1]),
        answers=(view.cell(best, key),),
        wrong=(view.cell(other, key),),
        words={"column": column, "key1": view.cell(first, key), "key2": view.cell(second, key)},
        more=(view.measures[column], higher),
    )


def shared_value(drawing: Drawing) -> Draft | None:
    """Two rows hold the same value; the question names one of them and asks about the other."""
    view, rng, key = drawing.view, drawing.rng, drawing.view.key
    if key is None:
        return None
    for column in drawing.asked_least(view, [name for name in view.looked_up if name != key]):
        pairs = view.shared(column, 2, 2) if column in view.shown else []
        for _ in range(12 if pairs else 0):
            row, other = rng.sample(view.index(column)[rng.choice(pairs)], 2)
            value = view.cell(row, column)
            tokens = [value_token(view, column, value), row_token(view, row), row_token(view, other)]
            if usable(value) and _names_it(view, row, key) and drawing.free(tokens):
                draft = _about_the_other(drawing, key, column, (row, other), tokens)
                if draft:
                    return draft
    return None


def _about_the_other(
    drawing: Drawing, key: str, column: str, rows: tuple[int, int], tokens: Sequence[str]
) -> Draft | None:
    view = drawing.view
    row, other = rows
    name, value = view.cell(row, key), view.cell(row, column)
    lines = view.line(row, key, name), view.line(other, column, value)
    for asked in drawing.asked_least(view, view.shown):
        answer, first = view.cell(other, asked), view.cell(row, asked)
        if asked in (column, key) or not answerable(view, other, asked, (name, value)):
            continue
        if lines[0] and lines[1] and apart([answer, first]):
            return Draft(
                kind="two_hop",
                form="two_hop",
                view=view,
                rows=tuple(tokens),
                asked=(column, asked),
                calls=(_find(view, key, name), _find(view, column, value)),
                evidence=(lines[0], lines[1]),
                answers=(answer,),
                candidates=others(drawing.rng, view, asked, (row,)),
                mates=mates(drawing.rng, view, other, asked),
                named=(key, name),
                words={"column": asked, "column2": column},
            )
    return None


def across(drawing: Drawing) -> Draft | None:
    """From a row to the row of another table whose key it holds."""
    view, rng, key = drawing.view, drawing.rng, drawing.view.key
    links = references(view, drawing.views)
    if key is None or not links:
        return None
    column, second, second_key = rng.choice(links)
    for row in drawing.row():
        held = view.cell(row, column)
        targets = second.rows_with(second_key, held)
        if not usable(held) or len(targets) != 1 or column == key or not _names_it(view, row, key):
            continue
        tokens = [row_token(view, row), row_token(second, targets[0])]
        if drawing.free(tokens):
            draft = _in_the_other(drawing, (row, key, column), (second, targets[0], second_key), tokens)
            if draft:
                return draft
    return None


def _in_the_other(
    drawing: Drawing, here: tuple[int, str, str], there: tuple[View, int, str], tokens: Sequence[str]
) -> Draft | None:
    view, (row, key, column), (second, target, second_key) = drawing.view, here, there
    name, held = view.cell(row, key), view.cell(row, column)
    lines = view.line(row, key, name), second.line(target, second_key, held)
    beside = [view.cell(row, each) for each in view.shown]
    for asked in drawing.asked_least(second, second.shown):
        answer = second.cell(target, asked)
        if asked == second_key or not answerable(second, target, asked, (name, held)):
            continue
        if lines[0] and lines[1] and all(apart([answer, each]) for each in beside if each):
            return Draft(
                kind="two_hop",
                form="across",
                view=view,
                rows=tuple(tokens),
                asked=(asked,),
                calls=(_find(view, key, name), _find(second, second_key, held)),
                evidence=(lines[0], lines[1]),
                answers=(answer,),
                candidates=others(drawing.rng, second, asked, ()),
                mates=mates(drawing.rng, second, target, asked),
                named=(key, name),
                words={"column": asked, "noun2": second.nouns[0]},
                holds=second,
            )
    return None


def references(view: View, views: Sequence[View]) -> list[tuple[str, View, str]]:
    """The columns that hold keys of other tables: column, the other table, its key."""
    found = []
    for other in views:
        if other is view or other.key is None or other.nouns in (ROW, ROW_ZH):
            continue
        for column in view.shown:
            if column != view.key and _refers(view, column, other, other.key):
                found.append((column, other, other.key))
    return found


def _refers(view: View, column: str, other: View, key: str) -> bool:
    """Most values are keys there, and the names say so too, or there are too many keys for chance."""
    values = view.values(column)
    keys = other.index(key)
    if not values or sum(value.casefold() in keys for value in values) < MOSTLY * len(values):
        return False
    names = column.casefold(), key.casefold(), other.nouns[0].casefold()
    named = names[0] == names[1] or names[2] in names[0] or names[1] in names[0]
    return named or (len(keys) >= FEW and all(len(value) > 3 for value in values))


def _names_it(view: View, row: int, key: str) -> bool:
    name = view.cell(row, key)
    return telling(name) and view.rows_with(key, name) == [row]


def _find(view: View, column: str, value: str) -> Call:
    return view.desk.find, {"column": column, "value": value}
