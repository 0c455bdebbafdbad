"""One scenario over all steps of a run, and the list of a run's scenarios."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from training.access import run_of
from training.models import Run, Trajectory, TrajectoryRecord
from training.review import transcript
from training.review.tries import sides
from training.review.tries import timeline as queries
from training.review.tries.flips import Point
from training.review.tries.timeline import KINDS, ORDER, Line, Timeline

PAGE = 100
WIDTH, HEIGHT, MARGIN = 1000.0, 160.0, 12.0
"""Of the drawing; scores from 0 at the bottom to 1 at the top, MARGIN kept free all around."""


WIDEST = 60.0
"""Of a step's column."""


@dataclass(frozen=True)
class Spot:
    """A step in the drawing and in the table."""

    point: Point
    name: str
    x: float
    mean: float
    best: float
    worst: float
    left: float
    width: float
    then: bool
    now: bool


@dataclass(frozen=True)
class End:
    """One of the two steps that are compared: its tries, and the one that is read."""

    point: Point
    name: str
    tries: list[Trajectory]
    chosen: Trajectory


@require_safe
@login_required
def scenarios(request: HttpRequest, run_id: int) -> HttpResponse:
    run = run_of(request, run_id)
    lines = queries.scenarios(run)
    counts = Counter(line.kind for line in lines)
    wanted = request.GET.get("kind", "")
    shown = [line for line in lines if line.kind == wanted] if wanted in KINDS else lines
    start = _place(request.GET.get("start")) // PAGE * PAGE
    context = {
        "run": run,
        "lines": queries.with_prompts(run, shown[start : start + PAGE]),
        "kinds": [(kind, KINDS[kind], counts[kind]) for kind in ORDER if counts[kind]],
        "wanted": wanted if wanted in KINDS else "",
        "all": len(lines),
        "count": len(shown),
        "first": start + 1,
        "last": min(start + PAGE, len(shown)),
        "earlier": start - PAGE if start else None,
        "later": start + PAGE if start + PAGE < len(shown) else None,
    }
    return render(request, "review/run_scenarios.html", context)


@require_safe
@login_required
def timeline(request: HttpRequest, run_id: int, key: str) -> HttpResponse:
    run = run_of(request, run_id)
    found = queries.timeline(run, key)
    if found is None:
        raise Http404
    then, now = _ends(request, found)
    lines = queries.scenarios(run)
    context: dict[str, object] = {
        "run": run,
        "timeline": found,
        "line": next(line for line in lines if line.key == key),
        "spots": spots(found.points, then.step, now.step),
        "means": " ".join(f"{spot.x},{spot.mean}" for spot in spots(found.points, -1, -1)),
        **_neighbours(run, key, lines),
    }
    if then is not now:
        before, after = _end(then, request.GET.get("a")), _end(now, request.GET.get("b"))
        context |= {"then": before, "now": after, **_compared(before.chosen, after.chosen)}
    else:
        context |= {"then": None, "now": _end(now, request.GET.get("b"))}
    return render(request, "review/scenario_timeline.html", context)


def _ends(request: HttpRequest, found: Timeline) -> tuple[Point, Point]:
    """The steps asked for; else those around the first flip, else the first and the last."""
    then, now = found.at(_step(request.GET.get("k"))), found.at(_step(request.GET.get("j")))
    flip = found.flips[0] if found.flips else None
    then = then or found.at(flip.before if flip else None) or found.points[0]
    now = now or found.at(flip.step if flip else None) or found.points[-1]
    return then, now


def _end(point: Point, wanted: str | None) -> End:
    tries = queries.tries_of(point)
    number = _step(wanted)
    chosen = next((one for one in tries if one.index == number), tries[0])
    return End(point, queries.name_of(point), tries, chosen)


def _compared(before: Trajectory, after: Trajectory) -> dict[str, object]:
    records = TrajectoryRecord.objects.defer("segments").in_bulk([before.pk, after.pk])
    left, right = (transcript.turns(records[one.pk].messages) for one in (before, after))
    pairs = sides.pairs(left, right)
    return {"pairs": pairs, "differing": sides.differing(pairs)}


def _neighbours(run: Run, key: str, lines: Sequence[Line]) -> dict[str, str | None]:
    """The scenarios before and after this one, those that changed most first."""
    keys = [line.key for line in lines]
    place = keys.index(key)
    return {
        "previous": keys[place - 1] if place else None,
        "next": keys[place + 1] if place + 1 < len(keys) else None,
    }


def spots(points: Sequence[Point], then: int, now: int) -> list[Spot]:
    """Steps side by side, however far apart they are."""
    apart = (WIDTH - 2 * MARGIN) / max(1, len(points))
    wide = min(apart, WIDEST)
    return [
        Spot(
            point=point,
            name=queries.name_of(point),
            x=round(MARGIN + apart * (place + 0.5), 1),
            mean=_up(point.mean),
            best=_up(point.best),
            worst=_up(point.worst),
            left=round(MARGIN + apart * (place + 0.5) - wide / 2, 1),
            width=round(wide, 1),
            then=point.step == then,
            now=point.step == now,
        )
        for place, point in enumerate(points)
    ]


def _up(score: float) -> float:
    return round(HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * min(1.0, max(0.0, score)), 1)


def _place(text: str | None) -> int:
    return _step(text) or 0


def _step(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 9 else None
