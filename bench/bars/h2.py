"""H2: the learner on a CUDA device, 4B shape, LoRA rank 16, groups of 8 with 2,048 + 512 tokens; TRL."""

from __future__ import annotations

from bench.bar import Bar, Command, Setting, Work
from bench.cuda import command, preparing, recording, told

SETTINGS: tuple[Setting, ...] = tuple(
    {"threads": 2, "micro_batch": size, "dtype": "bfloat16", "checkpointing": checkpointing}
    for size, checkpointing in ((8, False), (4, False), (8, True))
)


def ours(work: Work, pair: int) -> Command:
    return command(work, "bench.sides.our_learn", recording(work), told({"steps": work.options["steps"]}))


def theirs(work: Work, pair: int, setting: Setting) -> Command:
    arguments = (recording(work), told(setting), told({"steps": work.options["steps"]}))
    return command(work, "bench.sides.trl_learn", *arguments, peer="trl")


BARS = (
    Bar(
        id="H2",
        title="learner of a 4B shape, LoRA r 16, 8 × (2,048 + 512) tokens a group",
        unit="s",
        must=3,
        aim=6,
        peer="TRL GRPOTrainer's loss 1.16.0",
        needs=("trl",),
        prepare=preparing("4b"),
        ours=ours,
        theirs=theirs,
        settings=SETTINGS,
        options={"cuda": 1, "prompts": 4, "group": 8, "prompt_tokens": 2048, "tokens": 512, "steps": 3},
        small={"cuda": 0, "prompts": 2, "group": 2, "prompt_tokens": 64, "tokens": 8, "steps": 1},
        search={"steps": 1},
        cuda=True,
    ),
)
