"""How the time of a step grows with what is to be computed: the tries of a group, turns, length of prompts.

    python -m bench.sides.work_cost '{"steps": 3, "doublings": 3}' DIRECTORY

Each series doubles one thing and leaves the rest. What there is to compute in a step is the number of its
different tokens: those of prompts and tool results once, however many tries share them, and all sampled
ones. The slope of a series is that of log seconds over log tokens, by least squares; 1 is linear. The figure
is the steepest one.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from torch import Tensor

from bench import t6m
from bench.sides.tasks import Reciting, job_for, judge
from bench.sides.training import trained
from bench.slope import slope
from bench.workload import WARM_UP, Workload
from gpu_worker.environments import ENVIRONMENTS
from gpu_worker.types import (
    Completion,
    Engine,
    Environment,
    Message,
    Report,
    Sampling,
    Scenario,
    Score,
    Split,
    StepDone,
    Tool,
    ToolCall,
    ToolSpec,
    Trajectory,
    Wish,
)

RESULT = t6m.text(16, "tool result")
"""What the tool of every turn answers."""
CONTEXT = 2048


@dataclass(frozen=True)
class Load:
    """One point of a series."""

    group: int = 8
    turns: int = 1
    prompt: int = 256
    tokens: int = 64


class Waiting:
    """Order-desk questions with one tool that is called at the end of every turn, until turns run out."""

    name = "waiting"
    title = "Waiting"
    system_prompt = ENVIRONMENTS["order_desk"].system_prompt
    max_turns = 8

    def scenarios(self, split: Split, count: int, seed: int) -> list[Scenario]:
        return ENVIRONMENTS["order_desk"].scenarios(split, count, seed)

    def tools(self, scenario: Scenario) -> list[Tool]:
        spec = ToolSpec("wait", "Wait for more.", {"type": "object", "properties": {}})
        return [Tool(spec, lambda arguments: RESULT)]

    def reward(self, scenario: Scenario, trajectory: Trajectory) -> Score | None:
        return None


class Calling:
    """An engine whose every turn ends with a call of the one tool, whatever the model said."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    async def chat(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        sampling: Sampling,
        *,
        conversation: str = "",
        seen: Sequence[int] = (),
        on_text: Callable[[str], None] | None = None,
    ) -> Completion:
        said = await self.engine.chat(messages, tools, sampling, conversation=conversation, seen=seen)
        call = ToolCall(f"call-{len(messages)}", "wait", {})
        return replace(said, tool_calls=(call,), finish="stop", problem=None)

    def release(self, conversation: str) -> None:
        self.engine.release(conversation)

    def use_adapter(self, directory: Path | None) -> None:
        self.engine.use_adapter(directory)

    def adopt(self, weights: Mapping[str, Tensor]) -> None:
        self.engine.adopt(weights)


def step_of(load: Load, model: str, steps: int) -> tuple[float, float]:
    """Different tokens, and seconds, of a step: the median one after the warm-up."""
    environment: Environment = Waiting() if load.turns > 1 or model == "embedded" else Reciting(load.prompt)
    ends: list[float] = []
    nodes: list[float] = []

    def record(report: Report) -> Wish:
        if isinstance(report, StepDone):
            ends.append(time.perf_counter())
            nodes.append(report.metrics["nodes"])
        return "go"

    work = Workload(model, "t6m", ("",) * 4 * (WARM_UP + steps), 4, load.group, load.tokens)
    changes = {
        "environment": environment.name,
        "scenarios": tuple(environment.scenarios("train", len(work.prompts), 0)),
        "system_prompt": environment.system_prompt,
        "max_turns": load.turns,
        "max_context": CONTEXT,
    }
    with tempfile.TemporaryDirectory() as directory:
        job = job_for(work, WARM_UP + steps, directory, **changes)
        trained(job, environment, judge, record, Calling if isinstance(environment, Waiting) else _as_it_is)
    seconds = [b - a for a, b in zip(ends[WARM_UP - 1 :], ends[WARM_UP:], strict=False)]
    return statistics.mean(nodes[WARM_UP:]), statistics.median(seconds)


def _as_it_is(engine: Engine) -> Engine:
    return engine


def measured(options: dict[str, int], directory: Path) -> dict[str, Any]:
    big, steps = str(t6m.build(directory / "t6m")), options["steps"]
    doubled = [2**n for n in range(options["doublings"] + 1)]
    series = {
        "tries in a group, 4 to 32": [step_of(Load(group=4 * n), big, steps) for n in doubled],
        "turns in a try, 1 to 8": [step_of(Load(turns=n, tokens=32), "embedded", steps) for n in doubled],
        "tokens of a prompt, 128 to 1,024": [
            step_of(Load(prompt=128 * n, tokens=16), big, steps) for n in doubled
        ],
    }
    slopes = {name: round(slope(points), 3) for name, points in series.items()}
    return {"figure": max(slopes.values()), "slopes": slopes, "series": series}


if __name__ == "__main__":
    print(json.dumps(measured(json.loads(sys.argv[1]), Path(sys.argv[2]))))
