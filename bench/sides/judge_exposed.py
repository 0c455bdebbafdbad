"""How much of a step passes with waiting for the judge alone.

    python -m bench.sides.judge_exposed '{"groups": 32, "turns": 6, "tokens": 64, "steps": 3, "ahead": 0, …}'

The whole loop trains, once with a judge behind HTTP that takes `milliseconds` a call and once with one
that says the same at once, so both play and learn the same. Every try takes all its turns. The figure is
the larger one of two, in per cent of a step: the seconds that the loop itself reports as waiting for the
judge, and by how much a step is longer than with the judge that takes no time (which also counts what
asking costs the machine).
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from bench.sides.training import trained
from bench.sides.work_cost import CONTEXT, Calling, Waiting
from bench.workload import WARM_UP
from gpu_worker.types import Group, Job, Judge, Report, StepDone, Wish
from judging.access import Access
from judging.judge import judge_for


@contextmanager
def provider(seconds: float) -> Iterator[str]:
    """The address of a judge's provider in a process of its own."""
    command = [sys.executable, "-m", "bench.sides.judge_provider", str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.kill()


class Kept:
    """What a judge said of each group, to be said again without asking: so both trainings are the same."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._said: dict[tuple[int, int], Group] = {}

    async def asked(self, group: Group) -> Group:
        said = self._said[group.step, group.index] = await self._judge(group)
        return said

    async def at_once(self, group: Group) -> Group:
        said = self._said[group.step, group.index]
        if [t.messages for t in said.trajectories] != [t.messages for t in group.trajectories]:
            raise SystemExit("The two trainings are not the same.")
        return said


def job_of(told: dict[str, int], directory: str) -> Job:
    steps = told["steps"] + WARM_UP
    return Job(
        run="bench",
        environment=Waiting.name,
        directory=directory,
        scenarios=tuple(Waiting().scenarios("train", told["groups"] * steps, 0)),
        system_prompt=Waiting.system_prompt,
        steps=steps,
        groups_per_step=told["groups"],
        group_size=told["group"],
        sampling_budget=1.0,
        curriculum=False,
        samplers=told["samplers"],
        off_policy_steps=told["ahead"],
        max_turns=told["turns"],
        max_tokens=told["tokens"],
        max_context=CONTEXT,
        eval_every=0,
        judge_model="openai/scripted",
    )


def steps_of(told: dict[str, int], judge: Judge) -> dict[str, Any]:
    """The median step after the warm-up and what the loop says of it."""
    ends: list[float] = []
    metrics: list[dict[str, float]] = []

    def record(report: Report) -> Wish:
        if isinstance(report, StepDone):
            ends.append(time.perf_counter())
            metrics.append(report.metrics)
        return "go"

    with tempfile.TemporaryDirectory() as directory:
        trained(job_of(told, directory), Waiting(), judge, record, Calling)
    seconds = [b - a for a, b in zip(ends[WARM_UP - 1 :], ends[WARM_UP:], strict=False)]
    shares = [step["judge_seconds"] / step["seconds"] for step in metrics[WARM_UP:]]
    return {
        "seconds": round(statistics.median(seconds), 3),
        "share": statistics.median(shares),
        "tokens": statistics.mean(step["tokens_sampled"] for step in metrics[WARM_UP:]),
        "step": {name: round(value, 4) for name, value in metrics[-1].items() if name.endswith("_seconds")},
    }


def measured(told: dict[str, int]) -> dict[str, Any]:
    with provider(told["milliseconds"] / 1000) as address:
        access = Access("openai/scripted", address, "none", at_once=told["at_once"])
        kept = Kept(judge_for(job_of(told, ""), Waiting(), access=access))
        judged = steps_of(told, kept.asked)
    without = steps_of(told, kept.at_once)
    longer = 1 - without["seconds"] / judged["seconds"]
    return {
        "figure": round(100 * max(judged["share"], longer), 2),
        "reported": round(100 * judged["share"], 2),
        "longer": round(100 * longer, 2),
        "judged": judged,
        "at once": without,
    }


if __name__ == "__main__":
    print(json.dumps(measured(json.loads(sys.argv[1]))))
