"""H3: the learner's peak memory on a CUDA device, 8B shape, vocabulary 151,936, tries of 16,384 tokens."""

from __future__ import annotations

from bench.bar import Bar, Command, Setting, Work
from bench.cuda import command, preparing, recording, told

SETTINGS: tuple[Setting, ...] = tuple(
    {"threads": 2, "micro_batch": 1, "dtype": "bfloat16", "checkpointing": on} for on in (True, False)
)


def ours(work: Work, pair: int) -> Command:
    return command(work, "bench.sides.our_learn", recording(work), "--memory")


def theirs(work: Work, pair: int, setting: Setting) -> Command:
    return command(work, "bench.sides.trl_learn", recording(work), told(setting), "--memory", peer="trl")


BARS = (
    Bar(
        id="H3",
        title="learner's peak above model and optimizer, 8B shape, tries of 16,384 tokens",
        unit="MB",
        must=0.4,
        aim=0.2,
        peer="TRL GRPOTrainer's loss 1.16.0, one try at a time",
        needs=("trl",),
        prepare=preparing("8b"),
        ours=ours,
        theirs=theirs,
        settings=SETTINGS,
        score="share",
        options={"cuda": 1, "prompts": 1, "group": 2, "prompt_tokens": 8192, "tokens": 8192},
        small={"cuda": 0, "prompt_tokens": 64, "tokens": 16},
        cuda=True,
    ),
)
