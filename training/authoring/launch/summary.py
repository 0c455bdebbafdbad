"""What a run would train, in plain words: one line for each part of the agent, and where it is edited."""

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from gpu_worker.environments import ENVIRONMENTS
from gpu_worker.types import AUTHORED, Job
from judging import offline
from training.authoring.guide import compute, wizard
from training.models import LIVING, Agent
from training.runs import knobs, words
from training.templatetags.figures import figure

LONGEST = 300
NAMED = 6
"""Tools that are named; of more, how many there are."""
SHOWN_ELSEWHERE = {"environment", "base_model", "judge_model", "rubric", "reward", "budget"}


@dataclass(frozen=True)
class Line:
    label: str
    value: str
    url: str


def of(agent: Agent) -> list[Line]:
    """The lines of the review page."""
    return [
        Line(_("Task"), agent.description[:LONGEST] or "–", wizard.address(agent, "describe")),
        Line(_("Tools"), _tools(agent), wizard.address(agent, "tools")),
        Line(_("Scenarios"), _scenarios(agent), wizard.address(agent, "scenarios")),
        Line(_("Reward"), _reward(agent), wizard.address(agent, "reward")),
        Line(_("Model"), _model(agent), wizard.address(agent, "compute")),
        Line(_("Changed settings"), _changed(agent), wizard.address(agent, "compute")),
    ]


def _tools(agent: Agent) -> str:
    if agent.environment != AUTHORED:
        world = ENVIRONMENTS.get(agent.environment)
        return _("Those of the task “%(title)s”") % {"title": world.title if world else agent.environment}
    names = list(agent.tools.filter(LIVING).values_list("name", flat=True))
    if not names:
        return _("None")
    if len(names) > NAMED:
        told = {"names": ", ".join(names[:NAMED]), "more": len(names) - NAMED}
        return _("%(names)s and %(more)s more") % told
    return ", ".join(names)


def _scenarios(agent: Agent) -> str:
    living = agent.scenarios.filter(LIVING)
    counts = {split: living.filter(split=split).count() for split in ("train", "val", "test")}
    return _("%(train)s to practise on, %(val)s to check in between, %(test)s kept for the test") % {
        split: figure(count) for split, count in counts.items()
    }


def _reward(agent: Agent) -> str:
    reward = agent.config.get("reward", Job.reward)
    if reward != "ruler":
        return str(words.SOURCES.get(reward, reward))
    if agent.judge_model == offline.MODEL:
        return _("The offline judge, which goes by rules")
    return _("The judge %(judge)s") % {"judge": agent.judge_model}


def _model(agent: Agent) -> str:
    if agent.base_model == "embedded":
        return _("The small model that comes with ArtWeb")
    return agent.base_model


def _changed(agent: Agent) -> str:
    changed = [k for k in knobs.knobs(agent.config) if k.changed and k.name not in SHOWN_ELSEWHERE]
    if not changed:
        return _("None, all as recommended")
    count = len(changed)
    labels = {field.name: field.label for field in (*compute.FIELDS, *compute.REWARD)}
    names = (f"{labels.get(knob.name, knob.name)} {knob.written}" for knob in changed)
    told = {"count": count, "names": ", ".join(names)}
    return ngettext("%(names)s", "%(count)s settings: %(names)s", count) % told
