"""ArtWeb's learner on a recorded batch: seconds of an update; its numbers, for the gate; its memory.

python -m bench.sides.our_learn RECORDING.json '{"steps": 5}'
python -m bench.sides.our_learn RECORDING.json --gate DIRECTORY
python -m bench.sides.our_learn RECORDING.json --memory
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from safetensors.torch import save_file
from torch import Tensor

from bench.device import CUDA, DEVICE, name, waited
from bench.memory import Peak
from bench.sides.learning import learned_logprobs
from bench.workload import WARM_UP, Recording, Try, read_recording
from gpu_worker import freed_memory
from gpu_worker.trainers.lora import LoraTrainer
from gpu_worker.types import Batch, Group, Job, Scenario, Segment, Trajectory

GATE_RATE = Job.learning_rate
"""A first update as large as in a training makes every LoRA matrix count in the gradient that is compared."""


def trainer_for(recording: Recording) -> LoraTrainer:
    job = Job(
        run="bench",
        environment="",
        base_model=recording.model,
        learning_rate=recording.learning_rate,
        lora_rank=recording.lora_rank,
        lora_alpha=recording.lora_alpha,
    )
    freed_memory.keep()  # as a worker does before it trains
    trainer = LoraTrainer(recording.model, job)
    if CUDA:
        trainer.base.to(DEVICE)
        trainer.policy.to(DEVICE)
    return trainer


def batch_of(recording: Recording, rate: float) -> Batch:
    scenario = Scenario("recorded", "train", ())
    groups = tuple(
        Group(1, at, scenario, (), tuple(_trajectory(one, i) for i, one in enumerate(tries)))
        for at, tries in enumerate(recording.groups)
    )
    return Batch(groups, tuple(tuple(one.advantage for one in tries) for tries in recording.groups), rate)


def _trajectory(one: Try, index: int) -> Trajectory:
    return Trajectory("recorded", index, (), (segment(one),), "answered")


def segment(one: Try) -> Segment:
    return Segment(one.ids, one.logprobs, one.mask)


def timed(recording: Recording, steps: int) -> dict[str, Any]:
    trainer, batch, seconds = trainer_for(recording), batch_of(recording, recording.learning_rate), []
    for _ in range(WARM_UP + steps):
        began = time.perf_counter()
        metrics = trainer.update(batch)
        waited()
        seconds.append(time.perf_counter() - began)
    told = {"seconds": [round(one, 4) for one in seconds], "tokens": metrics["tokens"]}
    told |= {"nodes": metrics["nodes"], "device": name()}
    return told | {"figure": statistics.median(seconds[WARM_UP:])}


def gate(recording: Recording, directory: Path) -> dict[str, Any]:
    """Write an adapter, the gradient there (up to its length), and the log-probabilities of every try."""
    trainer, batch = trainer_for(recording), batch_of(recording, GATE_RATE)
    trainer.update(batch)
    trainer.save(directory)
    learned = [learned_logprobs(trainer, segment(one)) for one in recording.tries]
    save_file(gradient(trainer, lambda: trainer.update(batch)), directory / "gradient.safetensors")
    (directory / "logprobs.json").write_text(json.dumps(learned))
    return {"tries": len(learned)}


def gradient(trainer: LoraTrainer, update: Callable[[], object]) -> dict[str, Tensor]:
    """What the optimizer is given in one update, by PEFT's names."""
    seen: dict[str, Tensor] = {}

    def look(*_: object) -> None:
        for own, parameter in trainer.parameters.items():
            assert parameter.grad is not None
            seen[f"base_model.model.{own}.weight"] = parameter.grad.detach().cpu().contiguous().clone()

    hook = trainer.optimizer.register_step_pre_hook(look)
    update()
    hook.remove()
    return seen


def memory(recording: Recording) -> dict[str, Any]:
    """The peak of an update above what model and optimizer hold after one on a single short try."""
    trainer = trainer_for(recording)
    short = Recording(recording.model, ((_cut(recording.tries[0]), _cut(recording.tries[1])),))
    trainer.update(batch_of(short, recording.learning_rate))
    batch = batch_of(recording, recording.learning_rate)
    peak = Peak(cuda=CUDA)
    trainer.update(batch)
    return {"figure": peak.megabytes(), "base_mb": peak.base_mb, "device": name()}


def _cut(one: Try, sampled: int = 4) -> Try:
    keep = slice(one.prompt - 1, one.prompt + sampled)
    return Try(one.ids[keep], one.mask[keep], one.logprobs[keep], one.advantage)


def main() -> None:
    recording, what = read_recording(Path(sys.argv[1])), sys.argv[2]
    if what == "--gate":
        told = gate(recording, Path(sys.argv[3]))
    elif what == "--memory":
        told = memory(recording)
    else:
        told = timed(recording, json.loads(what)["steps"])
    print(json.dumps(told))


if __name__ == "__main__":
    main()
