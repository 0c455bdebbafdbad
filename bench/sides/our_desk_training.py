"""ArtWeb's side of C5: order desk, trained as the product trains it, from the shipped model.

python -m bench.sides.our_desk_training DIRECTORY '{"seed": 0, "limit": 600, "samplers": 2}'
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from bench import desk_race
from bench.sides.training import trained
from gpu_worker.environments import ENVIRONMENTS
from gpu_worker.types import Group, Job, PhaseChanged, Report, StepDone, Wish
from judging.checks import PASSED, check

DESK = ENVIRONMENTS["order_desk"]


async def judge(group: Group) -> Group:
    """The verifiable checks are the reward, on both sides."""
    judged = []
    for trajectory in group.trajectories:
        score = check(group.scenario, trajectory)
        if score is None:
            raise ValueError(f"{group.scenario.id} expects nothing")
        judged.append(replace(trajectory, scores=(score,), reward=score.value, success=score.value >= PASSED))
    return replace(group, trajectories=tuple(judged), judge="checks")


def job_for(directory: str, options: dict[str, int]) -> Job:
    return Job(
        run=f"race-{options['seed']}",
        environment=DESK.name,
        directory=directory,
        scenarios=tuple(DESK.scenarios("train", desk_race.SCENARIOS, 0)),
        system_prompt=DESK.system_prompt,
        seed=options["seed"],
        steps=desk_race.STEPS,
        groups_per_step=desk_race.GROUPS,
        group_size=desk_race.TRIES,
        samplers=options["samplers"],
        final_learning_rate=desk_race.FINAL_RATE,
        eval_every=0,
        eval_scenarios=0,
        keep_checkpoints=desk_race.STEPS + 1,
    )


class Race:
    """Keeps the time and the adapters of a training, and ends it."""

    def __init__(self, limit: float) -> None:
        self.limit, self.began = limit, 0.0
        self.adapters: list[desk_race.Adapter] = []
        self.rewards: list[float] = []
        self.tries = 0.0

    def record(self, report: Report) -> Wish:
        now = time.perf_counter()
        if isinstance(report, PhaseChanged) and not self.began:
            self.began = now
        if not isinstance(report, StepDone):
            return "go"
        seconds = now - self.began
        self.rewards.append(report.metrics["reward"])
        self.tries += report.metrics.get("tries", 0.0)
        if report.step % desk_race.EVERY == 0:
            self.adapters.append(desk_race.Adapter(report.step, seconds, report.checkpoint.directory))
        return "stop" if desk_race.is_over(self.rewards, seconds, self.limit) else "go"


def main() -> None:
    directory, options = sys.argv[1], json.loads(sys.argv[2])
    race = Race(options["limit"])
    trained(job_for(str(Path(directory) / "ours"), options), DESK, judge, race.record)
    told: dict[str, Any] = {"adapters": [vars(one) for one in race.adapters], "rewards": race.rewards}
    print(json.dumps(told | {"tries": race.tries}))


if __name__ == "__main__":
    main()
