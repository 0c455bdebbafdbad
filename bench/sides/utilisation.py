"""H6: how much of what the device can do is done, by the learner and by decoding for few rows.

    python -m bench.sides.utilisation learner RECORDING.json
    python -m bench.sides.utilisation decode DIRECTORY '{"rows": 8, "prompt_tokens": 256, "tokens": 128}'

Ceilings are measured on the spot, not looked up: a large matrix product in bf16, and a copy of a large
tensor. The learner's work is counted as 4 operations per parameter and computed token (LoRA: forward, and
backward to the inputs); decoding's as the weights, read once for every token of all rows.
"""

from __future__ import annotations

import asyncio
import json
import math
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open

from bench import t6m
from bench.device import CUDA, DEVICE, name, waited
from bench.sides.our_learn import batch_of, trainer_for
from bench.workload import read_recording
from gpu_worker.engines.embedded.engine import EmbeddedEngine
from gpu_worker.types import Completion, Sampling

SIDE = 8192 if CUDA else 512
"""Rows and columns of the matrices whose product is the ceiling."""
COPIED = 2**30 if CUDA else 2**24
"""Bytes of the tensor whose copy is the ceiling."""
OPERATIONS = 4
REPEATS = 10


def fastest(work: Callable[[], object]) -> float:
    """Seconds of the fastest of a few repetitions."""
    seconds = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        work()
        waited()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def operations_a_second() -> float:
    dtype = torch.bfloat16 if CUDA else torch.float32
    a = torch.randn(SIDE, SIDE, device=DEVICE, dtype=dtype)
    return 2 * SIDE**3 / fastest(lambda: a @ a)


def bytes_a_second() -> float:
    """Read and written ones together."""
    source = torch.empty(COPIED, dtype=torch.uint8, device=DEVICE)
    target = torch.empty_like(source)
    return 2 * COPIED / fastest(lambda: target.copy_(source))


def of_learner(path: Path) -> dict[str, Any]:
    recording = read_recording(path)
    trainer, batch = trainer_for(recording), batch_of(recording, recording.learning_rate)
    nodes = trainer.update(batch)["nodes"]
    seconds = fastest(lambda: trainer.update(batch))
    parameters = sum(p.numel() for p in trainer.policy.parameters())
    done, ceiling = OPERATIONS * parameters * nodes / seconds, operations_a_second()
    return {"figure": done / ceiling, "operations_a_second": done, "ceiling": ceiling, "device": name()}


def _seconds_of(said: Callable[[int], Coroutine[Any, Any, object]], tokens: int) -> float:
    return fastest(lambda: asyncio.run(said(tokens)))


def numbers_in(directory: Path) -> int:
    """How many weights the model's files hold."""
    total = 0
    for path in directory.glob("*.safetensors"):
        with safe_open(path, "pt") as file:
            total += sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118
    return total


def of_decode(directory: Path, options: dict[str, int]) -> dict[str, Any]:
    context = options["prompt_tokens"] + options["tokens"]
    dtype = "bfloat16" if CUDA else "float32"
    engine = EmbeddedEngine(
        directory,
        slots=options["rows"],
        max_context=context,
        dtype="bfloat16" if CUDA else "float32",
        device=DEVICE,
    )
    prompt = t6m.conversation(options["prompt_tokens"], "decode")

    async def said(tokens: int) -> list[Completion]:
        rows = range(options["rows"])
        return await asyncio.gather(
            *(engine.chat(prompt, (), Sampling(max_tokens=tokens, seed=row)) for row in rows)
        )

    short, whole = (_seconds_of(said, count) for count in (1, options["tokens"]))
    a_token = (whole - short) / (options["tokens"] - 1)
    size = 2 if dtype == "bfloat16" else 4
    done, ceiling = size * numbers_in(directory) / a_token, bytes_a_second()
    return {"figure": done / ceiling, "seconds_a_token": a_token, "ceiling": ceiling, "device": name()}


if __name__ == "__main__":
    if sys.argv[1] == "learner":
        print(json.dumps(of_learner(Path(sys.argv[2]))))
    else:
        print(json.dumps(of_decode(Path(sys.argv[2]), json.loads(sys.argv[3]))))
