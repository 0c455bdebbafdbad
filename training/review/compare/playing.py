"""Plays and judges what is missing of a comparison: the program behind its errand.

`python -m training.review.compare.playing COMPARISON DOLLARS`: a process of its own, so that nobody keeps
torch in memory afterwards. It writes JSON lines: {"try": …} for every try, {"done", "total", "what", "cost"},
at last {"result"} or {"failed"}. It stores nothing; that is the errand's business (errand.py).

Contenders play one after the other, each the same scenarios with the same seeds, tools and limits. What could
not be played is told with an `error`.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "artweb.settings")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import django  # noqa: E402

django.setup()

import torch  # noqa: E402
from django.utils import translation  # noqa: E402
from django.utils.translation import gettext as _  # noqa: E402

from gpu_worker import checkpoints  # noqa: E402
from gpu_worker.engines.embedded.directory import ModelError, locate  # noqa: E402
from gpu_worker.engines.embedded.engine import EmbeddedEngine  # noqa: E402
from gpu_worker.environments import ENVIRONMENTS  # noqa: E402
from gpu_worker.environments.authored import Authored  # noqa: E402
from gpu_worker.rollout import at_once, play  # noqa: E402
from gpu_worker.types import (  # noqa: E402
    AUTHORED,
    Engine,
    Environment,
    Group,
    Job,
    Judge,
    JudgeFailed,
    Place,
    Scenario,
    Trajectory,
)
from judging.access import Access  # noqa: E402
from judging.agents import Outsider, Spent  # noqa: E402
from judging.judge import judge_for  # noqa: E402
from judging.llm import Model, NoAnswer, Refused  # noqa: E402
from judging.spending import BudgetSpent, Purse  # noqa: E402
from training.judges import providers  # noqa: E402
from training.models import Checkpoint, Comparison  # noqa: E402
from training.review.compare import contenders, held_out, ledger  # noqa: E402
from training.review.compare.contenders import Contender  # noqa: E402
from training.runs import jobs, rows  # noqa: E402
from training.runs.outside import outside_for  # noqa: E402

TOGETHER = 32
"""Tries of a local model that are played at once."""


@dataclass(frozen=True)
class Part:
    """One contender and what it has yet to play: (scenario, its place among the held-out ones).

    `access` is how an outside model is reached, `directory` where a checkpoint lies; `refused` says why it
    cannot be played at all.
    """

    contender: Contender
    todo: Sequence[tuple[Scenario, int]]
    access: Access | None = None
    directory: Path | None = None
    refused: str = ""


class Missing(Exception):
    """A try came to nothing, and not by what the contender did."""


class Table:
    """Where a comparison is played: its job, tools, judge and purse, and how far it is."""

    def __init__(
        self, job: Job, environment: Environment, judge: Judge, purse: Purse, split: str, total: int
    ) -> None:
        self.job, self.environment, self.judge, self.purse = job, environment, judge, purse
        self.split, self.done, self.total = split, 0, total
        self.refused: dict[str, str] = {}
        """Why a contender is asked no more, by its key."""
        self._engine: EmbeddedEngine | None = None

    async def seat(self, part: Part) -> None:
        """Play all that a contender has yet to play. Raises BudgetSpent."""
        if not part.todo:
            return
        self.progress(part.contender.title)
        try:
            if part.refused:
                raise Missing(part.refused)
            engine = self._engine_of(part)
        except (Missing, ModelError) as problem:
            for scenario, _at in part.todo:
                self.tell_try(part.contender, scenario, {"error": str(problem)})
            return
        together = asyncio.Semaphore(min(TOGETHER, part.access.at_once) if part.access else TOGETHER)
        await at_once([_Turn(self, part, engine, *one).taken(together) for one in part.todo])

    def _engine_of(self, part: Part) -> Engine:
        """Raises ModelError or Missing."""
        return Outsider(Model(part.access, purse=self.purse)) if part.access else self._own(part)

    def _own(self, part: Part) -> EmbeddedEngine:
        """The run's model with a checkpoint's weights, or none; every byte of them is verified."""
        job = self.job
        if part.directory is not None:
            _verify(part)
        if self._engine is None:
            self._engine = EmbeddedEngine(
                locate(job.base_model), max_context=job.max_context, dtype=job.sampler_dtype
            )
        self._engine.use_adapter(part.directory)
        return self._engine

    def progress(self, what: str) -> None:
        tell(done=self.done, total=self.total, what=what, cost=self.purse.spent)

    def tell_try(self, contender: Contender, scenario: Scenario, told: dict[str, Any]) -> None:
        self.done += 1
        tell(**{"try": rows.plain({"contender": contender.key, "scenario_key": scenario.id, **told})})
        self.progress(contender.title)


class _Turn:
    """One contender at one scenario."""

    def __init__(self, table: Table, part: Part, engine: Engine, scenario: Scenario, place: int) -> None:
        self.table, self.part, self.engine = table, part, engine
        self.scenario, self.place = scenario, place

    async def taken(self, together: asyncio.Semaphore) -> None:
        async with together:
            try:
                told = await self._played()
            except (NoAnswer, JudgeFailed, Missing) as silent:
                told = {"error": str(silent)}
            except Refused as refused:
                told = {"error": str(refused)}
                self.table.refused[self.part.contender.key] = str(refused)
        self.table.tell_try(self.part.contender, self.scenario, told)

    async def _played(self) -> dict[str, Any]:
        contender, table = self.part.contender, self.table
        if contender.key in table.refused:
            raise Missing(table.refused[contender.key])
        limit = contender.max_tokens or table.job.max_tokens
        job = replace(table.job, temperature=contender.temperature, max_tokens=limit)
        split: Any = table.split
        place = Place(split, 0, self.place)
        began = time.monotonic()
        trajectory = await play(self.engine, table.environment, job, self.scenario, place, 0)
        seconds = time.monotonic() - began
        spent = self._spent(trajectory, f"{split}/0/{self.place}/0")
        judged = await self._judged(_with_limit(trajectory, limit) if contender.outside else trajectory)
        return {
            "success": judged.success,
            "reward": judged.reward,
            "ended": judged.ended,
            "turns": judged.turns,
            "tokens": spent.tokens,
            "seconds": seconds,
            "cost": spent.cost,
            "messages": list(judged.messages),
            "scores": [[score.source, score.value, score.explanation] for score in judged.scores],
        }

    def _spent(self, trajectory: Trajectory, conversation: str) -> Spent:
        if isinstance(self.engine, Outsider):
            return self.engine.spent(conversation)
        return Spent(tokens=sum(sum(segment.mask) for segment in trajectory.segments))

    async def _judged(self, trajectory: Trajectory) -> Trajectory:
        specs = tuple(tool.spec for tool in self.table.environment.tools(self.scenario))
        group = await self.table.judge(Group(0, self.place, self.scenario, specs, (trajectory,)))
        return group.trajectories[0]


def _with_limit(trajectory: Trajectory, limit: int) -> Trajectory:
    """An outside model's tokens are not ours to count: the note names the limit instead."""
    if trajectory.ended != "cut_off":
        return trajectory
    return replace(trajectory, note=f"a turn reached its {limit} tokens")


