"""One whole training as a person runs it: sampling processes (none with `samplers` 0), learner, loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import torch

from gpu_worker import freed_memory
from gpu_worker.crew import players
from gpu_worker.engines.embedded.engine import EmbeddedEngine
from gpu_worker.loop import train
from gpu_worker.trainers.lora import LoraTrainer
from gpu_worker.types import Engine, Environment, Job, Judge, Record, Summary


def trained(
    job: Job,
    environment: Environment,
    judge: Judge,
    record: Record,
    around: Callable[[Engine], Engine] = lambda engine: engine,
) -> Summary:
    """Train to the end; processes are forked first, before any thread or event loop is there.

    `around` may put something between the rollouts and the engine.
    """
    torch.set_num_threads(1)
    freed_memory.keep()
    trainer = LoraTrainer(job.base_model, job)

    def engine() -> Engine:
        return around(EmbeddedEngine(job.base_model, max_context=job.max_context, dtype=job.sampler_dtype))

    with players(job, environment, engine, trainer.weights()) as them:
        return asyncio.run(train(job, them, trainer, judge, record))
