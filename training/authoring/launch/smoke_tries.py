"""Plays a few tries with the untrained model and judges them: the program behind a smoke try.

`python -m training.authoring.launch.smoke_tries AGENT`: a process of its own, so that nobody keeps torch in
memory afterwards. It writes JSON lines: {"done", "total", "what", "cost"} as it goes on, at last {"result"}
or {"failed"}. It stores nothing; that is the errand's business (smoke.py).
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "artweb.settings")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import django  # noqa: E402

django.setup()

import torch  # noqa: E402

from gpu_worker.engines.embedded.directory import ModelError, locate  # noqa: E402
from gpu_worker.engines.embedded.engine import EmbeddedEngine  # noqa: E402
from gpu_worker.environments import ENVIRONMENTS  # noqa: E402
from gpu_worker.environments.authored import Authored  # noqa: E402
from gpu_worker.grpo import is_tied  # noqa: E402
from gpu_worker.players import Local  # noqa: E402
from gpu_worker.types import (  # noqa: E402
    AUTHORED,
    Environment,
    Group,
    Job,
    JudgeFailed,
    Place,
    Scenario,
    Trajectory,
)
from judging.access import Access  # noqa: E402
from judging.judge import judge_for  # noqa: E402
from judging.llm import Refused  # noqa: E402
from judging.spending import BudgetSpent, Purse  # noqa: E402
from training.judges import providers  # noqa: E402
from training.models import Agent  # noqa: E402
from training.runs import jobs, rows, versions  # noqa: E402
from training.runs.outside import outside  # noqa: E402

SCENARIOS, TRIES = 4, 4
LONGEST_RECORD = 20_000
"""Characters of one try that are kept to be shown."""


def job_of(agent: Agent, directory: str) -> Job:
    """The job a run of the agent would have, played in this process."""
    knobs = jobs.frozen_config(agent, {"samplers": 0})
    scenarios = tuple(map(jobs.scenario, jobs.frozen_scenarios(agent)))
    plans = versions.plans_now(agent)
    return Job(run="smoke", directory=directory, scenarios=scenarios, tools=plans, **knobs)


def chosen(scenarios: Sequence[Scenario]) -> list[Scenario]:
    """Practice scenarios from all over the list, the same ones every time."""
    practice = [scenario for scenario in scenarios if scenario.split == "train"]
    apart = max(1, len(practice) // SCENARIOS)
    return practice[::apart][:SCENARIOS]


async def smoke(
    job: Job, environment: Environment, purse: Purse, access: Access | None = None
) -> dict[str, Any]:
    """Play and judge the chosen scenarios. Raises Refused, BudgetSpent or ModelError."""
    picked = chosen(job.scenarios)
    total, done = len(picked) * TRIES, 0
    tell(done=0, total=total, what="loading")
    loading = time.monotonic()
    judge = judge_for(replace(job, scenarios=tuple(picked)), environment, access=access, purse=purse)
    engine = EmbeddedEngine(locate(job.base_model), max_context=job.max_context, dtype=job.sampler_dtype)
    began = time.monotonic()

    def on_try() -> None:
        nonlocal done
        done += 1
        tell(done=done, total=total, what="playing")

    places = [(scenario, Place("train", 1, index)) for index, scenario in enumerate(picked)]
    played = await asyncio.gather(*Local(job, environment, engine).play(places, TRIES, on_try))
    seconds = time.monotonic() - began
    tell(done=total, total=total, what="judging", cost=purse.spent)
    judged, unjudged = [], ""
    for group in played:
        try:
            judged.append(await judge(group))
        except JudgeFailed as failed:
            judged.append(group)
            unjudged = str(failed)
    return result(job, judged, unjudged, seconds=seconds, loading=began - loading, cost=purse.spent)


def result(job: Job, groups: Sequence[Group], unjudged: str, **figures: float) -> dict[str, Any]:
    """What the errand keeps: sums, and every try as it can be shown."""
    tries = [trajectory for group in groups for trajectory in group.trajectories]
    shown = [_shown(job, group) for group in groups]
    return rows.plain(
        {
            "base_model": job.base_model,
            "judge": groups[0].judge if groups else "",
            "unjudged": unjudged,
            "groups": len(groups),
            "tied": sum(group["tied"] for group in shown),
            "tries": len(tries),
            "successes": sum(trajectory.success for trajectory in tries),
            "tokens": sum(sum(segment.mask) for trajectory in tries for segment in trajectory.segments),
            "shown": shown,
            **figures,
        }
    )


def _shown(job: Job, group: Group) -> dict[str, Any]:
    return {
        "scenario": group.scenario.id,
        "tied": is_tied(group.rewards, job.tie_tolerance),
        "successes": sum(trajectory.success for trajectory in group.trajectories),
        "tries": [_try(trajectory) for trajectory in group.trajectories],
    }


def _try(trajectory: Trajectory) -> dict[str, Any]:
    messages = list(trajectory.messages)
    kept = len(json.dumps(messages, ensure_ascii=False)) <= LONGEST_RECORD
    return {
        "reward": trajectory.reward,
        "success": trajectory.success,
        "ended": trajectory.ended,
        "note": trajectory.note,
        "scores": [[score.source, score.value, score.explanation] for score in trajectory.scores],
        "messages": messages if kept else messages[:2],
    }


def environment_of(agent: Agent, job: Job, purse: Purse) -> Environment:
    if job.environment != AUTHORED:
        return ENVIRONMENTS[job.environment]
    return Authored(job.tools, outside(agent.owner, job.tools, purse), job.seed)


def tell(**what: object) -> None:
    print(json.dumps(what, ensure_ascii=False), flush=True)


def main(agent_id: int) -> None:
    torch.set_num_threads(1)
    agent = Agent.objects.select_related("owner").get(pk=agent_id)
    with TemporaryDirectory() as directory:
        job = job_of(agent, directory)
        purse = Purse(job.budget, Path(directory) / "spending")
        try:
            access, environment = providers.judge_of(agent.owner, job), environment_of(agent, job, purse)
            tell(result=asyncio.run(smoke(job, environment, purse, access)))
        except (providers.NoProvider, Refused, BudgetSpent, ModelError, ValueError) as error:
            tell(failed=str(error))


if __name__ == "__main__":
    main(int(sys.argv[1]))
