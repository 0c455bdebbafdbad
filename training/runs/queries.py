"""Reads for the home page, a run's page and its live stream.

Everything a run's page shows is a fold of its events up to a sequence number, plus the Run row; so a
page and the frames that follow it can neither overlap nor leave a gap. Nothing here writes.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db.models import Count, Prefetch, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from training.models import Event, Group, Run, StepMetrics, Trajectory
from training.runs import condition, learner, line, words
from training.runs.condition import Steps
from training.runs.eta import Remaining, remaining
from training.runs.prepared import Prepared
from training.runs.sparkline import Sparkline, sparkline

CARDS = 50
TILES = 400
LINES = 500
PAGE = 50

HELD_OUT = ("baseline", "trained")


@dataclass(frozen=True)
class RunCard:
    """A run on the home page."""

    run: Run
    happening: str
    headline: str
    percent: int
    curve: Sparkline | None
    remaining: Remaining | None


@dataclass(frozen=True)
class Status:
    """What the head of a run's page shows; the same for everybody who may look."""

    run: Run
    happening: str
    headline: str
    doing: str
    done: int
    total: int
    percent: int
    step_now: int
    remaining: Remaining | None
    silent: bool

    @property
    def over(self) -> bool:
        return self.run.state in Run.OVER

    @property
    def title(self) -> str:
        """For the browser's tab: how far, what, which."""
        state = self.run.get_state_display()
        shown = f"{self.percent} % {state}" if self.run.state in (*Run.ACTIVE, Run.State.PAUSED) else state
        return f"{shown} · {self.run.name}"

    @property
    def spoken(self) -> str:
        """For screen readers; in tens of per cent, so that it is not read out all the time."""
        return _("%(state)s, %(percent)s %% done") % {
            "state": self.run.get_state_display(),
            "percent": self.percent // 10 * 10,
        }


@dataclass
class Fold:
    """What events say, ready to be drawn. Groups and lines are in the order of the events."""

    first: int
    last: int
    cards: list[Group] = field(default_factory=list)
    tiles: dict[str, list[Group]] = field(default_factory=lambda: {label: [] for label in HELD_OUT})
    curve: list[dict[str, Any]] = field(default_factory=list)
    lines: list[words.Line] = field(default_factory=list)

    @property
    def newest_cards(self) -> list[Group]:
        """The cards a page has room for, newest first."""
        return self.cards[::-1][:CARDS]

    @property
    def walls(self) -> dict[str, list[Group]]:
        """The tiles with every scenario at its own place, the same before and after training."""
        return {label: sorted(tiles, key=lambda group: group.index) for label, tiles in self.tiles.items()}

    @property
    def learner(self) -> list[learner.Row]:
        """The learner's figures of the steps, thinned out where there are more than charts can show."""
        steps = (row for row in self.curve if row["kind"] == "step")
        return learner.thinned([learner.row(row["seq"], row["step"], row["metrics"]) for row in steps])

    @property
    def latest(self) -> dict[str, Any] | None:
        """The newest training step of the curve."""
        return next((row for row in reversed(self.curve) if row["kind"] == "step"), None)


def runs_of(user: User) -> QuerySet[Run]:
    return Run.objects.filter(owner=user).select_related("agent")


def home_mark(user: User) -> str:
    """Changes whenever the home page would look different; costs one query."""
    columns = ("pk", "name", "state", "wish", "step", "queued_at", "finished_at")
    return hashlib.sha256(repr(list(runs_of(user).values_list(*columns)[:200])).encode()).hexdigest()[:12]


def home(user: User) -> dict[str, Any]:
    """The person's runs: going on, waiting, over (newest 30)."""
    runs = runs_of(user)
    active = runs.filter(state__in=[*Run.ACTIVE, Run.State.PAUSED])
    return {
        "mark": home_mark(user),
        "running": [_run_card(run) for run in active],
        "queued": line.waiting(user),
        "over": [_run_card(run) for run in runs.filter(state__in=Run.OVER).order_by("-id")[:30]],
    }


