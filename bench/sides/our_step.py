"""ArtWeb's side of C4: the training loop itself, on single-turn tries.

    python -m bench.sides.our_step WORKLOAD.json '{"steps": 4, "samplers": 2}'
    python -m bench.sides.our_step WORKLOAD.json --samples   answers with their log-probabilities

A step is everything between two reports of the loop: playing, judging, advantages, learning, the
checkpoint on disk and the hand-over of the weights.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from bench.sides.learning import learned_logprobs
from bench.sides.tasks import TASKS, job_for, judge
from bench.sides.training import trained
from bench.workload import SAMPLES, WARM_UP, Workload, read_workload
from gpu_worker.engines.embedded.engine import EmbeddedEngine
from gpu_worker.trainers.lora import LoraTrainer
from gpu_worker.types import Completion, Report, Sampling, Segment, StepDone, Wish


def timed(work: Workload, steps: int, samplers: int) -> dict[str, Any]:
    """The median step after the warm-up, and what the steps were made of."""
    ends: list[float] = []
    metrics: list[dict[str, float]] = []

    def record(report: Report) -> Wish:
        if isinstance(report, StepDone):
            ends.append(time.perf_counter())
            metrics.append(report.metrics)
        return "go"

    with tempfile.TemporaryDirectory() as directory:
        job = job_for(work, WARM_UP + steps, directory, samplers=samplers)
        trained(job, TASKS[work.task], judge, record)
    seconds = [b - a for a, b in zip(ends[WARM_UP - 1 :], ends[WARM_UP:], strict=False)]
    return {
        "figure": statistics.median(seconds),
        "seconds": [round(one, 4) for one in seconds],
        "tokens": [step["tokens_sampled"] for step in metrics[WARM_UP:]],
        "metrics": {name: round(value, 5) for name, value in metrics[-1].items()},
    }


async def samples(work: Workload) -> list[dict[str, Any]]:
    """A few answers as the engine sampled them, with its log-probabilities and the learner's."""
    environment = TASKS[work.task]
    engine = EmbeddedEngine(work.model, slots=SAMPLES)
    trainer = LoraTrainer(work.model, job_for(work, 1, ""))
    told = []
    for number, scenario in enumerate(environment.scenarios("train", SAMPLES, work.seed)):
        messages = [{"role": "system", "content": environment.system_prompt}, *scenario.messages]
        specs = [tool.spec for tool in environment.tools(scenario)]
        said = await engine.chat(messages, specs, Sampling(max_tokens=work.max_tokens, seed=number))
        told.append(
            {
                "prompt": engine.chat_form.render(messages, specs),
                "prompt_ids": said.prompt_ids,
                "token_ids": said.token_ids,
                "sampled": said.logprobs,
                "learned": learned_logprobs(trainer, _line(said)),
            }
        )
    return told


def _line(said: Completion) -> Segment:
    given, sampled = len(said.prompt_ids), len(said.token_ids)
    return Segment(
        said.prompt_ids + said.token_ids,
        (0.0,) * given + said.logprobs,
        (False,) * given + (True,) * sampled,
    )


def main() -> None:
    work = read_workload(Path(sys.argv[1]))
    if sys.argv[2] == "--samples":
        print(json.dumps({"samples": asyncio.run(samples(work))}))
    else:
        print(json.dumps(timed(work, **json.loads(sys.argv[2]))))


if __name__ == "__main__":
    main()
