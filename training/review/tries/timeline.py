"""Reads for one scenario over all steps of a run, and for the list of a run's scenarios."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from django.db.models import Min, QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.checks import calls_of
from training.models import Group, Run, Trajectory, TrajectoryRecord
from training.review.tries import flips
from training.review.tries.flips import Kind, Point
from training.runs import words

MOST_POINTS = 400
"""Steps of one scenario that are read; the first ones and the newest."""
MOST_CALLS = 60
"""Steps whose best try is looked into for what it called."""
LONGEST_PROMPT = 200

KINDS: Mapping[Kind, Promise] = {
    "improved": gettext_lazy("improved"),
    "regressed": gettext_lazy("regressed"),
    "unsteady": gettext_lazy("unsteady"),
    "steady": gettext_lazy("steady"),
    "once": gettext_lazy("tried in one step only"),
}
ORDER: tuple[Kind, ...] = ("regressed", "improved", "unsteady", "steady", "once")
COLUMNS = ("id", "label", "step", "tries", "successes", "mean_reward", "best_reward")


@dataclass(frozen=True)
class Line:
    """A scenario in the list of a run's scenarios."""

    key: str
    points: list[Point]
    prompt: str = ""

    @cached_property
    def kind(self) -> Kind:
        return flips.kind(self.points)

    @property
    def kind_name(self) -> Promise:
        return KINDS[self.kind]

    @property
    def change(self) -> float:
        return flips.change(self.points)

    @property
    def first(self) -> Point:
        return self.points[0]

    @property
    def last(self) -> Point:
        return self.points[-1]

    @property
    def shape(self) -> str:
        """Its means as a line in a drawing 100 wide and 20 high."""
        apart = 100 / max(1, len(self.points) - 1)
        return " ".join(f"{at * apart:.1f},{19 - 18 * p.mean:.1f}" for at, p in enumerate(self.points))


@dataclass(frozen=True)
class Flip:
    """A step from which on something is as it is now. `before` is the step before it."""

    what: str
    name: str
    step: int
    before: int


@dataclass(frozen=True)
class Timeline:
    key: str
    prompt: str
    points: list[Point]
    flips: list[Flip] = field(default_factory=list)

    def at(self, step: int | None) -> Point | None:
        return next((point for point in reversed(self.points) if point.step == step), None)


def scenarios(run: Run) -> list[Line]:
    """All scenarios that were tried, those that changed most first, without their prompts."""
    found: dict[str, list[Point]] = {}
    # The worst try is not asked for: for a list, means and successes do.
    for key, *columns in _groups(run).values_list("scenario_key", *COLUMNS):
        found.setdefault(key, []).append(_point(*columns))
    lines = [Line(key, points) for key, points in found.items()]
    return sorted(lines, key=lambda line: (-abs(line.change), line.key))


def with_prompts(run: Run, lines: Sequence[Line]) -> list[Line]:
    """The same, with what was asked first in each."""
    keys = [line.key for line in lines]
    firsts = run.groups.filter(scenario_key__in=keys).values("scenario_key").annotate(first=Min("pk"))
    told = Group.objects.filter(pk__in=firsts.values("first")).values_list("scenario_key", "prompt")
    asked = {key: prompt[:LONGEST_PROMPT] for key, prompt in told}
    return [replace(line, prompt=asked[line.key]) for line in lines]


def timeline(run: Run, key: str) -> Timeline | None:
    """None where no try at the scenario was recorded."""
    rows = list(_groups(run).filter(scenario_key=key).values_list(*COLUMNS, "prompt"))
    if not rows:
        return None
    if len(rows) > MOST_POINTS:
        rows = [*rows[: MOST_POINTS // 2], *rows[-MOST_POINTS // 2 :]]
    lows = Trajectory.objects.filter(group__in=[row[0] for row in rows])
    worst = dict(lows.order_by().values_list("group").annotate(worst=Min("reward")))
    points = [_point(*columns) for *columns, _prompt in rows]
    points = [point._replace(worst=worst.get(point.group, point.mean)) for point in points]
    return Timeline(key, rows[0][-1], points, _flips(points))


def _flips(points: Sequence[Point]) -> list[Flip]:
    found = []
    solved = flips.turned([point.solved for point in points])
    if solved is not None:
        what = _("solved from here on") if points[solved].solved else _("not solved from here on")
        found.append(Flip(what, name_of(points[solved]), points[solved].step, points[solved - 1].step))
    looked = points[:: -(-len(points) // MOST_CALLS)] if points else []
    called = flips.turned(_called([point.group for point in looked]))
    if called is not None:
        what = _("calls these tools in this order from here on")
        found.append(Flip(what, name_of(looked[called]), looked[called].step, looked[called - 1].step))
    return found


def _called(groups: Sequence[int]) -> list[tuple[str, ...]]:
    """Names of the tools that the best try of each group called, in order."""
    best: dict[int, int] = {}
    tries = Trajectory.objects.filter(group__in=groups).order_by("group", "-reward", "index")
    for group, pk in tries.values_list("group", "pk"):
        best.setdefault(group, pk)
    records = TrajectoryRecord.objects.filter(pk__in=best.values()).values_list("pk", "messages")
    calls = {pk: tuple(name for name, _arguments in calls_of(messages)) for pk, messages in records}
    return [calls.get(best.get(group, 0), ()) for group in groups]


def tries_of(point: Point) -> list[Trajectory]:
    """Best first."""
    return list(Trajectory.objects.filter(group=point.group).order_by("-reward", "index"))


def name_of(point: Point) -> str:
    """ "Step 3", "Validation after step 5", "Before training"."""
    told = {"step": point.step}
    if point.label == "train":
        return _("Step %(step)s") % told
    if point.label == "validation":
        return _("Validation after step %(step)s") % told
    return str(words.LABELS.get(point.label, point.label))


def _groups(run: Run) -> QuerySet[Group]:
    return run.groups.order_by("step", "pk")


def _point(group: int, label: str, step: int, tries: int, successes: int, mean: float, best: float) -> Point:
    return Point(group, label, step, tries, successes, mean, best, worst=mean)
