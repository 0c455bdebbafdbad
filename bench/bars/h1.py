"""H1: rollouts on a CUDA device, 0.6B shape, 32 prompts of 512 tokens × 8 tries of 512; transformers."""

from __future__ import annotations

from typing import Any

from bench.bar import Bar, Command, Setting, Work
from bench.cuda import command, preparing, shape_of, told

SHAPE = "0.6b"


def model(work: Work) -> str:
    return str(work.directory / shape_of(work, SHAPE))


def ours(work: Work, pair: int) -> Command:
    return command(work, "bench.sides.gpu_rollouts", model(work), told(work.options))


def theirs(work: Work, pair: int, setting: Setting) -> Command:
    arguments = (model(work), told(work.options), told(setting))
    return command(work, "bench.sides.gpu_peer_rollouts", *arguments, peer="trl")


def _bar(path: str, must: float, aim: float) -> Bar:
    facts: dict[str, Any] = {"smaller": False, "needs": ("trl",), "cuda": True}
    return Bar(
        id=f"H1-{path}",
        title="rollout of a 0.6B shape, 32 × 8 tries, 512 + 512 tokens",
        unit="tokens/s",
        must=must,
        aim=aim,
        peer=f"transformers {path} 5.23.0",
        prepare=preparing(SHAPE),
        ours=ours,
        theirs=theirs,
        settings=({"path": path},),
        options={"cuda": 1, "prompts": 32, "group": 8, "prompt_tokens": 512, "tokens": 512},
        small={"cuda": 0, "prompts": 2, "group": 2, "prompt_tokens": 64, "tokens": 8},
        **facts,
    )


BARS = (_bar("generate", 8, 16), _bar("generate_batch", 2, 4))
