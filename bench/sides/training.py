"""One whole training as a person runs it: sampling processes (none with `samplers` 0), learner, loop."""

from __future__ import annotations

import asyncio

import torch

from gpu_worker.crew import players
from gpu_worker.engines.embedded.engine import EmbeddedEngine
from gpu_worker.loop import train
from gpu_worker.trainers.lora import LoraTrainer
from gpu_worker.types import Environment, Job, Judge, Record, Summary


def trained(job: Job, environment: Environment, judge: Judge, record: Record) -> Summary:
    """Train to the end; processes are forked first, before any thread or event loop is there."""
    torch.set_num_threads(1)
    trainer = LoraTrainer(job.base_model, job)

    def engine() -> EmbeddedEngine:
        return EmbeddedEngine(job.base_model, max_context=job.max_context, dtype=job.sampler_dtype)

    with players(job, environment, engine, trainer.weights()) as them:
        return asyncio.run(train(job, them, trainer, judge, record))
