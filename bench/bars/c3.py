"""C3: the learner alone on one recorded batch, loss to new weights, against TRL's own loss and optimizer.

Twice: 32 tries of T6M (4 groups of 8, 256 + 64 tokens), and whole order-desk tries with all their turns.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

from bench.agreement import parallel, within
from bench.bar import Bar, Command, Setting, Work

SETTINGS: tuple[Setting, ...] = tuple(
    {"threads": threads, "micro_batch": size, "dtype": dtype}
    for threads, size, dtype in itertools.product((1, 2), (8, 32), ("autocast", "float32"))
)
EXACT: Setting = {"threads": 1, "micro_batch": 8, "dtype": "float32"}


def recording(work: Work) -> str:
    return str(work.directory / "recording.json")


def preparing(what: str) -> Callable[[Work], None]:
    def prepare(work: Work) -> None:
        work.run(Command("bench.sides.record", (what, json.dumps(dict(work.options)), str(work.directory))))

    return prepare


def gate(work: Work) -> dict[str, Any]:
    """With the same adapter and batch: log-probabilities within 1e-4, gradients parallel, both in fp32."""
    directory = work.directory / "gate"
    directory.mkdir()
    work.run(Command("bench.sides.our_learn", (recording(work), "--gate", str(directory))))
    arguments = (recording(work), json.dumps(dict(EXACT)), "--gate", str(directory))
    told = work.run(Command("bench.sides.trl_learn", arguments, peer="trl"))
    return {
        "logprobs": within("log-probabilities of the two learners", told["logprobs"]),
        "gradient cosine": parallel(told["cosine"]),
    }


def ours(work: Work, pair: int) -> Command:
    return Command("bench.sides.our_learn", (recording(work), json.dumps({"steps": work.options["steps"]})))


def theirs(work: Work, pair: int, setting: Setting) -> Command:
    told = json.dumps({"steps": work.options["steps"]})
    return Command("bench.sides.trl_learn", (recording(work), json.dumps(dict(setting)), told), peer="trl")


def _bar(task: str, title: str, prompts: int) -> Bar:
    return Bar(
        id=f"C3-{task}",
        title=title,
        unit="s",
        must=4,
        aim=8,
        peer="TRL GRPOTrainer's loss 1.16.0",
        needs=("trl",),
        prepare=preparing(task),
        gate=gate,
        ours=ours,
        theirs=theirs,
        settings=SETTINGS,
        options={"steps": 5, "prompts": prompts, "group": 8, "tokens": 64},
        small={"steps": 1, "prompts": 2},
        search={"steps": 2},
    )


BARS = (
    _bar("t6m", "learner, one batch of 32 tries of T6M", 4),
    _bar("desk", "learner, one batch of 128 whole order-desk tries", 16),
)