def _run_card(run: Run) -> RunCard:
    steps = condition.recent_steps(run)
    return RunCard(
        run=run,
        happening=words.happening(run),
        headline=words.headline(run),
        percent=_percent(run),
        curve=sparkline(_known(steps, "reward")),
        remaining=_remaining(run, steps),
    )


def _known(steps: Steps, name: str) -> list[float]:
    return [value for metrics in steps.values() if (value := metrics.get(name)) is not None]


def _remaining(run: Run, steps: Steps) -> Remaining | None:
    left = run.steps - run.step
    training = run.state == Run.State.TRAINING and left > 0
    return remaining(_known(steps, "seconds"), left) if training else None


def _percent(run: Run) -> int:
    """How much of the training is done, in finished steps: it never goes back."""
    if run.state in (Run.State.DONE, Run.State.EVALUATING):
        return 100
    return min(100, 100 * run.step // run.steps) if run.steps else 0


def head_key(run: Run) -> tuple[object, ...]:
    """Changes when the head of a run's page must be drawn again; the same in every language.

    How far the work under way has come stands last: nobody minds if only that is shown a little later.
    """
    shown = (run.state, run.wish, run.step, run.steps, run.error, bool(run.summary))
    in_line = line.place_of(run) if run.state == Run.State.QUEUED else 0
    progress = tuple(sorted(run.progress.items()))
    return (*shown, in_line, condition.silent(run), condition.stalled(run), progress)


def status(run: Run, steps: Steps) -> Status:
    progress = run.progress if run.state in Run.ACTIVE else {}
    training = run.state == Run.State.TRAINING
    return Status(
        run=run,
        happening=(run.state == Run.State.QUEUED and line.words_of(run)) or words.happening(run),
        headline=words.headline(run),
        doing=str(words.DOING.get(progress.get("what", ""), "")),
        done=progress.get("done", 0),
        total=progress.get("total", 0),
        percent=_percent(run),
        step_now=min(run.step + 1, run.steps) if training else run.step,
        remaining=_remaining(run, steps),
        silent=condition.silent(run),
    )


def counts(run: Run) -> dict[str, dict[str, int]]:
    """How many unseen scenarios were tried before and after training, and how many succeeded."""
    rows = (
        Group.objects.filter(run=run, label__in=HELD_OUT)
        .order_by()
        .values("label")
        .annotate(tries=Count("pk"), succeeded=Count("pk", filter=Q(successes__gt=0)))
    )
    return {row["label"]: {"tries": row["tries"], "successes": row["succeeded"]} for row in rows}


def first_step(run: Run) -> dict[str, Any] | None:
    """The metrics of the run's first finished step."""
    values: dict[str, Any] | None = (
        StepMetrics.objects.filter(run=run).order_by("step").values_list("values", flat=True).first()
    )
    return values


def fold(events: Sequence[Event], first: int) -> Fold:
    """What `events` (in order, all above `first`) add to the page."""
    groups = _groups(e.payload["group_id"] for e in events if e.kind == "group")
    found = Fold(first=first, last=events[-1].seq if events else first)
    for event in events:
        found.lines.append(words.line(event, groups))
        if event.kind in ("step", "evaluation"):
            found.curve.append(curve_row(event))
        elif event.kind == "group" and event.payload["group_id"] in groups:
            group = groups[event.payload["group_id"]]
            if group.label == "train":
                found.cards.append(group)
            elif group.label in HELD_OUT:
                found.tiles[group.label].append(group)
    return found


def whole_page(run: Run) -> Fold:
    """The fold of all events up to the newest, each list cut to what a page shows."""
    last = run.last_seq
    known = Event.objects.filter(run=run, seq__lte=last)
    lines = list(known.order_by("-seq")[:LINES])[::-1]
    of_groups = known.filter(kind="group").order_by("-seq")
    cards = list(of_groups.filter(payload__label="train")[:CARDS])[::-1]
    tiles = {label: list(of_groups.filter(payload__label=label)[:TILES])[::-1] for label in HELD_OUT}
    wanted = [*lines, *cards, *(event for events in tiles.values() for event in events)]
    groups = _groups(e.payload["group_id"] for e in wanted if e.kind == "group")

    def in_order(events: Sequence[Event]) -> list[Group]:
        return [groups[e.payload["group_id"]] for e in events if e.payload["group_id"] in groups]

    return Fold(
        first=0,
        last=last,
        cards=in_order(cards),
        tiles={label: in_order(events) for label, events in tiles.items()},
        curve=[curve_row(e) for e in known.filter(kind__in=("step", "evaluation")).order_by("seq")],
        lines=[words.line(event, groups) for event in lines],
    )


def lines_before(run: Run, seq: int) -> list[words.Line]:
    """The page of log lines that ends just before `seq`."""
    events = list(Event.objects.filter(run=run, seq__lt=seq).order_by("-seq")[:LINES])[::-1]
    groups = _groups(e.payload["group_id"] for e in events if e.kind == "group")
    return [words.line(event, groups) for event in events]


def _groups(ids: Iterable[int]) -> dict[int, Group]:
    wanted = sorted(set(ids))
    if not wanted:
        return {}
    groups, tries = _cards(len(wanted))
    found = {group.pk: group for group in groups(*wanted)}
    for group in found.values():
        group.drawn = []
    for trajectory in tries(*wanted):
        found[trajectory.group_id].drawn.append(trajectory)
    return found


@lru_cache(maxsize=64)
def _cards(count: int) -> tuple[Prepared[Group], Prepared[Trajectory]]:
    """So many groups by their ids, and the tries of so many groups."""
    ids = range(count)
    return Prepared(_for_cards().filter(pk__in=ids)), Prepared(_drawn().filter(group_id__in=ids))


def _for_cards() -> QuerySet[Group]:
    """Groups with what their cards say, and no long column."""
    return Group.objects.defer("tools", "rubric").order_by()


def _drawn() -> QuerySet[Trajectory]:
    """Tries with what cards draw of each."""
    return Trajectory.objects.only("group_id", "index", "reward", "success").order_by("group_id", "index")


def curve_row(event: Event) -> dict[str, Any]:
    """One row of the curve's table: a training step, or an evaluation with its 95 % interval."""
    payload = event.payload
    if event.kind == "step":
        metrics = payload["metrics"]
        return {
            "kind": "step",
            "seq": event.seq,
            "step": payload["step"],
            "reward": metrics.get("reward"),
            "success": metrics.get("success"),
            "metrics": metrics,
        }
    return {"kind": "evaluation", "seq": event.seq, "name": words.LABELS.get(payload["label"]), **payload}


def groups_page(run: Run, *, label: str, step: int | None, before: int | None) -> list[Group]:
    """A page of a run's groups, newest first; `before` is the id the page before ended with."""
    tries = Prefetch("trajectories", _drawn(), to_attr="drawn")
    groups = _for_cards().filter(run=run).prefetch_related(tries)
    if label:
        groups = groups.filter(label=label)
    if step is not None:
        groups = groups.filter(step=step)
    if before is not None:
        groups = groups.filter(pk__lt=before)
    return list(groups.order_by("-pk")[: PAGE + 1])


def may_watch(run_id: int, sessions: dict[str, int]) -> set[str]:
    """Which of these sessions (key -> user id) are alive and belong to the run's active owner."""
    owners = User.objects.filter(runs=run_id, is_active=True).values_list("pk", flat=True)
    owner = owners.first()
    alive = Session.objects.filter(session_key__in=sessions, expire_date__gt=timezone.now())
    return {key for key in alive.values_list("session_key", flat=True) if sessions[key] == owner}
