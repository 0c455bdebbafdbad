"""Records a batch of tries for the learners of both sides, on disk as DIRECTORY/recording.json.

What is recorded is played by our engine (t6m, desk) or random (any shape of `bench/shapes.py`):
    python -m bench.sides.record desk '{"prompts": 4, "group": 8, "tokens": 64}' DIRECTORY
    python -m bench.sides.record 4b '{"prompt_tokens": 2048, …as above}' DIRECTORY
Rewards come from the same cheap function as everywhere in the bars, so no group is tied.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from bench import t6m
from bench.shapes import SHAPES
from bench.sides.tasks import TASKS, job_for, judge
from bench.workload import Recording, Try, Workload
from gpu_worker.engines.embedded.directory import locate
from gpu_worker.engines.embedded.engine import EmbeddedEngine
from gpu_worker.grpo import advantages
from gpu_worker.rollout import play_group
from gpu_worker.types import Group, Place

SHARD = "4GB"
Dtype = Literal["float32", "bfloat16"]


def played(task: str, options: dict[str, int], directory: Path, dtype: Dtype = "float32") -> Recording:
    """Whole tries of our own engine: one turn of T6M, or order-desk tries with all their turns."""
    model = t6m.build(directory / "t6m") if task == "t6m" else locate("embedded")
    groups = asyncio.run(_groups(task, options, str(model), dtype))
    found = advantages([group.rewards for group in groups], 1e-6)
    return Recording(
        str(model),
        tuple(
            tuple(
                Try(s.ids, s.mask, s.logprobs, advantage)
                for trajectory, advantage in zip(group.trajectories, those, strict=True)
                for s in trajectory.segments
            )
            for group, those in zip(groups, found, strict=True)
            if those is not None
        ),
    )


async def _groups(task: str, options: dict[str, int], model: str, dtype: Dtype) -> Sequence[Group]:
    environment = TASKS[task]
    prompts = ("",) * options["prompts"]  # job_for counts them; the engine renders its own
    work = Workload(model, "desk", prompts, options["prompts"], options["group"], options["tokens"])
    job = job_for(work, 1, "", max_turns=environment.max_turns, system_prompt=environment.system_prompt)
    engine = EmbeddedEngine(model, max_context=job.max_context, dtype=dtype)
    scenarios = environment.scenarios("train", options["prompts"], 0)
    groups = await asyncio.gather(
        *(
            play_group(engine, environment, job, scenario, Place("train", 1, at), tries=job.group_size)
            for at, scenario in enumerate(scenarios)
        )
    )
    return [await judge(group) for group in groups]


def invented(shape: str, options: dict[str, int], directory: Path) -> Recording:
    """Random ids: each group's tries share a prompt, and nothing else."""
    model = random_model(shape, directory / shape)
    vocabulary, rng = SHAPES[shape]["vocab_size"], random.Random(0)

    def ids(count: int) -> tuple[int, ...]:
        return tuple(rng.randrange(vocabulary) for _ in range(count))

    def group() -> tuple[Try, ...]:
        prompt, given = ids(options["prompt_tokens"]), options["prompt_tokens"]
        sampled = options["tokens"]
        mask = (False,) * given + (True,) * sampled
        logprobs = (0.0,) * given + (-math.log(vocabulary),) * sampled
        return tuple(
            Try(prompt + ids(sampled), mask, logprobs, rng.gauss(0, 1)) for _ in range(options["group"])
        )

    return Recording(str(model), tuple(group() for _ in range(options["prompts"])))


def random_model(shape: str, directory: Path) -> Path:
    """A model of that shape with random weights, bf16 on disk where it is large, and T6M's tokenizer."""
    from transformers import AutoConfig, AutoModelForCausalLM

    t6m.build(directory)
    (directory / "model.safetensors").unlink()
    config = AutoConfig.for_model(**SHAPES[shape])
    large = SHAPES[shape]["hidden_size"] >= 1024
    device = "cuda" if large and torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16 if large else torch.float32)
    model.save_pretrained(directory, max_shard_size=SHARD)
    return directory


def main() -> None:
    what, options, directory = sys.argv[1], json.loads(sys.argv[2]), Path(sys.argv[3])
    torch.set_num_threads(1)
    record = played if what in TASKS else invented
    path = directory / "recording.json"
    recording = record(what, options, directory)
    recording.write(path)
    tokens = sum(sum(one.mask) for one in recording.tries)
    print(json.dumps({"recording": str(path), "tries": len(recording.tries), "sampled": tokens}))


if __name__ == "__main__":
    main()
