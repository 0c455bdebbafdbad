"""The scenarios a run never practised on, and the tries its own evaluations made at them.

The place of a scenario among those of its split decides the seeds of its tries, so a try that the run has
recorded is the very try a comparison would play, if the temperature is the same.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from gpu_worker.types import Job, Scenario
from training.models import ComparisonTry, Group, Run, Trajectory
from training.review.compare.contenders import Contender
from training.runs.jobs import scenario


@dataclass(frozen=True)
class HeldOut:
    """A run's unseen scenarios in the run's order. `split` is test, or val for a run without test ones."""

    split: str
    scenarios: tuple[Scenario, ...]

    @property
    def tags(self) -> dict[str, int]:
        """How many scenarios bear each tag, the commonest first."""
        return dict(Counter(tag for one in self.scenarios for tag in dict.fromkeys(one.tags)).most_common())

    @property
    def places(self) -> dict[str, int]:
        return {one.id: place for place, one in enumerate(self.scenarios)}

    def chosen(self, count: int, tags: Collection[str] = ()) -> list[str]:
        """Keys of the first `count` scenarios that bear any of the tags; no tags are all tags."""
        fitting = [one.id for one in self.scenarios if not tags or set(tags) & set(one.tags)]
        return fitting[:count]


def of(run: Run) -> HeldOut:
    every = [scenario(value) for value in run.scenarios.values]
    split = "test" if any(one.split == "test" for one in every) else "val"
    return HeldOut(split, tuple(one for one in every if one.split == split))


def temperature(run: Run) -> float:
    """What the run's own evaluations sample at."""
    return float(run.config.get("temperature", Job.temperature))


def recorded(run: Run, held_out: HeldOut, keys: Sequence[str], contender: Contender) -> list[ComparisonTry]:
    """Tries of the run's own evaluations that are this contender's; not saved."""
    if contender.outside or contender.temperature != temperature(run):
        return []
    rows = _rows(run, held_out, keys, contender).select_related("record").defer("record__segments")
    return [_as_try(row, contender) for row in _in_place(rows.prefetch_related("scores"), held_out)]


def recorded_count(run: Run, held_out: HeldOut, keys: Sequence[str], contender: Contender) -> int:
    """How many those are."""
    if contender.outside or contender.temperature != temperature(run):
        return 0
    return len(_in_place(_rows(run, held_out, keys, contender), held_out))


def _rows(run: Run, held_out: HeldOut, keys: Sequence[str], contender: Contender) -> QuerySet[Trajectory]:
    groups = _evaluated(run, held_out.split, contender)
    found = Trajectory.objects.filter(group__in=groups, index=0, scenario_key__in=keys)
    return found.select_related("group")


def _in_place(rows: Iterable[Trajectory], held_out: HeldOut) -> list[Trajectory]:
    places = held_out.places
    return [row for row in rows if places.get(row.scenario_key) == row.group.index]


def _evaluated(run: Run, split: str, contender: Contender) -> QuerySet[Group]:
    """The groups of the evaluation of these weights, if there was one."""
    if contender.kind == "base":
        label, step = "baseline", 0
    else:
        label, step = ("trained" if split == "test" else "validation"), contender.step
    return Group.objects.filter(run=run, label=label, split=split, step=step, tries=1)


def _as_try(row: Trajectory, contender: Contender) -> ComparisonTry:
    return ComparisonTry(
        contender=contender.key,
        scenario_key=row.scenario_key,
        success=row.success,
        reward=row.reward,
        ended=row.ended,
        turns=row.turns,
        tokens=row.sampled_tokens,
        cost=0.0,
        messages=row.record.messages,
        scores=[
            [score.source, score.value, score.explanation]
            for score in row.scores.all()
            if score.source != "human"
        ],
    )
