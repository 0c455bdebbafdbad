"""Plays a try again from one of its turns and checks it: the program behind the errand "replay".

`python -m training.review.tries.replay_playing REPLAY`: a process of its own, so that nobody keeps torch in
memory afterwards. It writes JSON lines: {"what"} as it goes on, at last {"result"} or {"failed"}. It stores
nothing; that is the errand's business (replay.py).

The tools are those of the run's version, fresh. Calls of the kept part are made again where what they change
lives in the try itself (tables), so that later calls find things as they were; tools that reach outside are
not called again, and what they answered then stands.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "artweb.settings")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import django  # noqa: E402

django.setup()

import torch  # noqa: E402

from gpu_worker import checkpoints  # noqa: E402
from gpu_worker.engines.embedded.directory import ModelError, locate  # noqa: E402
from gpu_worker.engines.embedded.engine import EmbeddedEngine  # noqa: E402
from gpu_worker.environments import ENVIRONMENTS  # noqa: E402
from gpu_worker.environments.authored import Authored  # noqa: E402
from gpu_worker.rollout import MAX_RESULT, bounded, play  # noqa: E402
from gpu_worker.tools.plans import PlanError  # noqa: E402
from gpu_worker.tools.python.signature import CodeError  # noqa: E402
from gpu_worker.tools.tables import TableError  # noqa: E402
from gpu_worker.types import (  # noqa: E402
    AUTHORED,
    Engine,
    Environment,
    Job,
    Message,
    Place,
    Scenario,
    Score,
    Split,
    Tool,
    ToolError,
    Trajectory,
)
from judging.checks import PASSED, text_of  # noqa: E402
from judging.judge import verify  # noqa: E402
from judging.llm import Refused  # noqa: E402
from judging.spending import BudgetSpent, Purse  # noqa: E402
from training.judges.stored import scenarios_of  # noqa: E402
from training.models import Replay  # noqa: E402
from training.review.tries.replay import checkpoint_of, opening_of  # noqa: E402
from training.runs import jobs, mcp_programs, rows  # noqa: E402
from training.runs.outside import outside_for  # noqa: E402
from training.secrets import SecretRefused  # noqa: E402

IN_WORDS = (
    ModelError,
    checkpoints.Broken,
    Refused,
    BudgetSpent,
    PlanError,
    TableError,
    CodeError,
    SecretRefused,
    mcp_programs.Unreadable,
    ValueError,
)
"""Errors that say themselves what went wrong."""
LONGEST_RESULT = 500
"""Characters of a result that differs which are told."""


@dataclass
class Resumed:
    """An environment in which the calls of a kept part were made before the try goes on.

    `differing` are calls whose result is another one now, `left` the names of tools not called again.
    """

    inner: Environment
    kept: Sequence[Message]
    scenario: Scenario
    differing: list[dict[str, Any]] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    name = "resumed"
    title = "Resumed"
    system_prompt = ""
    max_turns = 0

    def tools(self, scenario: Scenario) -> list[Tool]:
        """Of the scenario that was recorded: chance in tools follows from it, not from what was kept."""
        tools = self.inner.tools(self.scenario)
        self.differing.clear()
        self.left.clear()
        self._catch_up({tool.spec.name: tool for tool in tools})
        return tools

    def scenarios(self, split: Split, count: int, seed: int) -> list[Scenario]:
        """The one that goes on."""
        return [self.scenario]

    def reward(self, scenario: Scenario, trajectory: Trajectory) -> Score | None:
        return self.inner.reward(self.scenario, trajectory)

    def _catch_up(self, tools: Mapping[str, Tool]) -> None:
        for number, call, then in answered_calls(self.kept):
            name, tool = call["name"], tools.get(call["name"])
            if tool is None or tool.waits:
                self.left += [name] if name not in self.left else []
                continue
            now = _called(tool, call["arguments"])
            if now != then:
                told = {
                    "message": number,
                    "tool": name,
                    "then": then[:LONGEST_RESULT],
                    "now": now[:LONGEST_RESULT],
                }
                self.differing.append(told)


def answered_calls(messages: Sequence[Message]) -> list[tuple[int, dict[str, Any], str]]:
    """Calls that got an answer: number of the message, {name, arguments}, and what came back."""
    results = {m.get("tool_call_id"): text_of(m) for m in messages if m.get("role") == "tool"}
    return [
        (number, call["function"], results[call["id"]])
        for number, message in enumerate(messages)
        for call in message.get("tool_calls") or ()
        if call.get("id") in results
    ]


def _called(tool: Tool, arguments: str) -> str:
    """As rollout.py answers a call."""
    try:
        return bounded(tool.call(json.loads(arguments)), MAX_RESULT)
    except ToolError as error:
        return bounded(f"Error: {error}", MAX_RESULT)


@dataclass(frozen=True)
class Begun:
    """What is kept of a recorded try, and at which of the run's scenarios it was."""

    scenario: Scenario
    kept: Sequence[Message]
    step: int


