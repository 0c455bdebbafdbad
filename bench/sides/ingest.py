"""Tries of one kilobyte each go into the database while a reader polls; a new database for every run.

    python -m bench.sides.ingest '{"side": "ours", "groups": 400, "tries": 16}'

`ours` is the recorder as the loop calls it: lease, event, group, tries, tools, scores. `theirs` writes the
same rows with Django's `.create()`, one by one, without lease and cleaning; `atomic` gives it a transaction a
group. The figure is tries a second.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import tempfile
import time
from multiprocessing.synchronize import Event as Flag
from typing import Any

POLL = 0.1
"""Seconds between two looks of the reader."""
TOOLS = ({"name": "find_order", "description": "Looks an order up.", "parameters": {}},)


def set_up(data: str) -> None:
    os.environ.update(ARTWEB_DATA=data, DJANGO_SETTINGS_MODULE="artweb.settings")
    import django

    django.setup()


def reader(data: str, stop: Flag) -> None:
    """What a watched page does: the newest tries and events, again and again."""
    set_up(data)
    from training.models import Event, Trajectory

    while not stop.wait(POLL):
        list(Trajectory.objects.order_by("-pk")[:50])
        list(Event.objects.order_by("-pk")[:50])


def messages(number: int) -> tuple[dict[str, Any], ...]:
    """About 700 bytes, with a call and its result."""
    arguments = json.dumps({"column": "order_id", "value": f"OR-{number}"})
    call = {"id": "c1", "type": "function", "function": {"name": "find_order", "arguments": arguments}}
    row = '[{"order_id": "OR-20037", "status": "shipped", "carrier": "DHL", "total": "84.90"}]'
    return (
        {"role": "system", "content": "You help the customers of a small shop. " * 3},
        {"role": "user", "content": f"I ordered something and it is not here. The number is OR-{number}."},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": row},
        {"role": "assistant", "content": "It was shipped with DHL and should reach Lyon tomorrow."},
    )


def reports(groups: int, tries: int) -> list[Any]:
    """Judged groups; a try's messages and tokens make one kilobyte."""
    from gpu_worker.types import Group, GroupJudged, Scenario, Score, Segment, ToolSpec, Trajectory

    told = []
    for index in range(groups):
        said = messages(index)
        scenario = Scenario(f"s{index}", "train", said[:2])
        segment = Segment(
            tuple(range(20)), tuple(-0.123456 * place for place in range(20)), (False,) * 8 + (True,) * 12
        )
        played = tuple(
            Trajectory(
                scenario.id,
                place,
                messages(1000 * index + place),
                (segment,),
                "answered",
                turns=2,
                scores=(Score("ruler", 0.5, "Answered from the row."), Score("checks", 1.0)),
                reward=place / tries,
                success=True,
                policy_step=1,
            )
            for place in range(tries)
        )
        tools = tuple(ToolSpec(**tool) for tool in TOOLS)
        told.append(GroupJudged(Group(1, index, scenario, tools, played), "train", "train", tied=False))
    return told


def new_run() -> Any:
    from django.contrib.auth.models import User

    from training.models import Agent, Run

    owner = User.objects.create_user("bench")
    agent = Agent.objects.create(owner=owner, name="Order desk", environment="order_desk")
    return Run.objects.create(owner=owner, agent=agent, name="r", state="queued", steps=1, request_id="r")


def ours(run: Any, told: list[Any]) -> float:
    from training.runs import lease
    from training.runs.recorder import Recorder

    held = lease.claim(run.pk)
    assert held is not None
    with Recorder(held) as record:
        record(told[0])
        began = time.perf_counter()
        for report in told[1:]:
            record(report)
        return time.perf_counter() - began


def theirs(run: Any, told: list[Any], atomic: bool) -> float:
    from contextlib import nullcontext

    from django.db import transaction

    create(run, told[0])
    began = time.perf_counter()
    for report in told[1:]:
        with transaction.atomic() if atomic else nullcontext():
            create(run, report)
    return time.perf_counter() - began


def create(run: Any, report: Any) -> None:
    """A group's rows, one `.create()` each."""
    from training import models

    group = report.group
    row = models.Group.objects.create(
        run=run,
        label=report.label,
        split=report.split,
        step=group.step,
        index=group.index,
        scenario_key=group.scenario.id,
        prompt=group.scenario.messages[1]["content"],
        tools=list(TOOLS),
        tries=len(group.trajectories),
        successes=len(group.trajectories),
        mean_reward=0.5,
        best_reward=1.0,
    )
    for one in group.trajectories:
        made = models.Trajectory.objects.create(
            group=row,
            run=run,
            label=report.label,
            step=group.step,
            scenario_key=group.scenario.id,
            index=one.index,
            calls=1,
            ended=one.ended,
            turns=one.turns,
            sampled_tokens=12,
            reward=one.reward,
            success=one.success,
            answer=one.messages[-1]["content"],
            policy_step=one.policy_step,
        )
        segments = [{"ids": s.ids, "logprobs": s.logprobs, "mask": s.mask} for s in one.segments]
        models.TrajectoryRecord.objects.create(
            trajectory=made, messages=list(one.messages), segments=segments
        )
        models.TrajectoryTool.objects.create(trajectory=made, run=run, tool="find_order")
        for score in one.scores:
            models.Score.objects.create(
                trajectory=made, source=score.source, value=score.value, explanation=score.explanation
            )
    models.Event.objects.create(
        run=run, seq=group.index + 1, kind="group", key=f"g{group.index}", payload={"group_id": row.pk}
    )


def counted() -> dict[str, int]:
    from training import models

    names = ("Group", "Trajectory", "TrajectoryRecord", "TrajectoryTool", "Score", "Event")
    return {name: getattr(models, name).objects.count() for name in names}


def main(side: str, groups: int, tries: int, atomic: bool = False) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as data:
        set_up(data)
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        run, told = new_run(), reports(groups + 1, tries)
        context = multiprocessing.get_context("spawn")
        stop = context.Event()
        polling = context.Process(target=reader, args=(data, stop))
        polling.start()
        seconds = ours(run, told) if side == "ours" else theirs(run, told, atomic)
        stop.set()
        polling.join()
        return {"figure": groups * tries / seconds, "seconds": seconds, "rows": counted()}


if __name__ == "__main__":
    print(json.dumps(main(**json.loads(sys.argv[1]))))
