"""What the bars for a CUDA device have in common: the option `cuda`, which is 0 in their self-check."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from bench.bar import Command, Work

WITHIN = 1800.0


def shape_of(work: Work, shape: str) -> str:
    """The shape on a CUDA device, a toy otherwise."""
    return shape if work.options["cuda"] else "toy"


def command(work: Work, module: str, *arguments: str, peer: str = "") -> Command:
    device = {"BENCH_DEVICE": "cuda" if work.options["cuda"] else "cpu"}
    return Command(module, arguments, peer=peer, timeout=WITHIN, environment=device)


def preparing(shape: str) -> Callable[[Work], None]:
    """Writes the model and a recording of random tries."""

    def prepare(work: Work) -> None:
        told = (shape_of(work, shape), json.dumps(dict(work.options)), str(work.directory))
        work.run(command(work, "bench.sides.record", *told))

    return prepare


def recording(work: Work) -> str:
    return str(work.directory / "recording.json")


def told(options: Any) -> str:
    return json.dumps(dict(options))