def begun(replay: Replay) -> Begun:
    """Read before anything is played. Raises ValueError where the run no longer has the scenario."""
    row = replay.trajectory
    scenario = scenarios_of(row.run).get(row.scenario_key)
    if scenario is None:
        raise ValueError(f"The run does not have the scenario {row.scenario_key!r} any more.")
    return Begun(scenario, row.record.messages[: replay.from_message], replay.step)


async def replayed(begun: Begun, job: Job, environment: Environment, engine: Engine) -> dict[str, Any]:
    """Play it and check it."""
    kept, system = begun.kept, job.system_prompt or environment.system_prompt
    onward = replace(begun.scenario, messages=tuple(opening_of(kept, system)))
    resumed = Resumed(environment, kept, begun.scenario)
    tell(what="catching_up")
    turns = turns_left(job, begun.scenario, kept)
    rest = replace(job, system_prompt=_prompt(kept, system), max_turns=turns)
    tell(what="playing")
    began = time.monotonic()
    played = await play(engine, resumed, rest, onward, Place("test", begun.step, 0), 0)
    seconds = time.monotonic() - began
    tell(what="judging")
    return result(verify(begun.scenario, played, environment), resumed, seconds)


def _prompt(kept: Sequence[Message], system: str) -> str:
    """The system prompt, if the try was given it: else what was kept begins with what it was given."""
    return system if kept and kept[0] == {"role": "system", "content": system} else ""


def turns_left(job: Job, scenario: Scenario, kept: Sequence[Message]) -> int:
    """Those of the kept part count; examples in the scenario do not."""
    before = sum(message.get("role") == "assistant" for message in scenario.messages)
    return max(1, job.max_turns - sum(message.get("role") == "assistant" for message in kept) + before)


def result(judged: Trajectory, resumed: Resumed, seconds: float) -> dict[str, Any]:
    proof = best(judged.scores)
    return rows.plain(
        {
            "messages": list(judged.messages),
            "ended": judged.ended,
            "note": judged.note,
            "scores": [[score.source, score.value, score.explanation] for score in judged.scores],
            "success": proof is not None and proof.value >= PASSED,
            "reward": proof.value if proof else None,
            "differing": resumed.differing,
            "left": resumed.left,
            "seconds": seconds,
        }
    )


def best(scores: Sequence[Score]) -> Score | None:
    """Checks before the environment's own score, as in a run."""
    return next(iter(sorted(scores, key=lambda score: score.source != "checks")), None)


def environment_of(replay: Replay, job: Job, purse: Purse) -> Environment:
    if job.environment != AUTHORED:
        return ENVIRONMENTS[job.environment]
    return Authored(job.tools, outside_for(replay.trajectory.run, purse), job.seed)


def as_asked(replay: Replay, job: Job) -> Job:
    """The run's job with the seed and the temperature that were asked for; tools keep the run's chance."""
    temperature = float(replay.errand.arguments.get("temperature", job.temperature))
    return replace(job, samplers=0, seed=replay.seed, temperature=temperature)


def engine_of(replay: Replay, job: Job) -> EmbeddedEngine:
    """The run's model with the checkpoint's weights, every byte of them verified."""
    engine = EmbeddedEngine(locate(job.base_model), max_context=job.max_context, dtype=job.sampler_dtype)
    if replay.step:
        directory = checkpoint_of(replay.trajectory.run_id, replay.step)
        if directory is None:
            raise ValueError(f"The files of the checkpoint of step {replay.step} are gone.")
        checkpoints.verified(directory)
        engine.use_adapter(directory)
    return engine


def tell(**what: object) -> None:
    print(json.dumps(what, ensure_ascii=False), flush=True)


def main(replay_id: int) -> None:
    torch.set_num_threads(1)
    run = "trajectory__run__"
    beside = ("errand", "trajectory__record", f"{run}version", f"{run}scenarios", f"{run}owner")
    replay = Replay.objects.select_related(*beside).get(pk=replay_id)
    tell(what="loading")
    with TemporaryDirectory() as directory:
        try:
            job = jobs.job_for(replay.trajectory.run)
            purse = Purse(job.budget, Path(directory) / "spending")
            environment, engine = environment_of(replay, job, purse), engine_of(replay, job)
            played = replayed(begun(replay), as_asked(replay, job), environment, engine)
            tell(result=asyncio.run(played))
        except IN_WORDS as error:
            tell(failed=str(error))


if __name__ == "__main__":
    main(int(sys.argv[1]))
