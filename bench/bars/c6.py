"""C6: memory of the learner. Its peak above model and optimizer against TRL's, and what is kept for backward.

One group of 8 tries that share a prompt of 256 tokens and have 768 of their own, vocabulary 32,768 (T6M
otherwise). TRL gets the whole group as one micro-batch, as the bar says; its peak with one try at a time is
measured beside it. Of fp32 and bf16 autocast TRL gets what takes less; we compute in fp32.
"""

from __future__ import annotations

import json
from typing import Any

from bench.agreement import parallel, within
from bench.bar import Bar, Command, Setting, Void, Work

SHAPE = "t6m-32k"
WHOLE: tuple[Setting, ...] = tuple(
    {"threads": 1, "micro_batch": 8, "dtype": dtype} for dtype in ("float32", "autocast")
)
SINGLE: Setting = {"threads": 1, "micro_batch": 1, "dtype": "float32"}
SAME = 1e-3
"""Relative difference at most between the two functions' sums."""


def recording(work: Work) -> str:
    return str(work.directory / "recording.json")


def prepare(work: Work) -> None:
    work.run(Command("bench.sides.record", (SHAPE, json.dumps(dict(work.options)), str(work.directory))))


def gate(work: Work) -> dict[str, Any]:
    """The two learners agree; and TRL's peak with one try at a time, for the record."""
    directory = work.directory / "gate"
    directory.mkdir()
    work.run(Command("bench.sides.our_learn", (recording(work), "--gate", str(directory))))
    told = work.run(theirs_as(work, SINGLE, "--gate", str(directory)))
    single = work.run(theirs_as(work, SINGLE, "--memory"))
    return {
        "logprobs": within("log-probabilities of the two learners", told["logprobs"]),
        "gradient cosine": parallel(told["cosine"]),
        "TRL one try at a time, MB": round(single["figure"], 1),
    }


def theirs_as(work: Work, setting: Setting, *what: str) -> Command:
    return Command("bench.sides.trl_learn", (recording(work), json.dumps(dict(setting)), *what), peer="trl")


def ours(work: Work, pair: int) -> Command:
    return Command("bench.sides.our_learn", (recording(work), "--memory"))


def theirs(work: Work, pair: int, setting: Setting) -> Command:
    return theirs_as(work, setting, "--memory")


def function_of(side: str, work: Work) -> Command:
    peer = "art" if side == "art" else ""
    return Command("bench.sides.kept_bytes", (json.dumps(dict(work.options)), side), peer=peer)


def same_function(work: Work) -> dict[str, Any]:
    """Both functions give the same log-probabilities and the same gradient."""
    ours, arts = (work.run(function_of(side, work)) for side in ("ours", "art"))
    for name in ("logprobs", "gradient"):
        if abs(ours[name] - arts[name]) > SAME * abs(arts[name]):
            raise Void(f"{name} of the two functions differ: {ours[name]} and {arts[name]}")
    return {"logprobs": round(ours["logprobs"], 4), "gradient": round(ours["gradient"], 4)}


BARS = (
    Bar(
        id="C6-memory",
        title="learner's peak above model and optimizer, V 32k, S 1024, G 8",
        unit="MB",
        must=0.35,
        aim=0.15,
        peer="TRL GRPOTrainer's loss 1.16.0, micro-batch 8",
        needs=("trl",),
        prepare=prepare,
        gate=gate,
        ours=ours,
        theirs=theirs,
        settings=WHOLE,
        score="share",
        options={"prompts": 1, "group": 8, "prompt_tokens": 256, "tokens": 768},
        small={"group": 2, "prompt_tokens": 32, "tokens": 32},
    ),
    Bar(
        id="C6-bytes",
        title="bytes the log-probability function keeps for backward, V 32k, 1,024 tokens",
        unit="MB",
        must=0.05,
        aim=0.01,
        peer="openpipe-art 0.5.18",
        needs=("art",),
        gate=same_function,
        ours=lambda work, pair: function_of("ours", work),
        theirs=lambda work, pair, setting: function_of("art", work),
        score="share",
        options={"tokens": 1024, "vocabulary": 32768, "hidden": 256},
        small={"tokens": 64},
        pairs=1,
    ),
)
