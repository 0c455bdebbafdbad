"""C2: multi-turn tries with tools a second, against the tools path of TRL's GRPOTrainer.

“scripted”: 4 prompts of 400 tokens × 8 tries of four turns, 32 tokens a turn and 32 a tool result, on T6M.
“desk”: order desk as it is, 16 prompts × 8, with the embedded model and the calls it makes; tries differ in
length there, equally on both sides. Only playing is timed.
"""

from __future__ import annotations

import itertools
import json
from typing import Any

from bench.agreement import close, same_prompts
from bench.bar import Bar, Command, Setting, Work
from bench.measure import ROOT

EMBEDDED = ROOT / "gpu_worker" / "engines" / "embedded" / "weights"
SETTINGS: tuple[Setting, ...] = tuple(
    {"threads": threads, "dtype": dtype}
    for threads, dtype in itertools.product((1, 2), ("float32", "bfloat16"))
)


def prepare(work: Work) -> None:
    work.run(Command("bench.t6m", (str(work.directory / "t6m"),)))


def _bar(task: str, title: str, prompts: int) -> Bar:
    def told(work: Work) -> tuple[str, ...]:
        model = work.directory / "t6m" if task == "scripted" else EMBEDDED
        return (task, str(model), json.dumps(dict(work.options)))

    def gate(work: Work) -> dict[str, Any]:
        """TRL reads the same ids, and gives our tries, tool results between, the same log-probabilities."""
        ours = work.run(Command("bench.sides.our_tool_rollouts", (*told(work), "--samples")))
        path = work.directory / "samples.json"
        path.write_text(json.dumps(ours))
        arguments = (*told(work), "--logprobs", str(path))
        theirs = work.run(Command("bench.sides.trl_tool_rollouts", arguments, peer="trl"))
        same_prompts(ours["samples"], [{"prompt_ids": ids} for ids in theirs["prompt_ids"]])
        sampled = [value for one in ours["samples"] for value in one["logprobs"]]
        checked = [value for one in theirs["logprobs"] for value in one]
        return {"logprobs": close("log-probabilities of our tries by us and by TRL", sampled, checked)}

    def ours(work: Work, pair: int) -> Command:
        return Command("bench.sides.our_tool_rollouts", told(work))

    def theirs(work: Work, pair: int, setting: Setting) -> Command:
        arguments = (*told(work), json.dumps(dict(setting)))
        return Command("bench.sides.trl_tool_rollouts", arguments, peer="trl")

    return Bar(
        id=f"C2-{task}",
        title=title,
        unit="tries/s",
        must=6,
        aim=12,
        smaller=False,
        peer="TRL GRPOTrainer 1.16.0, tools path",
        needs=("trl",),
        prepare=prepare if task == "scripted" else None,
        gate=gate,
        ours=ours,
        theirs=theirs,
        settings=SETTINGS,
        options={"rounds": 3, "prompts": prompts, "group": 8, "samplers": 2},
        small={"rounds": 1},
        search={"rounds": 1},
    )


BARS = (
    _bar("scripted", "tool rollouts, 4 × 8 tries of four scripted turns, T6M", 4),
    _bar("desk", "tool rollouts, 16 × 8 tries of order desk, embedded model", 16),
)
