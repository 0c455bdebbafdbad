"""A database with very many tries, for the bars of the list: one large run and four small ones.

    python -m bench.tries DIRECTORY 1000000

Rows are written by the project's own tables, without transcripts and scores, which lists never read.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

SIZE = 16
"""Tries of a group."""
SHARE = 0.8
"""Of the large run."""
AT_ONCE = 1000
"""Groups of one transaction."""
LABELS = (("train", 0.93), ("validation", 0.04), ("baseline", 0.02), ("trained", 0.01))


def set_up(data: Path) -> None:
    os.environ.update(ARTWEB_DATA=str(data), DJANGO_SETTINGS_MODULE="artweb.settings")
    import django

    django.setup()


def make(data: Path, tries: int, seed: int = 7) -> dict[str, Any]:
    """Fill a new data directory, unless it was filled already."""
    set_up(data)
    from django.contrib.auth.models import User
    from django.core.management import call_command

    done = data / "made.json"
    if done.exists():
        return dict(json.loads(done.read_text()))
    began = time.monotonic()
    call_command("migrate", verbosity=0)
    owner = User.objects.create_user("bench")
    runs = [_run(owner, number) for number in range(5)]
    dice = random.Random(seed)
    for number, run in enumerate(runs):
        share = SHARE if number == 0 else (1 - SHARE) / 4
        _fill(run.pk, round(tries * share) // SIZE, dice)
    size = (data / "artweb.sqlite3").stat().st_size
    told = {"tries": tries, "run": runs[0].pk, "seconds": time.monotonic() - began, "megabytes": size / 1e6}
    done.write_text(json.dumps(told))
    return told


def _run(owner: Any, number: int) -> Any:
    from training.models import Agent, Run, RunScenarios

    agent = Agent.objects.get_or_create(owner=owner, name="Order desk", environment="order_desk")[0]
    run = Run.objects.create(
        owner=owner, agent=agent, name=f"run-{number}", state="done", request_id=f"r{number}"
    )
    RunScenarios.objects.create(run=run, values=[{"id": f"s{key}", "tags": []} for key in range(2000)])
    return run


def _fill(run_id: int, groups: int, dice: random.Random) -> None:
    from django.db import connection, transaction

    from training.runs import rows

    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA cache_size = -200000")
    for first in range(0, groups, AT_ONCE):
        count = min(AT_ONCE, groups - first)
        with transaction.atomic():
            group_ids = rows.GROUPS.new_ids(count)
            ids = iter(rows.TRIES.new_ids(count * SIZE))
            made = [_group(pk, run_id, first + place, groups, dice) for place, pk in enumerate(group_ids)]
            tries = [_try(next(ids), group, index, dice) for group in made for index in range(SIZE)]
            rows.GROUPS.insert(made)
            rows.TRIES.insert(row[:-1] for row in tries)
            rows.TOOLS.insert((row[0], run_id, tool) for row in tries for tool in row[-1])


def _group(pk: int, run_id: int, number: int, groups: int, dice: random.Random) -> tuple[Any, ...]:
    from training.runs import bulk

    label = dice.choices([name for name, _ in LABELS], [share for _, share in LABELS])[0]
    label = "baseline" if number < groups * 0.02 else "trained" if number > groups * 0.99 else label
    step = number // 16
    prompt = f"Hi, I ordered something last week and it still isn't here. The number is OR-{number}."
    scenario = f"s{dice.randrange(2000)}"
    place = (pk, run_id, label, "train", step, number, scenario, prompt)
    return (*place, "[]", "offline", "{}", "", SIZE, 8, 0.5, 1.0, False, bulk.now())


def _try(pk: int, group: tuple[Any, ...], index: int, dice: random.Random) -> tuple[Any, ...]:
    """Of TRIES, and last the tools it called."""
    group_id, run_id, label, _split, step, _number, scenario = group[:7]
    success = dice.random() < 0.7
    reward = 1.0 if success and dice.random() < 0.4 else round(dice.random() * (1.0 if success else 0.5), 2)
    ended = "answered" if dice.random() < 0.98 else "malformed_call"
    failed = int(dice.random() < 0.03)
    answer = "It was shipped with DHL on Tuesday and should reach Lyon tomorrow."
    told = (index, ended, "", dice.randrange(1, 9), 60, 2, failed, reward, success, answer, step)
    tools = ["find_order"] if dice.random() < 0.9 else []
    tools += ["escalate"] if dice.random() < 0.002 else []
    return (pk, group_id, run_id, label, step, scenario, *told, tools)


if __name__ == "__main__":
    print(json.dumps(make(Path(sys.argv[1]), int(sys.argv[2]))))
