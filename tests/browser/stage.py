"""The other side of the browser tests: a process that does to the database what workers and people do.

Started as `python -m tests.browser.stage`; reads one JSON call per line and answers with one JSON line.
It has the site's database and Redis, so it writes events and rings the doorbell exactly as a worker does.
"""

import json
import os
import sys
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import islice
from typing import Any

os.environ["DJANGO_SETTINGS_MODULE"] = "artweb.settings"

import django  # noqa: E402

django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.contrib.sessions.models import Session  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.utils import timezone  # noqa: E402

from gpu_worker.types import Report, StepDone  # noqa: E402
from tests import stories  # noqa: E402
from training import access  # noqa: E402
from training.models import Agent, Checkpoint, Event, Group, Ranking, Run, RunScenarios, Score, Trajectory  # noqa: E402
from training.review.feed import search  # noqa: E402
from training.runs import events, lease, recorder, services  # noqa: E402

_stories: dict[int, Iterator[Report]] = {}
_recorders: dict[int, recorder.Recorder] = {}


def migrate() -> None:
    call_command("migrate", verbosity=0)


def sign_in_link(user: str) -> str:
    return access.make_sign_in_link(User.objects.get_or_create(username=user)[0])


def make_agent(user: str) -> int:
    """An order desk with a few scenarios."""
    services.COUNTS = {"train": 40, "val": 8, "test": 20}
    owner = User.objects.get_or_create(username=user)[0]
    agent = services.agent_for(owner=owner, environment="order_desk")
    agent.description = "Answers questions about a shop's orders."
    agent.save()
    return int(agent.pk)


def runs(user: str) -> int:
    """How many a user has."""
    return Run.objects.filter(owner__username=user).count()


def make_run(user: str, steps: int = 3) -> int:
    owner = User.objects.get_or_create(username=user)[0]
    agent = Agent.objects.get_or_create(owner=owner, name="Order desk", environment="order_desk")[0]
    config = {"environment": "order_desk", "steps": steps, "reward": "ruler", "system_prompt": stories.SYSTEM}
    run = Run.objects.create(
        owner=owner,
        agent=agent,
        name=f"run-{uuid.uuid4().hex[:6]}",
        state=Run.State.QUEUED,
        steps=steps,
        config=config,
        request_id=uuid.uuid4().hex,
        queued_at=timezone.now(),
    )
    RunScenarios.objects.create(run=run, values=[])
    return int(run.pk)


def begin(run: int, steps: int = 3, groups: int = 3, tries: int = 12) -> None:
    """Claim a run and prepare its story; `tell` goes on with it."""
    held = lease.claim(run)
    assert held is not None
    Run.objects.filter(pk=run).update(lease_until=timezone.now() + timedelta(hours=1))  # no heart beats here
    _recorders[run] = recorder.Recorder(held)
    _stories[run] = stories.training(steps, groups, tries)


def tell(run: int, reports: int = 10_000) -> int:
    """Record the next reports of a story; returns the run's newest seq."""
    for report in islice(_stories[run], reports):
        _recorders[run](report)
    return newest(run)


def tell_until(run: int, step: int) -> int:
    """Record the reports of a story until a step is done."""
    for report in _stories[run]:
        _recorders[run](report)
        if isinstance(report, StepDone) and report.step == step:
            break
    return newest(run)


def finish(run: int, state: str = "done") -> int:
    row = Run.objects.get(pk=run)
    summary = stories.summary(row) if state == Run.State.DONE else {}
    if row.estimate and summary:
        summary["foretold"] = {"truth": {"seconds": 20.0, "tries": 40}, "inside": True}
    _recorders.pop(run).end(state, state, finished_at=timezone.now(), summary=summary)
    return newest(run)


def foretell(run: int) -> int:
    told = {"seconds": [10, 60], "tries": 40, "dollars": [0, 0], "how": []}
    return Run.objects.filter(pk=run).update(estimate=told)


def say(run: int, text: str, count: int = 1) -> int:
    """Write log lines as the loop would."""
    for place in range(count):
        told = {"level": "info", "text": f"{text} {place}" if count > 1 else text}
        events.append(run, "log", f"log:{uuid.uuid4().hex}", told)
        events.ring(run)
    return newest(run)


