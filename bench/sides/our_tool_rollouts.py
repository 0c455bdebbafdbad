"""ArtWeb's side of C2: rounds of multi-turn tries with tools, as a training plays them.

    python -m bench.sides.our_tool_rollouts scripted MODEL '{"rounds": 4, "prompts": 4, "group": 8, …}'
    python -m bench.sides.our_tool_rollouts desk MODEL OPTIONS --samples   tries for the gate

“scripted” is the task of bench/scripted.py: the engine samples as ever, only what a turn means is decided
here. “desk” is order desk as it is, with the calls that the model makes.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch

from bench import scripted
from bench.workload import WARM_UP
from gpu_worker import freed_memory
from gpu_worker.crew import players
from gpu_worker.engines.embedded.engine import EmbeddedEngine
from gpu_worker.environments import ENVIRONMENTS
from gpu_worker.types import (
    Completion,
    Environment,
    Group,
    Job,
    Message,
    Place,
    Players,
    Scenario,
    Score,
    Split,
    Tool,
    ToolCall,
    ToolSpec,
    Trajectory,
)


class Scripted:
    """The scripted task as an environment."""

    name = "scripted"
    title = "Scripted tools"
    system_prompt = scripted.SYSTEM
    max_turns = scripted.TURNS

    def scenarios(self, split: Split, count: int, seed: int) -> list[Scenario]:
        return [
            Scenario(f"{split}-{number}", split, ({"role": "user", "content": scripted.question(number)},))
            for number in range(count)
        ]

    def tools(self, scenario: Scenario) -> list[Tool]:
        spec = ToolSpec(scripted.TOOL, "Look around.", {"type": "object", "properties": {}})
        return [Tool(spec, lambda arguments: scripted.RESULT)]

    def reward(self, scenario: Scenario, trajectory: Trajectory) -> Score | None:
        return None


class ScriptedEngine(EmbeddedEngine):
    """Samples as ever; each turn but the last is then taken for a call, which no text stands for."""

    async def chat(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *rest: Any, **named: Any
    ) -> Completion:
        without_calls = [{k: v for k, v in m.items() if k != "tool_calls"} for m in messages]
        said = await super().chat(without_calls, tools, *rest, **named)
        turn = sum(message["role"] == "assistant" for message in messages)
        calls = (ToolCall("call", scripted.TOOL, {}),) if turn < scripted.TURNS - 1 else ()
        return replace(said, tool_calls=calls, finish="stop", problem=None)


TASKS: dict[str, Environment] = {"scripted": Scripted(), "desk": ENVIRONMENTS["order_desk"]}
ENGINES = {"scripted": ScriptedEngine, "desk": EmbeddedEngine}


def job_for(task: str, model: str, options: dict[str, int]) -> Job:
    environment = TASKS[task]
    return Job(
        run="bench",
        environment=environment.name,
        base_model=model,
        scenarios=tuple(
            environment.scenarios("train", options["prompts"] * (options["rounds"] + WARM_UP), 0)
        ),
        system_prompt=environment.system_prompt,
        group_size=options["group"],
        samplers=options["samplers"],
        max_turns=environment.max_turns,
        max_tokens=scripted.TURN_TOKENS if task == "scripted" else 96,
    )


def played(
    task: str, model: str, options: dict[str, int], rounds: int | None = None
) -> list[tuple[float, list[Group]]]:
    """Seconds and groups of the first `rounds` rounds, or of all."""
    job = job_for(task, model, options)
    engine = ENGINES[task]
    with players(job, TASKS[task], lambda: engine(model, max_context=job.max_context), {}) as crew:
        return asyncio.run(_rounds(crew, job, options["prompts"], rounds))


async def _rounds(
    crew: Players, job: Job, prompts: int, count: int | None
) -> list[tuple[float, list[Group]]]:
    await crew.use({}, 0)
    rounds = []
    for at in list(range(0, len(job.scenarios), prompts))[:count]:
        round_ = [(job.scenarios[at + n], Place("train", 1, at + n)) for n in range(prompts)]
        began = time.perf_counter()
        groups = await asyncio.gather(*crew.play(round_, job.group_size, lambda: None))
        rounds.append((time.perf_counter() - began, groups))
    return rounds


def timed(rounds: list[tuple[float, list[Group]]], task: str) -> dict[str, Any]:
    """Tries a second in each round after the warm-up."""
    rates = []
    for seconds, groups in rounds:
        tries = [trajectory for group in groups for trajectory in group.trajectories]
        if task == "scripted" and any(len(t.segments[0].ids) != scripted.TRY_TOKENS for t in tries):
            raise RuntimeError("a scripted try has another length than it should have")
        rates.append(len(tries) / seconds)
    tokens = [sum(t.turns for t in group.trajectories) for _, groups in rounds for group in groups]
    return {
        "figure": statistics.median(rates[WARM_UP:]),
        "rounds": [round(rate, 2) for rate in rates],
        "turns_a_try": round(statistics.fmean(tokens) / len(rounds[0][1][0].trajectories), 2),
    }


def samples(groups: Sequence[Group]) -> list[dict[str, Any]]:
    """The first try of each group: ids, which were sampled, and their log-probabilities."""
    told = []
    for group in groups:
        (line, *_) = group.trajectories[0].segments
        given = line.mask.index(True)
        told.append(
            {
                "prompt_ids": line.ids[:given],
                "ids": line.ids,
                "mask": line.mask,
                "logprobs": [value for value, taken in zip(line.logprobs, line.mask, strict=True) if taken],
            }
        )
    return told


def main() -> None:
    torch.set_num_threads(1)
    freed_memory.keep()  # as a worker does before it trains
    task, model, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    if "--samples" in sys.argv:
        (_, groups), *_ = played(task, model, options, 1)
        print(json.dumps({"samples": samples(groups)}))
    else:
        print(json.dumps(timed(played(task, model, options), task)))


if __name__ == "__main__":
    main()
