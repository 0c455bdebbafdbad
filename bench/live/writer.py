"""Tells of a made-up run through the real recorder, so many events a second, and notes when.

    python -m bench.live.writer '{"rate": 20, "seconds": 20, "happened": "happened.txt"}'

Prints the run's id when it is under way, and begins when it reads a line. Every fourth event is a judged
group of eight tries, the others are lines of the log. A line of `happened` is a sequence number and the time
just before the recorder was told, by the clock all processes of a machine share.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "artweb.settings")

import django  # noqa: E402

django.setup()

from gpu_worker.types import (  # noqa: E402
    Group,
    GroupJudged,
    Log,
    PhaseChanged,
    Report,
    Scenario,
    Score,
    Segment,
    Trajectory,
)
from training import access  # noqa: E402
from training.models import Agent, Event, Run  # noqa: E402
from training.runs import lease  # noqa: E402
from training.runs.recorder import Recorder  # noqa: E402

QUESTION = "Hi, I ordered something last week and it still isn't here. The number is OR-20037. Where is it?"


def a_run() -> Run:
    owner = access.operator()
    agent = Agent.objects.create(owner=owner, name="Measured", environment="order_desk")
    return Run.objects.create(
        owner=owner, agent=agent, name="measured", request_id="measured", state=Run.State.QUEUED, steps=40,
        config={"environment": "order_desk"},
    )  # fmt: skip


def event(number: int) -> Report:
    if number % 4:
        return Log(
            "info", f"Something worth a line in the log happened, for the {number}th time.", f"n{number}"
        )
    return GroupJudged(group(number), "train", "train", tied=False)


def group(number: int) -> Group:
    asked = {"role": "user", "content": QUESTION}
    said = {
        "role": "assistant",
        "content": "It was shipped with DHL on Tuesday and should be there tomorrow.",
    }
    segment = Segment(tuple(range(5, 65)), (-0.5,) * 60, (False,) * 30 + (True,) * 30)
    tries = tuple(
        Trajectory(
            f"s{number}", index, (asked, said), (segment,), "answered", turns=1, reward=index / 8,
            scores=(Score("ruler", index / 8, "Answered after one look-up."),), success=index > 4,
        )
        for index in range(8)
    )  # fmt: skip
    return Group(
        1 + number // 64, number % 64, Scenario(f"s{number}", "train", (asked,)), (), tries, judge="rules"
    )


def main(rate: float, seconds: float, happened: str) -> None:
    run = a_run()
    held = lease.claim(run.pk)
    assert held is not None
    with Recorder(held) as record, lease.Heartbeat(held, lambda: True, sys.exit):
        record(PhaseChanged("training"))
        for number in range(8):
            record(event(number))
        print(run.pk, Event.objects.filter(run=run).count(), flush=True)
        sys.stdin.readline()
        written = []
        began = time.monotonic()
        for number in range(int(rate * seconds)):
            time.sleep(max(0.0, began + number / rate - time.monotonic()))
            now = time.monotonic()
            record(event(8 + number))
            written.append(now)
        first = Event.objects.filter(run=run).count() - len(written) + 1
    lines = [f"{first + place} {when}" for place, when in enumerate(written)]
    Path(happened).write_text("\n".join(lines))


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