def hostile(run: int, text: str) -> dict[str, int]:
    """A judged group in which scenario, agent, tool and judge all say `text`."""
    held = lease.claim(run)
    assert held is not None
    with recorder.Recorder(held) as record:
        record(stories.saying(text))
    group = Group.objects.filter(run=run).latest("pk")
    return {"group": group.pk, "trajectory": Trajectory.objects.filter(group=group).earliest("pk").pk}


def wide(run: int, size: int, turns: int) -> int:
    """A judged group of many tries with many turns; its id."""
    held = lease.claim(run)
    assert held is not None
    with recorder.Recorder(held) as record:
        record(stories.wide(size, turns))
        record(stories.wide(size, turns, step=2))
    return int(Group.objects.filter(run=run).earliest("pk").pk)


def long(run: int, tokens: int) -> int:
    """A judged group of one try of many tokens; the try's id."""
    held = lease.claim(run)
    assert held is not None
    with recorder.Recorder(held) as record:
        record(stories.long(tokens))
    return int(Trajectory.objects.filter(run=run).earliest("pk").pk)


def scores_of(group: int) -> list[list[Any]]:
    """What people said of the tries of a group: [index, value, reason, use, whether it was taken back]."""
    found = Score.objects.filter(trajectory__group=group, source="human").order_by("id")
    return [[s.trajectory.index, s.value, s.explanation, s.use, s.withdrawn_at is not None] for s in found]


def ranking_of(group: int) -> list[list[int]] | None:
    """The places of the ranking that counts."""
    found = Ranking.objects.filter(group=group, withdrawn_at=None).first()
    return list(found.places) if found else None


def make_searchable() -> bool:
    """Every try that was told of so far, as the desk does behind a training."""
    return search.catch_up(120)


def newest(run: int) -> int:
    return int(Run.objects.values_list("last_seq", flat=True).get(pk=run))


def seqs(run: int) -> list[int]:
    return list(Event.objects.filter(run=run).order_by("seq").values_list("seq", flat=True))


def groups(run: int, label: str = "train") -> list[int]:
    return list(Group.objects.filter(run=run, label=label).order_by("pk").values_list("pk", flat=True))


def tries(group: int) -> list[int]:
    return list(Trajectory.objects.filter(group=group).order_by("index").values_list("pk", flat=True))


def state_and_wish(run: int) -> list[str]:
    return list(Run.objects.values_list("state", "wish").get(pk=run))


def stay_busy(run: int) -> None:
    """As if the trainer reported something every moment, however long the test takes."""
    Run.objects.filter(pk=run).update(reported_at=timezone.now() + timedelta(hours=1))


def fall_silent(run: int, seconds: int) -> None:
    """As if the trainer had reported nothing for so long, while its worker still holds the run."""
    now = timezone.now()
    Run.objects.filter(pk=run).update(
        reported_at=now - timedelta(seconds=seconds), lease_until=now + timedelta(hours=1)
    )


def keep_checkpoints(run: int) -> None:
    """As if the files of the story's checkpoints were on disk."""
    Checkpoint.objects.filter(run=run).update(kept=True)


def forget_sessions(user: str) -> None:
    """Sign a user out everywhere, as somebody in another browser would."""
    owner = str(User.objects.get(username=user).pk)
    for session in Session.objects.all():
        if session.get_decoded().get("_auth_user_id") == owner:
            session.delete()


CALLS: dict[str, Callable[..., Any]] = {
    call.__name__: call
    for call in (
        migrate,
        sign_in_link,
        make_agent,
        runs,
        make_run,
        begin,
        tell,
        tell_until,
        finish,
        foretell,
        say,
        hostile,
        wide,
        long,
        scores_of,
        ranking_of,
        make_searchable,
        newest,
        seqs,
        groups,
        tries,
        state_and_wish,
        stay_busy,
        fall_silent,
        keep_checkpoints,
        forget_sessions,
    )
}


def serve() -> None:
    for line in sys.stdin:
        name, arguments = json.loads(line)
        answer = CALLS[name](**arguments)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
