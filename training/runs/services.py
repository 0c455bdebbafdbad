"""What a person may do with runs: start, pause, stop, resume. Reads live in queries.

Each function changes rows in one transaction with the event that tells of it. The queue message that
follows is only a hint: if it is lost, the reconciler sends another.
"""

import hashlib
import itertools
from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from gpu_worker.environments import ENVIRONMENTS
from gpu_worker.types import AUTHORED
from training.authoring.launch import estimate
from training.judges import rubrics
from training.models import LIVING, Agent, Run, RunScenarios, Scenario
from training.runs import base_models, events, fitness, jobs, tasks, versions

DEMO = "order_desk"
COUNTS = {"train": 800, "val": 48, "test": 200}
"""Scenarios an agent gets from its environment, by split."""


class Refused(Exception):
    """Something a person asked for cannot be done; the text says why and what to do."""


def start_run(*, owner: User, agent: Agent, name: str, config: Mapping[str, Any], request_id: str) -> Run:
    """Queue a training of `agent`. The same request_id again returns the run it started.

    Raises Refused for a name that is taken, a knob out of range or a base model that cannot be trained.
    """
    key = _request_key(owner, request_id)
    earlier = Run.objects.filter(request_id=key).first()
    if earlier:
        return earlier
    name = name.strip()
    try:
        _refuse_if_unfit(owner, agent, name, config)
        with transaction.atomic():
            return _create_run(owner, agent, name, config, key)
    except (IntegrityError, Refused) as refused:  # another request may have been faster: perhaps the same one
        earlier = Run.objects.filter(request_id=key).first()
        if earlier is not None:
            return earlier
        raise Refused(_taken(name) if isinstance(refused, IntegrityError) else str(refused)) from None


def started_by(*, owner: User, request_id: str) -> Run | None:
    """The run that this request has started already."""
    return Run.objects.filter(request_id=_request_key(owner, request_id)).first()


def start_demo(*, owner: User) -> Run:
    """The first thing a person sees: the order desk agent starts to learn, as order-desk-1, -2, …"""
    agent = agent_for(owner=owner, environment=DEMO)
    name = free_name(owner, "order-desk")
    return start_run(owner=owner, agent=agent, name=name, config={}, request_id=f"demo {name}")


def agent_for(*, owner: User, environment: str) -> Agent:
    """The owner's agent for an environment that comes with ArtWeb, made with its scenarios if need be."""
    world = ENVIRONMENTS[environment]
    with transaction.atomic():
        User.objects.select_for_update().get(pk=owner.pk)  # two who ask at once get the same agent
        own = Agent.objects.filter(owner=owner)
        found = own.filter(environment=environment, template="", deleted_at=None).first()
        if found is not None:
            return found
        taken = set(own.values_list("name", flat=True))
        names = (f"{world.title} {number}" if number > 1 else world.title for number in itertools.count(1))
        agent = Agent.objects.create(
            owner=owner,
            name=next(name for name in names if name not in taken),
            environment=environment,
            system_prompt=world.system_prompt,
        )
        Scenario.objects.bulk_create(_scenarios(agent, environment))
    return agent


def free_name(owner: User, stem: str) -> str:
    """`stem-1`, `stem-2`, …: the first name this owner has not used."""
    taken = set(Run.objects.filter(owner=owner, name__startswith=f"{stem}-").values_list("name", flat=True))
    number = 1
    while f"{stem}-{number}" in taken:
        number += 1
    return f"{stem}-{number}"


def pause_run(run: Run) -> None:
    """Pause between steps, at once if the run has not begun. Raises Refused when it is over."""
    if _move(run, Q(state=Run.State.QUEUED) | _abandoned(), Run.State.PAUSED):
        return
    _wish(run, "pause")


def stop_run(run: Run) -> None:
    """Stop for good between steps; what was learned so far stays usable. Raises Refused when it is over."""
    idle = Q(state__in=(Run.State.DRAFT, Run.State.QUEUED, Run.State.PAUSED)) | _abandoned()
    if _move(run, idle, Run.State.CANCELLED, finished_at=Now()):
        return
    _wish(run, "stop")


def resume_run(run: Run) -> None:
    """Queue a paused or failed run again; it goes on from its newest verified checkpoint."""
    resting = Q(state__in=(Run.State.PAUSED, Run.State.FAILED))
    changes = {"attempts": 0, "error": "", "queued_at": Now(), "finished_at": None}
    if _move(run, resting, Run.State.QUEUED, **changes):
        tasks.send(run.pk)
    elif not Run.objects.filter(pk=run.pk, state__in=Run.ACTIVE).update(wish=""):
        run.refresh_from_db()
        if run.state != Run.State.QUEUED:
            raise Refused(_too_late(run))
    events.ring(run.pk)


