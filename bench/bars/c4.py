"""C4: a whole GRPO step, sampling to new weights, against TRL's GRPOTrainer.

Twice: 32 tries of T6M (4 prompts of 256 tokens × 8, 64 tokens each), and single-turn order-desk tries of the
embedded model (16 prompts × 8, at most 64 tokens).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

from bench.agreement import close, same_prompts
from bench.bar import Bar, Command, Setting, Work

SETTINGS: tuple[Setting, ...] = tuple(
    {"threads": threads, "micro_batch": size, "dtype": dtype}
    for threads, size, dtype in itertools.product((1, 2), (8, 32), ("autocast", "float32"))
)
"""A sweep over these, plain bf16 weights and continuous batching found the last two slower throughout."""


def preparing(task: str) -> Callable[[Work], None]:
    def prepare(work: Work) -> None:
        work.run(Command("bench.sides.tasks", (task, json.dumps(dict(work.options)), str(work.directory))))

    return prepare


def gate(work: Work) -> dict[str, Any]:
    """Same ids from the same prompts; the sampler's and the learner's log-probabilities are TRL's."""
    workload, path = str(work.directory / "workload.json"), work.directory / "samples.json"
    ours = work.run(Command("bench.sides.our_step", (workload, "--samples")))
    path.write_text(json.dumps(ours))
    theirs = work.run(Command("bench.sides.trl_step", (workload, "--logprobs", str(path)), peer="trl"))
    same_prompts(ours["samples"], theirs["samples"])
    their_logprobs = [value for sample in theirs["samples"] for value in sample["logprobs"]]
    return {
        f"logprobs {side}": close(
            f"log-probabilities as {side} by us and by TRL",
            [value for sample in ours["samples"] for value in sample[side]],
            their_logprobs,
        )
        for side in ("sampled", "learned")
    }


def ours(work: Work, pair: int) -> Command:
    told = {name: work.options[name] for name in ("steps", "samplers")}
    return Command("bench.sides.our_step", (str(work.directory / "workload.json"), json.dumps(told)))


def theirs(work: Work, pair: int, setting: Setting) -> Command:
    arguments = (str(work.directory / "workload.json"), json.dumps(dict(setting)), str(work.options["steps"]))
    return Command("bench.sides.trl_step", arguments, peer="trl")


def _bar(task: str, title: str, **options: int) -> Bar:
    return Bar(
        id=f"C4-{task}",
        title=title,
        unit="s",
        must=6,
        aim=12,
        peer="TRL GRPOTrainer 1.16.0",
        needs=("trl",),
        prepare=preparing(task),
        gate=gate,
        ours=ours,
        theirs=theirs,
        settings=SETTINGS,
        options={"steps": 4, "tokens": 64, "group": 8, "samplers": 2, **options},
        small={"steps": 1, "prompts": 2},
        search={"steps": 2},
    )


BARS = (
    _bar("t6m", "a whole GRPO step, 32 tries of T6M", prompts=4),
    _bar("desk", "a whole GRPO step, 128 order-desk tries of one turn", prompts=16),
)
