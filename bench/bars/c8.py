"""C8: tokens of a judge's questions, ours against openpipe-art's `ruler`, and whose scores land where.

Three suites of groups (bench/judged/), the same tokenizer for both. Nothing is timed: the share is counted,
so that one pair says all. C8-ids puts one scripted judge, which reorders, drops, doubles and invents ids in
half of its answers, before both.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from bench.bar import Bar, Command, Setting, Work

PEER = "openpipe-art ruler 0.5.18"
OFFLINE = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}


def preparing(suite: str) -> Callable[[Work], None]:
    def prepare(work: Work) -> None:
        groups, prompts = (str(work.directory / name) for name in ("groups.json", "prompts.json"))
        told = {"suite": suite, "groups": work.options["groups"], "seed": 0}
        work.run(Command("bench.sides.judge_tokens", ("groups", groups, json.dumps(told))))
        work.run(Command("bench.sides.judge_prompts", (groups, prompts), peer="art", environment=OFFLINE))

    return prepare


def ours(work: Work, pair: int) -> Command:
    groups, prompts = (str(work.directory / name) for name in ("groups.json", "prompts.json"))
    return Command("bench.sides.judge_tokens", ("count", groups, prompts))


def landing(side: str, work: Work, pair: int) -> Command:
    told = json.dumps({"groups": work.options["groups"], "seed": pair})
    return Command("bench.sides.judge_ids", (side, told), peer="art", environment=OFFLINE)


def theirs_landing(work: Work, pair: int, setting: Setting) -> Command:
    return landing("art", work, pair)


def _tokens(suite: str, title: str) -> Bar:
    return Bar(
        id=f"C8-{suite}",
        title=f"judge's input tokens, {title}, median share of the peer's over 96 groups of 4, 8 and 16",
        unit="of the peer's",
        must=0.5,
        aim=0.33,
        peer=PEER,
        needs=("art",),
        prepare=preparing(suite),
        ours=ours,
        score="own",
        options={"groups": 96},
        small={"groups": 16},
        pairs=1,
    )


BARS = (
    _tokens("email", "e-mail search"),
    _tokens("retail", "retail desk"),
    _tokens("2048", "2048"),
    Bar(
        id="C8-ids",
        title="scores on the right trajectory while the judge reorders, drops, doubles or invents ids",
        unit="%",
        must=100,
        aim=100,
        peer=PEER,
        needs=("art",),
        ours=lambda work, pair: landing("ours", work, pair),
        theirs=theirs_landing,
        smaller=False,
        score="own",
        options={"groups": 400},
        small={"groups": 40},
    ),
)
