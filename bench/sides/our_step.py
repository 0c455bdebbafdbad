"""ArtWeb's side of the grpo-step bar: the training loop itself, on single-turn order-desk tries.

    python bench/grpo_step.py WORKLOAD.json            seconds of each timed step, as JSON
    python bench/grpo_step.py WORKLOAD.json --samples  answers with their log-probabilities, as JSON

A step is everything between two reports of the loop: playing, judging, advantages, learning, the
checkpoint on disk and the swap of the adapter.
"""

import asyncio
import dataclasses
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch  # noqa: E402
from workload import SAMPLES, Workload, read_workload, reward  # noqa: E402

from gpu_worker.engines.embedded.decoder import Decoder  # noqa: E402
from gpu_worker.engines.embedded.engine import EmbeddedEngine  # noqa: E402
from gpu_worker.environments import ENVIRONMENTS  # noqa: E402
from gpu_worker.loop import train  # noqa: E402
from gpu_worker.packing import attention_over, packs, token_logprobs  # noqa: E402
from gpu_worker.trainers.lora import LoraTrainer  # noqa: E402
from gpu_worker.types import (  # noqa: E402
    Completion,
    Group,
    Job,
    Report,
    Sampling,
    Scenario,
    Score,
    Segment,
    StepDone,
    Wish,
)

ENVIRONMENT = ENVIRONMENTS["order_desk"]


def scenarios(count: int, seed: int) -> list[Scenario]:
    return ENVIRONMENT.scenarios("train", count, seed)


def job(work: Workload, directory: str) -> Job:
    """One turn a try, no evaluations, no refills: exactly what the peer is asked to do."""
    return Job(
        run="bench",
        environment=ENVIRONMENT.name,
        base_model=work.model,
        directory=directory,
        scenarios=tuple(scenarios(len(work.prompts), work.seed)),
        seed=work.seed,
        steps=work.warm_up + work.steps,
        groups_per_step=work.prompts_per_step,
        group_size=work.group_size,
        sampling_budget=1.0,
        max_turns=1,
        max_tokens=work.max_tokens,
        learning_rate=work.learning_rate,
        lora_rank=work.lora_rank,
        lora_alpha=work.lora_alpha,
        eval_every=0,
        eval_scenarios=0,
    )


async def judge(group: Group) -> Group:
    judged = []
    for trajectory in group.trajectories:
        said = json.dumps(trajectory.messages[-1])
        score = Score("environment", reward(said, trajectory.index))
        judged.append(dataclasses.replace(trajectory, scores=(score,), reward=score.value))
    return dataclasses.replace(group, trajectories=tuple(judged), judge="bench")


async def timed(work: Workload) -> dict[str, Any]:
    """Seconds and sampled tokens of each step after the warm-up."""
    ends: list[float] = []
    metrics: list[dict[str, float]] = []

    def record(report: Report) -> Wish:
        if isinstance(report, StepDone):
            ends.append(time.perf_counter())
            metrics.append(report.metrics)
        return "go"

    with tempfile.TemporaryDirectory() as directory:
        what = job(work, directory)
        engine = EmbeddedEngine(work.model, slots=work.tries)
        await train(what, ENVIRONMENT, engine, LoraTrainer(work.model, what), judge, record)
    timed_steps = zip(ends[work.warm_up - 1 :], ends[work.warm_up :], strict=False)
    return {
        "seconds": [after - before for before, after in timed_steps],
        "tokens": [step["tokens_sampled"] for step in metrics[work.warm_up :]],
        "metrics": metrics[-1],
    }


async def samples(work: Workload) -> list[dict[str, Any]]:
    """A few answers as the engine sampled them, with its log-probabilities and the learner's."""
    engine = EmbeddedEngine(work.model, slots=SAMPLES)
    policy = LoraTrainer(work.model, job(work, "")).policy
    told = []
    for number, scenario in enumerate(scenarios(SAMPLES, work.seed)):
        system = {"role": "system", "content": ENVIRONMENT.system_prompt}
        specs = [tool.spec for tool in ENVIRONMENT.tools(scenario)]
        sampling = Sampling(max_tokens=work.max_tokens, seed=number)
        said = await engine.chat([system, *scenario.messages], specs, sampling)
        told.append(
            {
                "prompt": engine.chat_form.render([system, *scenario.messages], specs),
                "prompt_ids": said.prompt_ids,
                "token_ids": said.token_ids,
                "sampled": said.logprobs,
                "learned": learned(policy, said),
            }
        )
    return told


def learned(policy: Decoder, said: Completion) -> list[float]:
    """The log-probabilities of an answer as the learner computes them."""
    given = len(said.prompt_ids)
    line = Segment(
        said.prompt_ids + said.token_ids,
        (0.0,) * given + said.logprobs,
        (False,) * given + (True,) * len(said.token_ids),
    )
    (pack,) = packs([(line, 0.0)], len(line.ids))
    with torch.no_grad():
        hidden_NC = policy(pack.ids_N, pack.positions_N, attention_over(pack.edges))
        head_VC = policy.model.embed_tokens.weight if policy.shape.tied else policy.lm_head.weight
        logprobs_M, _ = token_logprobs(hidden_NC[pack.predictors_M], head_VC, pack.targets_M)
    return list(logprobs_M[pack.row_T].tolist())


def main() -> None:
    work = read_workload(Path(sys.argv[1]))
    told = asyncio.run(samples(work) if "--samples" in sys.argv else timed(work))
    print(json.dumps(told))


if __name__ == "__main__":
    main()
