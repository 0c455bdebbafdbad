"""One side's race of C5: its training in a process of its own, then the examination of its adapters.

    python -m bench.sides.desk_racer ours   '{"seed": 0, "limit": 600, "samplers": 2}'
    python -m bench.sides.desk_racer theirs '{"seed": 0, "limit": 600}' '{"learning_rate": 1.5e-3, …}'

The figure is the seconds of training until the first adapter that reaches the goal; the limit where none
does. Both sides are examined by our engine, on the same held-out scenarios with the same seeds.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch

from bench import desk_race, measure
from bench.bar import Command
from bench.sides.our_desk_training import DESK, job_for, judge
from gpu_worker.engines.embedded.directory import locate
from gpu_worker.engines.embedded.engine import EmbeddedEngine
from gpu_worker.rollout import at_once, play_group
from gpu_worker.types import Place

GRACE = 300
"""Seconds a side may take to start, to finish its last step and to end."""


def trained(side: str, directory: str, options: dict[str, Any], setting: dict[str, Any]) -> dict[str, Any]:
    timeout = options["limit"] + GRACE
    if side == "ours":
        given = (directory, json.dumps(options))
        return measure.run(Command("bench.sides.our_desk_training", given, timeout=timeout))
    model = locate("embedded")
    end = json.loads((model / "config.json").read_text())["eos_token_id"]
    told = json.dumps(setting | {"model": str(model), "end": end})
    arguments = (directory, json.dumps(options), told)
    return measure.run(Command("bench.sides.trl_desk_training", arguments, peer="trl", timeout=timeout))


class Exam:
    """Examines adapters: one try at each held-out scenario, temperature 1, always with the same seeds."""

    def __init__(self) -> None:
        torch.set_num_threads(1)
        self.job = job_for("", {"seed": 0, "samplers": 0})
        self.engine = EmbeddedEngine(self.job.base_model, max_context=self.job.max_context)
        self.scenarios = DESK.scenarios("test", desk_race.EXAM, 0)

    def reward(self, adapter: desk_race.Adapter) -> float:
        """The mean reward of the model with this adapter."""
        self.engine.use_adapter(Path(adapter.directory))
        return asyncio.run(self._reward())

    async def _reward(self) -> float:
        played = await at_once(
            [
                play_group(self.engine, DESK, self.job, scenario, Place("test", 0, at), tries=1)
                for at, scenario in enumerate(self.scenarios)
            ]
        )
        judged = [await judge(group) for group in played]
        return sum(group.rewards[0] for group in judged) / len(judged)


def main() -> None:
    side, options = sys.argv[1], json.loads(sys.argv[2])
    setting = json.loads(sys.argv[3]) if side == "theirs" else {}
    with tempfile.TemporaryDirectory(prefix="bench-race-") as directory:
        told = trained(side, directory, options, setting)
        adapters = [desk_race.Adapter(**one) for one in told["adapters"]]
        winner, exams = desk_race.finish(adapters, Exam().reward)
    result = {"figure": winner.seconds if winner else float(options["limit"]), "reached": winner is not None}
    training = {"rewards": [round(one, 3) for one in told["rewards"]], "tries": told["tries"]}
    print(json.dumps(result | {"step": winner.step if winner else None, "exams": exams} | training))


if __name__ == "__main__":
    main()
