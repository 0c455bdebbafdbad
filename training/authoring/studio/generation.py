"""Asking the desk for more scenarios: what an agent can be offered, and the errands that follow.

Here is only what the page knows and asks for; inventing itself is in `invent.py`, on the desk.
"""

import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from training.authoring.office import errands
from training.authoring.studio import solve_rate
from training.authoring.studio.scenario_queries import KINDS, Known
from training.authoring.studio.scenarios import Refused
from training.models import LIVING, Agent, Errand, Tool

Start = Callable[[User, Agent, QueryDict], Errand]

MOST_AT_ONCE = 500
SUGGESTED_COUNT = 60
MOST_LIKE = 40
"""Useful scenarios that more are made after."""
OFFLINE = "artweb/offline"
MODEL_NAME = re.compile(r"[\w.:@+-]+(/[\w.:@+-]+)+", re.ASCII)
LANGUAGES: dict[str, str | Promise] = {"en": gettext_lazy("English"), "zh": gettext_lazy("Chinese")}


@dataclass(frozen=True)
class Offer:
    """What the page can offer this agent."""

    tables: tuple[str, ...]
    """Names of the tables its tools look into: from these, questions come offline and free."""
    other_tools: tuple[str, ...]
    model: str
    """The language model it has named already, or empty."""
    useful: int
    """Scenarios it solves sometimes: more can be made like them."""
    count: int = SUGGESTED_COUNT
    most: int = MOST_AT_ONCE

    @property
    def offline(self) -> bool:
        return bool(self.tables)


def offer(agent: Agent, known: Known) -> Offer:
    others = Tool.objects.filter(LIVING, agent=agent).exclude(kind=Tool.Kind.TABLE)
    return Offer(
        tables=tuple(tables_of(agent)),
        other_tools=tuple(others.values_list("name", flat=True)),
        model="" if agent.judge_model == OFFLINE else agent.judge_model,
        useful=list(known.verdicts.values()).count("useful"),
    )


def tables_of(agent: Agent) -> list[str]:
    """Names of the tables that the agent's tools look into."""
    looking = Tool.objects.filter(LIVING, agent=agent, kind=Tool.Kind.TABLE, table__deleted_at=None)
    return sorted(set(looking.exclude(table=None).values_list("table__name", flat=True)))


def useful_keys(agent: Agent) -> list[str]:
    """Keys of the living scenarios that the agent solves sometimes, the most divided first."""
    rates = {k: rate for k, rate in solve_rate.rates_of(agent).items() if rate.verdict == "useful"}
    living = agent.scenarios.filter(LIVING, key__in=list(rates)).values_list("key", flat=True)
    return sorted(living, key=lambda key: (abs((rates[key].share or 0) - 0.5), key))


def start_inventing(owner: User, agent: Agent, asked: QueryDict) -> Errand:
    """Raises Refused for a number, a language or a model that cannot be."""
    model = _model(agent, asked)
    kinds = [kind for kind in asked.getlist("kinds") if kind in KINDS]
    if not model and not kinds:
        raise Refused(_("Choose at least one kind of question."))
    return errands.start(
        owner=owner,
        kind="invent",
        agent=agent,
        count=_count(asked),
        kinds=kinds,
        language=_language(agent, asked),
        model=model,
        seed=secrets.randbelow(2**31),
    )


def start_more_like(owner: User, agent: Agent, asked: QueryDict) -> Errand:
    """Raises Refused while no scenario is known to be useful."""
    like = useful_keys(agent)[:MOST_LIKE]
    if not like:
        raise Refused(_("No scenario is known to be useful yet: run a training first, if only a short one."))
    return errands.start(
        owner=owner,
        kind="more_like",
        agent=agent,
        count=_count(asked),
        like=like,
        language=_language(agent, asked),
        model=_model(agent, asked),
        seed=secrets.randbelow(2**31),
    )


def _count(asked: Mapping[str, str]) -> int:
    text = asked.get("count", "").strip() or str(SUGGESTED_COUNT)
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
    if not 1 <= number <= MOST_AT_ONCE:
        told = {"most": MOST_AT_ONCE}
        raise Refused(_("Ask for 1 to %(most)s scenarios at a time.") % told, "count")
    return number


def _language(agent: Agent, asked: Mapping[str, str]) -> str:
    """The language asked for, else the agent's own."""
    chosen = asked.get("language", "") or agent.language
    return chosen if chosen in LANGUAGES else "en"


def _model(agent: Agent, asked: Mapping[str, str]) -> str:
    """The model that is to invent them; empty where the tables are enough. Raises Refused."""
    if asked.get("by", "tables") == "tables":
        if not tables_of(agent):
            raise Refused(_("Without a table nothing can be made offline: add a table on the page Tools."))
        return ""
    model = asked.get("model", "").strip()
    if len(model) > 200 or not MODEL_NAME.fullmatch(model) or model == OFFLINE:
        raise Refused(_("Name a language model as litellm does, such as openai/gpt-4.1-mini."), "model")
    return model
