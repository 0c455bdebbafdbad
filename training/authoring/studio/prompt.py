"""An agent's system prompt: a proposal made from its description, and what the final prompt is made of.

Here is what the web process knows. How the model's chat template renders it is found out on the desk, in
`prompt_rendering.py`, which loads what no web process does.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from gpu_worker.environments import ENVIRONMENTS
from training.authoring.guide import suggestions
from training.authoring.guide.fields import Field
from training.authoring.office import errands
from training.models import LIVING, Agent, Errand, Scenario
from training.runs import jobs, versions

ERRAND = "prompt"
FIELD = Field(
    "system_prompt",
    _("What the agent is told first"),
    "text",
    help=_("It stands before every question. Say what the agent is for, and how it should answer."),
    longest=jobs.TEXTS["system_prompt"],
)
EXAMPLES = 30
"""Scenarios to choose from, newest first."""

RULES = {
    "en": "Look it up with your tools before you answer. Answer briefly, with what you found. "
    "If there is nothing, say that it was not found.",
    "zh": "先用工具查询，再回答。用查到的内容简短作答。如果没有查到，请说明没有找到。",
}
"""What is said after the task, in the language of the questions: to the model, so not translated."""
NOBODY = {"en": "You are a helpful assistant.", "zh": "你是一个乐于助人的助手。"}


def proposal(agent: Agent) -> str:
    """A system prompt in the language of the questions: the task as described, then how to answer."""
    language = agent.language if agent.language in RULES else "en"
    task = " ".join(agent.description.split()) or NOBODY[language]
    if task[-1] not in ".!?。！？":
        task += "。" if language == "zh" else "."
    has_tools = bool(agent.tools.filter(LIVING).exists() or agent.environment in ENVIRONMENTS)
    return "\n".join([task, RULES[language]]) if has_tools else task


def propose(agent: Agent, owner: User) -> None:
    """Put the proposal into the agent, marked as a suggestion; what stood there can be put back."""
    before = suggestions.fill(agent, {"system_prompt": proposal(agent)})
    now = timezone.now()
    Errand.objects.create(
        owner=owner,
        agent=agent,
        kind="propose_prompt",
        state=Errand.State.DONE,
        result={"before": before},
        started_at=now,
        finished_at=now,
    )


def examples(agent: Agent) -> Sequence[Scenario]:
    """Scenarios that the final prompt can be shown with."""
    return list(agent.scenarios.filter(LIVING).order_by("-pk")[:EXAMPLES])


def final(agent: Agent, owner: User, scenario: Scenario | None) -> Errand:
    """The errand that renders the prompt as it would be now: the newest, if nothing changed since."""
    mark = fingerprint(agent, scenario)
    newest = Errand.objects.filter(agent=agent, kind=ERRAND).first()
    if newest and newest.arguments.get("fingerprint") == mark and newest.state not in _ENDED_BADLY:
        return newest
    chosen = scenario.pk if scenario else None
    told = {"scenario": chosen, "fingerprint": mark}
    return errands.start(owner=owner, kind=ERRAND, agent=agent, **told)


_ENDED_BADLY = (Errand.State.FAILED, Errand.State.CANCELLED)


def fingerprint(agent: Agent, scenario: Scenario | None) -> str:
    """Changes when the prompt would: with the agent's words, tools and model, and the scenario's words."""
    parts: list[Any] = [agent.environment, agent.base_model, agent.system_prompt, versions.tools_of(agent)]
    parts.append(scenario.messages if scenario else None)
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True, default=str).encode()).hexdigest()
