"""The wizard as data: its six pages, in order, and what every one of them is shown with.

What a page needs is asked of the module that owns the page; what the rail shows is the estimate's
business. Forms and saving are in `fields.py`, addresses in `wizard_urls.py`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from gpu_worker.types import AUTHORED, Job
from judging.mix import SOURCES
from training.authoring.guide import compute, suggestions
from training.authoring.guide.fields import FIELDS, Field
from training.authoring.launch import estimate
from training.authoring.studio import scenarios
from training.authoring.toolbox import tools
from training.judges import providers
from training.models import LIVING, Agent
from training.phrasebook import said
from training.runs import base_models, jobs

Needs = Callable[[Agent], list[str]]
"""What is still missing on a page, in sentences. Nothing means that the page is ready."""


@dataclass(frozen=True)
class Page:
    """One page of the wizard. `slug` is both the last part of its address and that address's name."""

    slug: str
    title: str | Promise
    purpose: str | Promise
    needs: Needs
    fields: tuple[Field, ...] = ()
    """What this page edits as a form; pages with parts of their own list none."""


@dataclass(frozen=True)
class Step:
    """A page as the navigation shows it."""

    page: Page
    url: str
    current: bool
    needs: Sequence[str]


def _description_needs(agent: Agent) -> list[str]:
    if agent.description.strip():
        return []
    return [_("Say in a sentence or two what the agent is to do.")]


def _reward_needs(agent: Agent) -> list[str]:
    """A score of the task's own needs scenarios that have one; expectations are the studio's business."""
    if agent.config.get("reward", Job.reward) == "environment" and agent.environment == AUTHORED:
        expects = agent.scenarios.filter(LIVING).values_list("expect", flat=True)
        if any("changes" not in expect for expect in expects):
            return [_("Only scenarios that expect changes to tables score themselves; choose another.")]
    if agent.config.get("reward") == "mix":
        weights = agent.config.get("mix", {})
        if not any(weights.get(source) for source in SOURCES):
            return [_("Give the judge, the checks or the task’s own score a weight in the mix.")]
        if not weights.get("ruler") and agent.scenarios.filter(LIVING, expect={}).exists():
            return [_("Some scenarios expect nothing that could be checked: give the judge a weight, too.")]
    if providers.judged(agent):
        return [refused] if (refused := providers.refusal(agent.owner, agent.judge_model)) else []
    return []


def _compute_needs(agent: Agent) -> list[str]:
    found = base_models.complaint(agent.base_model) or jobs.complaint(agent.config)
    return [said(found)] if found else []


def _nothing_of_its_own(agent: Agent) -> list[str]:
    return []


PAGES = (
    Page(
        "describe",
        gettext_lazy("Describe"),
        gettext_lazy("What the agent is for, in your own words."),
        _description_needs,
        (FIELDS["name"], FIELDS["description"], FIELDS["language"]),
    ),
    Page(
        "tools",
        gettext_lazy("Tools"),
        gettext_lazy("What it can look up, call or change while it works on an answer."),
        tools.needs,
    ),
    Page(
        "scenarios",
        gettext_lazy("Scenarios"),
        gettext_lazy("Questions to practise on, and others kept back to see whether it learned."),
        scenarios.needs,
    ),
    Page(
        "reward",
        gettext_lazy("Reward"),
        gettext_lazy("How ArtWeb tells a good try from a bad one."),
        _reward_needs,
        (FIELDS["reward"], FIELDS["mix"], FIELDS["judge_model"], FIELDS["rubric"], *compute.REWARD),
    ),
    Page(
        "compute",
        gettext_lazy("Model & compute"),
        gettext_lazy("Which model learns, for how long, and what it may cost."),
        _compute_needs,
        (FIELDS["base_model"], *compute.FIELDS),
    ),
    Page(
        "review",
        gettext_lazy("Review"),
        gettext_lazy("Everything at a glance, checked before you start."),
        _nothing_of_its_own,
    ),
)


def context(agent: Agent, slug: str) -> dict[str, Any]:
    """What `authoring/wizard.html` needs to show the page called `slug` of this agent."""
    steps = steps_of(agent, slug)
    at = next(place for place, step in enumerate(steps) if step.current)
    return {
        "agent": agent,
        "page": steps[at].page,
        "estimate": estimate.of(agent),
        "suggested": _suggested(agent),
        "suggested_tools": suggestions.open_tools(agent),
        "tools_url": address(agent, "tools"),
        "steps": steps,
        "needs": steps[at].needs,
        "previous": steps[at - 1] if at else None,
        "next": steps[at + 1] if at + 1 < len(steps) else None,
    }


@dataclass(frozen=True)
class Suggested:
    """A field that was filled for the person, and where it can be looked at."""

    title: str | Promise
    url: str


def _suggested(agent: Agent) -> list[Suggested]:
    places = {"rubric": address(agent, "reward"), "system_prompt": reverse("prompt", args=[agent.pk])}
    return [
        Suggested(SUGGESTED.get(name, name), places.get(name, address(agent, "describe")))
        for name in suggestions.open_ones(agent)
    ]


SUGGESTED: dict[str, str | Promise] = {
    "name": gettext_lazy("name"),
    "description": gettext_lazy("description"),
    "language": gettext_lazy("language"),
    "system_prompt": gettext_lazy("system prompt"),
    "rubric": gettext_lazy("what the judge looks at"),
}


def page_called(slug: str) -> Page:
    """The page with this address; KeyError if there is none."""
    return {page.slug: page for page in PAGES}[slug]


def steps_of(agent: Agent, slug: str = "") -> list[Step]:
    """The pages in order, each with what it still needs; the last needs all others to be ready."""
    steps = [Step(page, address(agent, page.slug), page.slug == slug, page.needs(agent)) for page in PAGES]
    lacking = ", ".join(str(step.page.title) for step in steps if step.needs)
    if lacking:
        needs = [_("Pages that still need something: %(pages)s.") % {"pages": lacking}]
        steps[-1] = replace(steps[-1], needs=needs)
    return steps


def address(agent: Agent, slug: str) -> str:
    """Where a page of this agent is."""
    return f"{reverse('agents')}{agent.pk}/{slug}/"
