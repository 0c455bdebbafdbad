"""One group as every way of scoring ranks it: places for a table, lines of a drawing, how far apart."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from django.utils.safestring import mark_safe

from training.judges.lab.agreement import Values, best, common, kendall_tau_b, places_of
from training.judges.lab.sources import YOU, Source
from training.models import Group

COLUMN, ROW, TOP, BOTTOM, SIDE = 150, 26, 58, 16, 76
"""Distances in the drawing, in its own units; the names of the columns stand above TOP."""
FAR = 0.5
"""A try that moves by this share of all places or more from one column to the next is drawn bright."""
SHOWN = 10
"""Groups that a page draws unless it is asked for all."""
LONGEST_NAME = 20
"""Characters of a name in the drawing; the table has all of it."""


@dataclass(frozen=True)
class Line:
    """One try from column to column, at (x, y). `kind` is best (by the first column), far, or plain."""

    label: str
    nodes: list[tuple[float, float]]
    kind: str

    @property
    def svg(self) -> str:
        """The line and its dots. A page draws thousands, too many for a template's loops; all are numbers."""
        points = " ".join(f"{x:g},{y:g}" for x, y in self.nodes)
        dots = (
            f'<circle cx="{x:g}" cy="{y:g}" r="10"/><text x="{x:g}" y="{y:g}" dy="4">{self.label}</text>'
            for x, y in self.nodes
        )
        return mark_safe(f'<polyline points="{points}"/>{"".join(dots)}')


@dataclass(frozen=True)
class Column:
    """One way of scoring. `places` are labels of tries, best first; `tau` is towards the first column.

    It has the same best if some try is first in both.
    """

    name: str
    x: float
    title: str
    rubric: str
    places: list[list[str]]
    tau: float | None
    same_best: bool

    @property
    def order(self) -> str:
        """As "3 = 1, 2": the third and the first try share the first place."""
        return ", ".join(" = ".join(place) for place in self.places)


@dataclass(frozen=True)
class Tie:
    """A frame around tries that share a place."""

    x: float
    y: float
    height: float


@dataclass(frozen=True)
class Strip:
    """A group under several columns. `apart` is 0 where all agree and 1 where they rank in reverse."""

    group: Group
    columns: list[Column]
    lines: list[Line]
    ties: list[Tie]
    width: int
    height: int
    apart: float
    best_differs: bool
    by_hand: bool


def strip(group: Group, sources: Sequence[Source]) -> Strip | None:
    """None where fewer than two have scored the group."""
    here = [(source, source.values[group.pk]) for source in sources if group.pk in source.values]
    if len(here) < 2:
        return None
    first = here[0][1]
    columns = [
        Column(
            name=source.name,
            x=SIDE + COLUMN * number,
            title=_short(source.title),
            rubric=_short(source.rubric),
            places=[[_label(index) for index in place] for place in places_of(values)],
            tau=kendall_tau_b(*common(first, values)) if number else None,
            same_best=bool(best(values) & best(first)),
        )
        for number, (source, values) in enumerate(here)
    ]
    indexes = sorted({index for _, values in here for index in values})
    rows = _rows([values for _, values in here])
    return Strip(
        group=group,
        columns=columns,
        lines=[_line(index, columns, rows, best(first)) for index in indexes],
        ties=[tie for column, at in zip(columns, rows, strict=True) for tie in _ties(column, at)],
        width=2 * SIDE + COLUMN * (len(columns) - 1),
        height=TOP + ROW * max(1, len(indexes) - 1) + BOTTOM,
        apart=apart([values for _, values in here]),
        best_differs=not all(column.same_best for column in columns),
        by_hand=here[0][0].key == YOU,
    )


@dataclass(frozen=True)
class Strips:
    """The first of them, where they differ most, and how many there are."""

    shown: list[Strip]
    total: int


def strips(
    groups: Sequence[Group], sources: Sequence[Source], *, only_differing: bool = False, most: int = SHOWN
) -> Strips:
    """Only those that are shown are drawn."""
    scored = [
        (group, [source.values[group.pk] for source in sources if group.pk in source.values])
        for group in groups
    ]
    found = [(group, apart(values)) for group, values in scored if len(values) > 1]
    if only_differing:
        differing = {group.pk for group, values in scored if len(values) > 1 and differ(values)}
        found = [(group, distance) for group, distance in found if group.pk in differing]
    found.sort(key=lambda one: -one[1])
    drawn = (strip(group, sources) for group, _ in found[:most])
    return Strips([made for made in drawn if made], len(found))


def differ(scored: Sequence[Values]) -> bool:
    """Whether somebody has another best than the first."""
    return any(not best(values) & best(scored[0]) for values in scored[1:])


def apart(scored: Sequence[Values]) -> float:
    """Mean over all two of them of (1 − τ) / 2; where one sees no order at all, half."""
    taus = [kendall_tau_b(*common(one, other)) for one, other in combinations(scored, 2)]
    return sum((1 - (tau or 0.0)) / 2 for tau in taus) / len(taus)


@dataclass(frozen=True)
class _Row:
    """Where a try stands in a column, and the first and last row of the place it shares."""

    at: int
    first: int
    last: int


def _rows(scored: Sequence[Values]) -> list[dict[int, _Row]]:
    """Of every column; tied tries stand below each other as in the column before, so that few lines cross."""
    columns: list[dict[int, _Row]] = []
    before: dict[int, _Row] = {}
    for values in scored:
        rows: dict[int, _Row] = {}
        for place in places_of(values):
            first, last = len(rows), len(rows) + len(place) - 1
            place.sort(key=lambda index: before[index].at if index in before else index)
            rows |= {index: _Row(first + offset, first, last) for offset, index in enumerate(place)}
        columns.append(rows)
        before = rows
    return columns


def _line(
    index: int, columns: Sequence[Column], rows: Sequence[dict[int, _Row]], top: frozenset[int]
) -> Line:
    passed = [(column, at[index]) for column, at in zip(columns, rows, strict=True) if index in at]
    nodes = [(column.x, _y(row.at)) for column, row in passed]
    moved = max((_distance(a, b) for (_, a), (_, b) in pairwise(passed)), default=0)
    far = moved >= max(2, FAR * len(rows[0]))
    kind = "best" if index in top else "far" if far else "plain"
    return Line(_label(index), nodes, kind)


def _distance(one: _Row, other: _Row) -> int:
    """Rows between two places; none where they overlap, since a tie takes no side."""
    return max(0, one.first - other.last, other.first - one.last)


def _ties(column: Column, rows: dict[int, _Row]) -> list[Tie]:
    shared = {(row.first, row.last) for row in rows.values() if row.last > row.first}
    return [Tie(column.x - 14, _y(first) - 13, ROW * (last - first) + 26) for first, last in sorted(shared)]


def _y(row: int) -> float:
    return TOP + ROW * row


def _short(name: str) -> str:
    """A model's name without its provider, where both are too long; cut where that still is."""
    if len(name) > LONGEST_NAME and " " not in name:
        name = re.split("[/:]", name)[-1]
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def _label(index: int) -> str:
    return str(index + 1)
