"""ArtWeb's side of C1 and C1b: rounds of tries as a training plays them, in `samplers` processes.

    python -m bench.sides.our_rollouts WORKLOAD.json '{"dtypes": ["float32"], "samplers": 2}'
    python -m bench.sides.our_rollouts WORKLOAD.json --samples   tries and first tokens for the gate

A round is dealt out, played and collected through the same crew that a training uses, log-probabilities
included. With several dtypes each is timed, and the figure is the fastest one's.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch

from bench.sides.tasks import TASKS, job_for
from bench.workload import WARM_UP, Workload, read_workload
from gpu_worker import freed_memory
from gpu_worker.crew import players
from gpu_worker.engines.embedded.engine import EmbeddedEngine
from gpu_worker.rollout import at_once
from gpu_worker.types import Group, Job, Message, Place, Players, Sampling, Scenario, ToolSpec

FIRST_TOKENS = 4096
"""Draws of a first token for the chi-square test."""


def timed(work: Workload, dtype: Literal["float32", "bfloat16"], samplers: int) -> dict[str, Any]:
    """Sampled tokens a second in each round after the warm-up."""
    job = job_for(work, 1, "", samplers=samplers, sampler_dtype=dtype)

    def engine() -> EmbeddedEngine:
        return EmbeddedEngine(job.base_model, max_context=job.max_context, dtype=job.sampler_dtype)

    with players(job, TASKS[work.task], engine, {}) as crew:
        rates = asyncio.run(_rounds(crew, job, work))
    return {"figure": statistics.median(rates[WARM_UP:]), "rounds": [round(rate) for rate in rates]}


async def _rounds(crew: Players, job: Job, work: Workload) -> list[float]:
    await crew.use({}, 0)
    return [
        await rate_of(crew, job.scenarios[at : at + work.prompts_per_step], at, work)
        for at in range(0, len(job.scenarios), work.prompts_per_step)
    ]


async def rate_of(crew: Players, scenarios: Sequence[Scenario], first: int, work: Workload) -> float:
    """Play a group at each scenario; tokens sampled a second."""
    round_ = [(one, Place("train", 1, first + at)) for at, one in enumerate(scenarios)]
    began = time.perf_counter()
    groups: list[Group] = await asyncio.gather(*crew.play(round_, work.group_size, lambda: None))
    seconds = time.perf_counter() - began
    sampled = sum(sum(s.mask) for group in groups for t in group.trajectories for s in t.segments)
    if sampled != len(scenarios) * work.group_size * work.max_tokens:
        raise RuntimeError(f"{sampled} tokens were sampled, not as many as asked for")
    return sampled / seconds


async def samples(work: Workload) -> dict[str, Any]:
    """One try at each prompt of a round with its log-probabilities, and many first tokens of the first."""
    engine = EmbeddedEngine(work.model)
    environment = TASKS[work.task]
    asked: list[tuple[list[Message], list[ToolSpec]]] = [
        (
            [{"role": "system", "content": environment.system_prompt}, *scenario.messages],
            [tool.spec for tool in environment.tools(scenario)],
        )
        for scenario in environment.scenarios("train", work.prompts_per_step, work.seed)
    ]
    said = await at_once(
        [engine.chat(*one, Sampling(max_tokens=work.max_tokens, seed=at)) for at, one in enumerate(asked)]
    )
    first = await at_once(
        [engine.chat(*asked[0], Sampling(max_tokens=1, seed=1000 + seed)) for seed in range(FIRST_TOKENS)]
    )
    return {
        "samples": [
            {"prompt_ids": one.prompt_ids, "token_ids": one.token_ids, "logprobs": one.logprobs}
            for one in said
        ],
        "first_tokens": [one.token_ids[0] for one in first],
    }


def main() -> None:
    torch.set_num_threads(1)
    freed_memory.keep()  # as a worker does before it trains
    work = read_workload(Path(sys.argv[1]))
    if sys.argv[2] == "--samples":
        print(json.dumps(asyncio.run(samples(work))))
        return
    asked = json.loads(sys.argv[2])
    told = {dtype: timed(work, dtype, asked["samplers"]) for dtype in asked["dtypes"]}
    print(json.dumps({"figure": max(one["figure"] for one in told.values()), "by_dtype": told}))


if __name__ == "__main__":
    main()