def _verify(part: Part) -> None:
    """Raises Missing for a checkpoint that is not what it was when it was saved."""
    assert part.directory is not None
    try:
        checkpoints.verified(part.directory)
    except checkpoints.Broken as problem:
        sentence = _("The checkpoint of step %(step)s cannot be used: %(problem)s.")
        raise Missing(sentence % {"step": part.contender.step, "problem": problem}) from problem


def parts_of(comparison: Comparison, job: Job) -> list[Part]:
    """What is missing of each contender: never played, or without an outcome when it was."""
    seen = held_out.of(comparison.run)
    places = seen.places
    by_key = {one.id: one for one in seen.scenarios}
    have = set(comparison.tries.filter(error="").values_list("contender", "scenario_key"))
    found = []
    for contender in contenders.of(comparison):
        missing = [key for key in comparison.scenario_keys if (contender.key, key) not in have]
        todo = [(by_key[key], places[key]) for key in missing if key in by_key]
        found.append(_reached(comparison, Part(contender, todo)))
    return found


def _reached(comparison: Comparison, part: Part) -> Part:
    """With how the contender is reached. Keys are opened here."""
    if part.contender.outside:
        try:
            return replace(part, access=providers.access_for(comparison.owner, part.contender.model))
        except providers.NoProvider as problem:
            return replace(part, refused=str(problem))
    if part.contender.kind == "base":
        return part
    kept = Checkpoint.objects.filter(run=comparison.run, step=part.contender.step, kept=True).first()
    if kept is None:
        return replace(part, refused=_("The files of the checkpoint are gone."))
    return replace(part, directory=Path(kept.directory))


def environment_of(comparison: Comparison, job: Job, purse: Purse) -> Environment:
    if job.environment != AUTHORED:
        return ENVIRONMENTS[job.environment]
    return Authored(job.tools, outside_for(comparison.run, purse), job.seed)


async def play_all(table: Table, parts: Sequence[Part]) -> None:
    for part in parts:
        await table.seat(part)


def played(comparison: Comparison, purse: Purse) -> None:
    """Play it to its end, telling every try. Raises Refused, BudgetSpent, ModelError or ValueError."""
    run = comparison.run
    job = replace(jobs.job_for(run), samplers=0)
    environment = environment_of(comparison, job, purse)
    parts = parts_of(comparison, job)
    judged = tuple(scenario for part in parts for scenario, _at in part.todo)
    access = providers.judge_of(comparison.owner, job)
    judge = judge_for(replace(job, scenarios=judged), environment, access=access, purse=purse)
    total = sum(len(part.todo) for part in parts)
    asyncio.run(play_all(Table(job, environment, judge, purse, comparison.split, total), parts))


def tell(**what: object) -> None:
    print(json.dumps(what, ensure_ascii=False), flush=True)


def main(comparison_id: int, dollars: float) -> None:
    torch.set_num_threads(1)
    related = ("run__version", "run__scenarios", "owner", "errand")
    comparison = Comparison.objects.select_related(*related).get(pk=comparison_id)
    if comparison.errand is not None:
        translation.activate(comparison.errand.arguments["said_in"])
    purse = ledger.purse(comparison, dollars)
    try:
        played(comparison, purse)
        tell(result={}, cost=purse.spent)
    except (Refused, BudgetSpent, ModelError, ValueError, providers.NoProvider) as error:
        tell(failed=str(error))


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
