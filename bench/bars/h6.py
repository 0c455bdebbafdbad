"""H6: how much of a CUDA device is used: by the learner (4B shape), and by decoding 8 rows (0.6B shape)."""

from __future__ import annotations

from bench.bar import Bar, Command, Work
from bench.cuda import command, preparing, recording, shape_of, told


def learner(work: Work, pair: int) -> Command:
    return command(work, "bench.sides.utilisation", "learner", recording(work))


def decode(work: Work, pair: int) -> Command:
    directory = str(work.directory / shape_of(work, "0.6b"))
    return command(work, "bench.sides.utilisation", "decode", directory, told(work.options))


BARS = (
    Bar(
        id="H6-learner",
        title="learner, 4B shape: share of the device's own matrix product",
        unit="",
        must=0.40,
        aim=0.55,
        ours=learner,
        smaller=False,
        score="own",
        prepare=preparing("4b"),
        options={"cuda": 1, "prompts": 4, "group": 8, "prompt_tokens": 2048, "tokens": 512},
        small={"cuda": 0, "prompts": 2, "group": 2, "prompt_tokens": 64, "tokens": 8},
        cuda=True,
    ),
    Bar(
        id="H6-decode",
        title="decoding 8 rows, 0.6B shape: share of the device's own copy",
        unit="",
        must=0.60,
        aim=0.80,
        ours=decode,
        smaller=False,
        score="own",
        prepare=preparing("0.6b"),
        options={"cuda": 1, "rows": 8, "prompts": 1, "group": 2, "prompt_tokens": 256, "tokens": 128},
        small={"cuda": 0, "prompt_tokens": 64, "tokens": 8},
        cuda=True,
    ),
)
