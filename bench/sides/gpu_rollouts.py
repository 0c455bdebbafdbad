"""ArtWeb's side of H1: tokens a second of our engine in bf16, groups of equal prompts, on BENCH_DEVICE.

python -m bench.sides.gpu_rollouts DIRECTORY '{"prompts": 32, "group": 8, …}'
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import torch

from bench import t6m
from bench.device import CUDA, DEVICE, name, waited
from gpu_worker.engines.embedded.engine import EmbeddedEngine
from gpu_worker.types import Completion, Sampling


async def _round(engine: EmbeddedEngine, options: dict[str, int], seed: int) -> list[Completion]:
    prompts = [
        t6m.conversation(options["prompt_tokens"], f"{seed} {number}") for number in range(options["prompts"])
    ]
    return await asyncio.gather(
        *(
            engine.chat(prompt, (), Sampling(max_tokens=options["tokens"], seed=one))
            for prompt in prompts
            for one in range(options["group"])
        )
    )


def timed(model: Path, options: dict[str, int]) -> dict[str, Any]:
    """The faster of two rounds after one to warm up; sampled tokens are counted, not assumed."""
    tries, context = options["prompts"] * options["group"], options["prompt_tokens"] + options["tokens"]
    dtype = "bfloat16" if CUDA else "float32"
    engine = EmbeddedEngine(
        model, slots=tries, max_context=context, dtype="bfloat16" if CUDA else "float32", device=DEVICE
    )
    rates = []
    for seed in range(3):
        began = time.perf_counter()
        said = asyncio.run(_round(engine, options, seed))
        waited()
        rates.append(sum(len(one.token_ids) for one in said) / (time.perf_counter() - began))
    return {"figure": max(rates[1:]), "rounds": rates, "dtype": dtype, "device": name()}


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps(timed(Path(sys.argv[1]), json.loads(sys.argv[2]))))
