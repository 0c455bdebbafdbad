"""The questions openpipe-art's `ruler` puts to its judge about groups of tries, caught before they are sent.

    python -m bench.sides.judge_prompts GROUPS.json PROMPTS.json

Runs in the peer's environment. GROUPS.json is a list of {"tries", "tools"}; PROMPTS.json the messages of
every question, in the order of the groups.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
from pathlib import Path
from typing import Any


async def prompts(groups: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    module = importlib.import_module("art.rewards.ruler")
    caught: list[list[dict[str, Any]]] = []

    class Enough(Exception):
        pass

    async def complete(*, messages: list[dict[str, Any]], **_: object) -> None:
        caught.append(messages)
        raise Enough

    module.acompletion = complete  # type: ignore[attr-defined]
    for group in groups:
        try:
            await module.ruler(group["tries"], tools=group["tools"] or None)
        except Enough:
            continue
        raise RuntimeError("ruler asked nothing")
    return caught


if __name__ == "__main__":
    given, written = map(Path, sys.argv[1:])
    caught = asyncio.run(prompts(json.loads(given.read_text())))
    written.write_text(json.dumps(caught))
    print(json.dumps({"figure": len(caught)}))
