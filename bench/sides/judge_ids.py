"""Whether scores land on the trajectory they were meant for: our `ruler_score_group`, or openpipe-art's own.

    python -m bench.sides.judge_ids ours '{"groups": 400, "seed": 0}'
    python -m bench.sides.judge_ids art  '{"groups": 400, "seed": 0}'

Both run in the peer's environment, on its `TrajectoryGroup`s, with one scripted judge in place of litellm's
`acompletion`. It reads the worth that each try states out of the prompt of either side, and spoils half of
its answers. The figure is the percentage of scores handed out that are their own try's worth; groups that
ended in an error handed out none and are counted beside it.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import random
import re
import sys
from collections.abc import Callable
from typing import Any

SIZE = 6
FRAMES = (
    re.compile(r'<try-(\d+) id="(?P<id>\w+)">\n(?P<text>.*?)\n</try-\1>', re.DOTALL),
    re.compile(r'<trajectory id="(?P<id>\w+)">\n(?P<text>.*?)\n</trajectory>', re.DOTALL),
)
WORTH = re.compile(r"worth (\d\.\d+)")

Entries = list[dict[str, Any]]
SPOILT: dict[str, Callable[[Entries, random.Random], Entries]] = {
    "reordered": lambda e, s: s.sample(e, len(e)),
    "best first": lambda e, s: sorted(e, key=lambda one: -one["score"]),
    "dropped": lambda e, s: s.sample(e, len(e) - 1),
    "doubled": lambda e, s: [*e, s.choice(e)],
    "doubled instead of another": lambda e, s: [*e[1:], e[-1]],
    "invented besides": lambda e, s: [{"trajectory_id": "summary", "explanation": "", "score": 0.5}, *e],
    "invented instead of another": lambda e, s: [e[0] | {"trajectory_id": "zz99"}, *e[1:]],
}


class Judge:
    def __init__(self, seed: int) -> None:
        self.source = random.Random(f"judge {seed}")
        self.response = importlib.import_module("litellm").ModelResponse

    async def complete(self, *, messages: list[dict[str, Any]], **_: object) -> Any:
        text = messages[1]["content"]
        found = [match for frame in FRAMES for match in frame.finditer(text)]
        entries = [
            {
                "trajectory_id": match["id"],
                "explanation": "",
                "score": float(WORTH.findall(match["text"])[-1]),
            }
            for match in found
        ]
        if self.source.random() < 0.5:
            entries = self.source.choice(list(SPOILT.values()))(entries, self.source)
        message = {"role": "assistant", "content": json.dumps({"scores": entries})}
        return self.response(choices=[{"index": 0, "finish_reason": "stop", "message": message}])


async def measured(side: str, groups: int, seed: int) -> dict[str, Any]:
    art = importlib.import_module("art")
    litellm: Any = importlib.import_module("litellm")
    judge = Judge(seed)
    litellm.acompletion = judge.complete
    if side == "art":
        module: Any = importlib.import_module("art.rewards.ruler")
        module.acompletion = judge.complete
    else:
        module = importlib.import_module("judging.rewards")
    source = random.Random(f"groups {seed}")
    handed, right, lost = 0, 0, 0
    for _ in range(groups):
        worth = [round(source.uniform(0.1, 0.9), 3) for _ in range(SIZE)]
        group = art.TrajectoryGroup([_trajectory(art, value) for value in worth])
        scored = await module.ruler_score_group(group, "openai/scripted", swallow_exceptions=True)
        if scored is None:
            lost += 1
            continue
        rewards = [trajectory.reward for trajectory in scored.trajectories]
        handed += SIZE
        right += sum(abs(reward - value) < 1e-9 for reward, value in zip(rewards, worth, strict=True))
    return {"figure": round(100 * right / max(1, handed), 2), "scores": handed, "groups lost": lost}


def _trajectory(art: Any, worth: float) -> Any:
    messages = [
        {"role": "system", "content": "Say what you are worth."},
        {"role": "user", "content": "How much?"},
        {"role": "assistant", "content": f"I am worth {worth}"},
    ]
    return art.Trajectory(messages_and_choices=messages, reward=0.0)


if __name__ == "__main__":
    told = asyncio.run(measured(sys.argv[1], **json.loads(sys.argv[2])))
    print(json.dumps(told))