def _request_key(owner: User, request_id: str) -> str:
    return hashlib.sha256(f"{owner.pk}:{request_id}".encode()).hexdigest()


def _refuse_if_unfit(owner: User, agent: Agent, name: str, config: Mapping[str, Any]) -> None:
    if agent.owner_id != owner.pk:
        raise Refused(_("There is no such agent."))
    if not 1 <= len(name) <= 80 or not name.isprintable():
        raise Refused(_("A run's name has 1 to 80 visible characters."))
    base_model = config.get("base_model", agent.config.get("base_model", agent.base_model))
    found = (
        jobs.complaint({**agent.config, **config})
        or base_models.complaint(str(base_model))
        or fitness.complaint(agent)
    )
    if found:
        raise Refused(found)
    if agent.environment not in (*ENVIRONMENTS, AUTHORED):
        known = {"name": agent.environment, "known": ", ".join(ENVIRONMENTS)}
        raise Refused(_("There is no environment %(name)s; there are %(known)s.") % known)
    for split in ("train", "test"):
        if not agent.scenarios.filter(LIVING, split=split).exists():
            lacking = {"agent": agent.name, "split": split}
            raise Refused(_("%(agent)s has no %(split)s scenarios; add some before you train it.") % lacking)
    if Run.objects.filter(owner=owner, name=name).exists():
        raise Refused(_taken(name))


def _create_run(owner: User, agent: Agent, name: str, config: Mapping[str, Any], key: str) -> Run:
    knobs = jobs.frozen_config(agent, config)
    rubrics.keep(agent, author=owner)
    run = Run.objects.create(
        owner=owner,
        agent=agent,
        version=versions.freeze(agent),
        name=name,
        state=Run.State.QUEUED,
        config=knobs,
        request_id=key,
        steps=knobs["steps"],
        estimate=estimate.of(agent, config).as_json(),
        queued_at=Now(),
    )
    RunScenarios.objects.create(run=run, values=jobs.frozen_scenarios(agent))
    events.append(run.pk, "state", "state:queued", {"state": Run.State.QUEUED})
    transaction.on_commit(lambda: tasks.send(run.pk))
    run.refresh_from_db()
    return run


def _scenarios(agent: Agent, environment: str) -> list[Scenario]:
    return [
        Scenario(
            agent=agent,
            key=s.id,
            split=s.split,
            messages=list(s.messages),
            expect=s.expect,
            tags=list(s.tags),
        )
        for split, count in COUNTS.items()
        for s in ENVIRONMENTS[environment].scenarios(split, count, seed=0)  # type: ignore[arg-type]
    ]


def _abandoned() -> Q:
    """Active by its row, but no worker has renewed its lease: nobody would read a wish."""
    return Q(state__in=Run.ACTIVE) & (Q(lease_until=None) | Q(lease_until__lt=Now()))


def _move(run: Run, condition: Q, state: object, **changes: object) -> bool:
    """Change a run's state if it is still as `condition` says; the event goes with it.

    The new epoch shuts out a worker that lost its lease but does not know it yet.
    """
    with transaction.atomic():
        changes |= {"state": state, "wish": "", "epoch": F("epoch") + 1}
        moved = Run.objects.filter(condition, pk=run.pk).update(**changes)
        if moved:
            seq = Run.objects.values_list("last_seq", flat=True).get(pk=run.pk)
            events.append(run.pk, "state", f"state:{seq + 1}:{state}", {"state": state})
    if moved:
        run.refresh_from_db()
        events.ring(run.pk)
    return bool(moved)


def _wish(run: Run, wish: str) -> None:
    if not Run.objects.filter(pk=run.pk, state__in=Run.ACTIVE).update(wish=wish):
        run.refresh_from_db()
        if wish == "pause" and run.state == Run.State.PAUSED:
            return
        if wish == "stop" and run.state == Run.State.CANCELLED:
            return
        raise Refused(_too_late(run))
    run.refresh_from_db()
    events.ring(run.pk)


def _taken(name: str) -> str:
    return _("A run named %(name)s exists already.") % {"name": name}


def _too_late(run: Run) -> str:
    known = {"name": run.name, "state": run.get_state_display()}
    return _("Too late: the state of %(name)s is “%(state)s”.") % known
