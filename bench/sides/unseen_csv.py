"""A table nobody has seen: from its bytes to tools, sixty questions, a training and its own held-out test.

    python -m bench.sides.unseen_csv '{"table": "german", "seed": 0, "questions": 60, "steps": 0, "more": 0}'

The figure is by how many points success rises on the held-out questions, if all of it, from reading the file
to the last evaluation, took LIMIT seconds or less, and 0 otherwise. `steps` 0 takes what the product takes;
`more` asks that many further held-out questions before and after, off the clock, for a less noisy figure.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from bench.sides.training import trained
from bench.unseen_tables import upload
from gpu_worker.engines.embedded.engine import EmbeddedEngine
from gpu_worker.rollout import at_once, play
from gpu_worker.tools import tables
from gpu_worker.tools.tables import reading
from gpu_worker.types import (
    Evaluation,
    Job,
    Outcome,
    Place,
    Report,
    Scenario,
    Score,
    Split,
    StepDone,
    Tool,
    ToolPlan,
    Trajectory,
    Wish,
)
from judging.checks import PASSED, check
from judging.judge import judge_for
from training.authoring.studio import questions

LIMIT = 300.0
"""Seconds the whole may take."""
SYSTEM = "You answer questions about {name}. Look things up first, then answer."


@dataclass
class Desk:
    """An environment made of one uploaded table: its tools and the questions about it."""

    plans: tuple[ToolPlan, ...]
    path: Path
    asked: tuple[Scenario, ...]
    system_prompt: str
    name: str = "uploaded"
    title: str = "Uploaded"
    max_turns: int = 6

    def scenarios(self, split: Split, count: int, seed: int) -> list[Scenario]:
        return [scenario for scenario in self.asked if scenario.split == split][:count]

    def tools(self, scenario: Scenario) -> list[Tool]:
        live = tables.open_table(self.path).for_one_try()
        return [tables.table_tool(plan, live) for plan in self.plans]

    def reward(self, scenario: Scenario, trajectory: Trajectory) -> Score | None:
        return None


def read(table: str, directory: Path) -> tuple[str, tables.StoredTable, tuple[ToolPlan, ...]]:
    """An upload as the product takes it: read, stored, made into tools."""
    sent = upload(table)
    path = directory / "upload"
    path.write_bytes(sent.content)
    sheet = reading.read(path, sent.filename)
    sha256, stored = tables.save(sheet, directory)
    plans = tables.standard_plans(sheet.name, sheet.columns, sha256=sha256)
    return sheet.name, tables.open_table(stored), tuple(plans)


def asked(
    name: str, stored: tables.StoredTable, plans: Sequence[ToolPlan], told: dict[str, Any]
) -> tuple[tuple[Scenario, ...], tuple[Scenario, ...]]:
    """The questions of a run, and further ones for a second test that share no row with them."""
    table, seed = questions.QuestionTable(name, stored), told["seed"]
    first = questions.invent([table], plans, count=told["questions"], seed=seed)
    further = questions.invent(
        [table], plans, count=told["more"], seed=seed + 1, avoid=first, shares=(0, 0, 1)
    )
    return tuple(one.scenario for one in first), tuple(one.scenario for one in further)


def job_of(told: dict[str, Any], desk: Desk, directory: Path) -> Job:
    """The defaults of the product; `steps` 0 takes its own too."""
    job = Job(
        run=f"{told['table']}-{told['seed']}",
        environment=desk.name,
        directory=str(directory / "run"),
        scenarios=desk.asked,
        system_prompt=desk.system_prompt,
        seed=told["seed"],
        reward="checks",
    )
    knobs = {"steps": told["steps"]} if told["steps"] else {}
    return replace(job, **knobs | told.get("knobs", {}))


def measured(told: dict[str, Any], directory: Path) -> dict[str, Any]:
    began = time.monotonic()
    name, stored, plans = read(told["table"], directory)
    scenarios, further = asked(name, stored, plans, told)
    prepared = time.monotonic() - began
    desk = Desk(plans, stored.path, scenarios, SYSTEM.format(name=name))
    job, watched = job_of(told, desk, directory), Watched()
    summary = trained(job, desk, judge_for(job, desk), watched.record)
    seconds = time.monotonic() - began
    before, after = summary.baseline, summary.trained
    if before is None or after is None:
        raise ValueError("There are no held-out questions.")
    rise = 100 * (after.success - before.success)
    return {
        "figure": round(rise, 1) if seconds <= LIMIT else 0.0,
        "table": told["table"],
        "seed": told["seed"],
        "seconds": round(seconds, 1),
        "prepared_s": round(prepared, 1),
        "baseline": _told(before, scenarios),
        "trained": _told(after, scenarios),
        "further": [
            _told(examined(desk, job, further, adapter), further) for adapter in (None, watched.adapter)
        ],
        "rewards": watched.rewards,
    }


def _told(evaluation: Evaluation, scenarios: Sequence[Scenario]) -> dict[str, Any]:
    """The share of an examination that was solved, and of each kind how many of how many."""
    solved = {outcome.scenario_id: outcome.success for outcome in evaluation.outcomes}
    kinds: dict[str, list[bool]] = {}
    for scenario in scenarios:
        if scenario.id in solved:
            kinds.setdefault(scenario.tags[0], []).append(solved[scenario.id])
    by_kind = {kind: f"{sum(those)}/{len(those)}" for kind, those in kinds.items()}
    return {"success": round(evaluation.success, 3), "of": len(solved), **by_kind}


def examined(desk: Desk, job: Job, scenarios: Sequence[Scenario], adapter: Path | None) -> Evaluation:
    """One try at each of these questions; with None the base model is asked."""
    engine = EmbeddedEngine(job.base_model, slots=16, max_context=job.max_context)
    engine.use_adapter(adapter)

    async def tries() -> list[Trajectory]:
        places = (Place("test", 0, index) for index in range(len(scenarios)))
        pairs = zip(scenarios, places, strict=True)
        return await at_once([play(engine, desk, job, scenario, place, 0) for scenario, place in pairs])

    scores = [check(one, tried) for one, tried in zip(scenarios, asyncio.run(tries()), strict=True)]
    values = [score.value if score else 0.0 for score in scores]
    outcomes = tuple(
        Outcome(one.id, value >= PASSED, value) for one, value in zip(scenarios, values, strict=True)
    )
    return Evaluation("trained" if adapter else "baseline", 0, "test", outcomes)


class Watched:
    """The reward of each step, and the newest adapter."""

    def __init__(self) -> None:
        self.rewards: list[float] = []
        self.adapter: Path | None = None

    def record(self, report: Report) -> Wish:
        if isinstance(report, StepDone):
            self.rewards.append(round(report.metrics["reward"], 3))
            self.adapter = Path(report.checkpoint.directory)
        return "go"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        print(json.dumps(measured(json.loads(sys.argv[1]), Path(directory)), ensure_ascii=False))
