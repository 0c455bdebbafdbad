"""A scenario made of a try: what the agent was asked, as far as one wants to keep the conversation."""

import uuid
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from gpu_worker.types import Scenario as PlainScenario
from training.authoring.studio import audit, scenario_changes, scenarios
from training.authoring.studio.questions.question import Question
from training.models import LIVING, Agent, Scenario, Trajectory
from training.review.tries.replay import opening_of
from training.review.tries.spoken import drawn_messages

SOURCE = "review"


@dataclass(frozen=True)
class Made:
    """A scenario that was just made. `warning` says what it leaks to or repeats; empty where nothing."""

    scenario: Scenario
    warning: str


def make(trajectory: Trajectory, *, before: int, split: str) -> Made:
    """A scenario of the messages before number `before`, which the agent said. Raises scenarios.Refused."""
    record, run = trajectory.record, trajectory.run
    if run.agent.deleted_at is not None:
        raise scenarios.Refused(_("The agent is in the bin, so it takes no more scenarios."))
    if before not in drawn_messages(record.messages, record.segments):
        raise scenarios.Refused(_("Keep the conversation up to a message that the agent said; choose one."))
    messages = opening_of(record.messages[:before], run.config.get("system_prompt", ""))
    if not any(message.get("role") == "user" for message in messages):
        raise scenarios.Refused(_("Nobody has asked anything before that message; choose a later one."))
    was, agent = _frozen(trajectory), run.agent
    plain = PlainScenario(
        id=f"{SOURCE}-{uuid.uuid4().hex[:12]}",
        split=scenarios.known_split(split),  # type: ignore[arg-type]
        messages=tuple(messages),
        expect=was.get("expect", {}),
        tags=tuple(was.get("tags", ())),
        rubric=was.get("rubric", ""),
    )
    ids = scenarios.add_questions(agent, [_with_rows(agent, trajectory.scenario_key, plain)], source=SOURCE)
    made = Scenario.objects.get(pk=ids[0])
    if plain.rubric:
        Scenario.objects.filter(pk=made.pk).update(rubric=plain.rubric)
    return Made(made, _warning(agent, made))


def undo(agent: Agent, scenario_id: int) -> bool:
    """Put a scenario that was made so into the bin; whether there was one."""
    mine = agent.scenarios.filter(LIVING, pk=scenario_id, source=SOURCE)
    return mine.exists() and bool(scenario_changes.delete(agent, [scenario_id]).count)


def _frozen(trajectory: Trajectory) -> dict[str, Any]:
    """The scenario as it was when the run was started; empty where the run has it no more."""
    values = trajectory.run.scenarios.values
    return next((value for value in values if value["id"] == trajectory.scenario_key), {})


def _with_rows(agent: Agent, key: str, plain: PlainScenario) -> Question:
    """What the first one rests on, this one rests on too: that is what leaks are found by."""
    first = agent.scenarios.filter(key=key).values("kind", "rows").first() or {"kind": "", "rows": []}
    return Question(plain, first["kind"], tuple(first["rows"]))


def _warning(agent: Agent, made: Scenario) -> str:
    found = audit.of(agent)
    other = found.leaks.get(made.pk)
    if other is not None:
        key, split = Scenario.objects.values_list("key", "split").get(pk=other)
        told = {"key": key, "split": scenarios.SPLITS.get(split, split)}
        return _("It leaks: “%(key)s” in “%(split)s” shares a row or nearly the question with it.") % told
    twin = found.twins.get(made.pk)
    if twin is not None:
        told = {"key": Scenario.objects.values_list("key", flat=True).get(pk=twin)}
        return _("It asks nearly the same as “%(key)s”.") % told
    return ""
