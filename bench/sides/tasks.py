"""ArtWeb's side of what is played in the bars: the task, its prompts, its job, a judge that costs nothing.

As a program it writes DIRECTORY/workload.json, what both sides are given:
    python -m bench.sides.tasks t6m '{"prompts": 4, "steps": 5, "group": 8, "tokens": 64}' DIRECTORY
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from pathlib import Path
from typing import Any, Literal

os.environ.setdefault("OMP_NUM_THREADS", "1")

from bench import t6m
from bench.workload import WARM_UP, Workload, reward
from gpu_worker.engines.embedded.chat import Chat
from gpu_worker.engines.embedded.directory import locate
from gpu_worker.environments import ENVIRONMENTS
from gpu_worker.types import Environment, Group, Job, Scenario, Score, Split, Tool, Trajectory

PROMPT_TOKENS = 256
SYSTEM_WORDS = 16
TaskName = Literal["t6m", "desk"]


class Reciting:
    """Random words to answer with more of them: prompts of exactly so many tokens, no tools, one turn."""

    name = "t6m"
    title = "T6M"
    system_prompt = t6m.text(SYSTEM_WORDS, "system")
    max_turns = 1

    def __init__(self, prompt_tokens: int = PROMPT_TOKENS) -> None:
        self.prompt_tokens = prompt_tokens

    def scenarios(self, split: Split, count: int, seed: int) -> list[Scenario]:
        words = self.prompt_tokens - SYSTEM_WORDS - 3 * t6m.TEMPLATE_TOKENS
        texts = [t6m.text(words, f"{split} {seed} {number}") for number in range(count)]
        return [
            Scenario(f"{split}-{number}", split, ({"role": "user", "content": text},))
            for number, text in enumerate(texts)
        ]

    def tools(self, scenario: Scenario) -> list[Tool]:
        return []

    def reward(self, scenario: Scenario, trajectory: Trajectory) -> Score | None:
        return None


TASKS: dict[str, Environment] = {"t6m": Reciting(), "desk": ENVIRONMENTS["order_desk"]}


def write_workload(task: TaskName, options: dict[str, int], directory: Path) -> Path:
    """The prompts of options["steps"] steps and the warm-up, as text, and the model they are for."""
    model = t6m.build(directory / "t6m") if task == "t6m" else locate("embedded")
    environment, chat = TASKS[task], Chat(model)
    count = options["prompts"] * (options["steps"] + WARM_UP)
    system = {"role": "system", "content": environment.system_prompt}
    prompts = [
        chat.render([system, *scenario.messages], [tool.spec for tool in environment.tools(scenario)])
        for scenario in environment.scenarios("train", count, 0)
    ]
    work = Workload(str(model), task, tuple(prompts), options["prompts"], options["group"], options["tokens"])
    work.write(directory / "workload.json")
    return directory / "workload.json"


def job_for(work: Workload, steps: int, directory: str, **changes: Any) -> Job:
    """One turn a try, no evaluations, no refills: exactly what the peer is asked to do."""
    environment = TASKS[work.task]
    job = Job(
        run="bench",
        environment=environment.name,
        base_model=work.model,
        directory=directory,
        scenarios=tuple(environment.scenarios("train", len(work.prompts), work.seed)),
        system_prompt=environment.system_prompt,
        seed=work.seed,
        steps=steps,
        groups_per_step=work.prompts_per_step,
        group_size=work.group_size,
        sampling_budget=1.0,
        curriculum=False,
        max_turns=1,
        max_tokens=work.max_tokens,
        learning_rate=work.learning_rate,
        lora_rank=work.lora_rank,
        lora_alpha=work.lora_alpha,
        eval_every=0,
        eval_scenarios=0,
    )
    return dataclasses.replace(job, **changes)


async def judge(group: Group) -> Group:
    """The cheap reward that both sides get."""
    judged = []
    for trajectory in group.trajectories:
        said = json.dumps(trajectory.messages[-1])
        score = Score("environment", reward(said, trajectory.index))
        judged.append(dataclasses.replace(trajectory, scores=(score,), reward=score.value))
    return dataclasses.replace(group, trajectories=tuple(judged), judge="bench")


if __name__ == "__main__":
    name: TaskName = "t6m" if sys.argv[1] == "t6m" else "desk"
    written = write_workload(name, json.loads(sys.argv[2]), Path(sys.argv[3]))
    print(json.dumps({"workload": str(written)}))
