"""How many tokens our judge's questions take, of what openpipe-art's `ruler` takes for the same groups.

    python -m bench.sides.judge_tokens groups GROUPS.json '{"suite": "email", "groups": 48, "seed": 0}'
    python -m bench.sides.judge_tokens count GROUPS.json PROMPTS.json

The first writes the groups, the second counts both sides' questions about them with one tokenizer: o200k, the
one of ART's default judge, whose table comes with litellm; cl100k is counted beside it. All our questions
count (a group of 16 is two), but for second looks, which depend on what a judge says. The figure is the
median share over the groups, or the worst group's where that is more than ART's.
"""

from __future__ import annotations

import asyncio
import dataclasses
import importlib.util
import json
import os
import random
import statistics
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import tiktoken

from bench.judged import Suite, email, game, retail
from judging.llm import Answer, Model
from judging.prompt import FRAME
from judging.rewards import as_group
from judging.ruler import judge_group

SUITES: dict[str, Suite] = {"email": email.case, "retail": retail.case, "2048": game.case}
DISTINCT = (2, 3, 6, 20)
"""How many things to do there are at a turn."""
SIZES = (4, 8, 8, 16)
"""Tries in a group."""
ENCODINGS = ("o200k_base", "cl100k_base")


class Noting(Model):
    """Notes what it is asked and finds all tries equally good."""

    def __init__(self) -> None:
        self.name = "noting"
        self.asked: list[list[dict[str, Any]]] = []

    async def ask(self, messages: Any, schema: Any, **_: Any) -> Answer:
        self.asked.append(messages)
        ids = [frame[1] for frame in FRAME.findall(messages[1]["content"])]
        return Answer(
            json.dumps({"scores": [{"trajectory_id": i, "explanation": "", "score": 0.5} for i in ids]})
        )


def write_groups(path: Path, suite: str, groups: int, seed: int) -> None:
    """`groups` groups, as many of each mixture of distinct and size."""
    written = []
    for number in range(groups):
        distinct = DISTINCT[number % len(DISTINCT)]
        size = SIZES[number // len(DISTINCT) % len(SIZES)]
        made = SUITES[suite](distinct, size, random.Random(f"{suite}/{seed}/{number}"))
        written.append(dataclasses.asdict(made) | {"distinct": distinct, "size": size})
    path.write_text(json.dumps(written))


async def our_prompts(group: dict[str, Any], seed: str) -> list[list[dict[str, Any]]]:
    model = Noting()
    await judge_group(as_group(group["tries"], group["tools"]), model=model, seed=seed)
    return model.asked


def count(groups: list[dict[str, Any]], theirs: list[list[dict[str, Any]]]) -> dict[str, Any]:
    first, other = map(_counter, ENCODINGS)
    rows = []
    for number, (group, their) in enumerate(zip(groups, theirs, strict=True)):
        ours = asyncio.run(our_prompts(group, str(number)))
        if "left out" in json.dumps(ours):
            raise RuntimeError(f"group {number} was cut, so that the sides do not show the same")
        share, second = (sum(map(tokens, ours)) / tokens(their) for tokens in (first, other))
        again = {"share": share, "cl100k": second, "ours": sum(map(first, ours)), "theirs": first(their)}
        rows.append(again | {name: group[name] for name in ("distinct", "size")})
    shares = [row["share"] for row in rows]
    worst, median = max(shares), statistics.median(shares)
    return {
        "figure": round(median if worst <= 1 else worst, 4),
        "best": round(min(shares), 4),
        "worst": round(worst, 4),
        "by distinct": _medians(rows, "distinct"),
        "by size": _medians(rows, "size"),
        "median by cl100k": round(statistics.median(row["cl100k"] for row in rows), 4),
        "median tokens": [statistics.median(row[side] for row in rows) for side in ("ours", "theirs")],
    }


def _medians(rows: Iterable[dict[str, Any]], key: str) -> dict[str, float]:
    by: dict[Any, list[float]] = {}
    for row in rows:
        by.setdefault(row[key], []).append(row["share"])
    return {str(value): round(statistics.median(shares), 3) for value, shares in sorted(by.items())}


def _counter(encoding: str) -> Callable[[list[dict[str, Any]]], int]:
    """Tokens of all messages' contents; what a chat template adds is the same for both sides."""
    litellm = importlib.util.find_spec("litellm")
    if litellm is None or litellm.origin is None:
        raise RuntimeError("litellm, which brings the tokenizer's table, is not installed")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(Path(litellm.origin).parent / "litellm_core_utils" / "tokenizers")
    table = tiktoken.get_encoding(encoding)
    return lambda messages: sum(len(table.encode(m["content"], disallowed_special=())) for m in messages)


if __name__ == "__main__":
    what, groups_path, more = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    if what == "groups":
        write_groups(groups_path, **json.loads(more))
        print(json.dumps({"figure": 0}))
    else:
        print(json.dumps(count(json.loads(groups_path.read_text()), json.loads(Path(more).read_text()))))
