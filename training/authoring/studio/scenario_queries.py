"""What the scenario page reads: a page of the grid, and what stands above it.

Writes are in `scenarios.py`. The grid is read fifty rows at a time, newest first, after the id the page
before ended with; no filter costs more than reading ids and keys of one agent.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from gpu_worker.environments import ENVIRONMENTS
from training.authoring.studio import audit, expectations, solve_rate
from training.authoring.studio.audit import Audit, asked
from training.authoring.studio.questions.question import DIFFICULTY
from training.authoring.studio.scenarios import SPLITS
from training.authoring.studio.solve_rate import UNTRIED, Rate
from training.models import LIVING, Agent, Errand, Scenario, Tool

PAGE = 50
LONGEST_SEARCH = 200
MOST_TAGS_SHOWN = 50
ERRANDS = ("invent", "more_like", "read_scenarios", "import_scenarios")
"""Kinds of errands that this page waits for."""

KINDS: dict[str, Promise] = {
    "single": _("look-up"),
    "two_hop": _("two steps"),
    "filter": _("filter"),
    "count": _("count"),
    "compare": _("compare"),
    "missing": _("not there"),
}
DIFFICULTIES: dict[str, Promise] = {"easy": _("easy"), "medium": _("medium"), "hard": _("hard")}
SOURCES: dict[str, Promise] = {
    "template": _("template"),
    "written": _("written"),
    "generated": _("generated"),
    "imported": _("imported"),
    "review": _("from a try"),
}
FLAGS: dict[str, Promise] = {
    "duplicate": _("Duplicates"),
    "leak": _("Leaks"),
    "unchecked": _("Expects nothing"),
}


@dataclass(frozen=True)
class Filters:
    """What the grid is narrowed to; empty is all."""

    split: str = ""
    kind: str = ""
    tag: str = ""
    badge: str = ""
    flag: str = ""
    text: str = ""

    @classmethod
    def of(cls, given: Mapping[str, str]) -> "Filters":
        """From a query or a form; values that name nothing count as empty."""
        known = {"split": SPLITS, "badge": solve_rate.VERDICTS, "flag": FLAGS}
        values = {name: given.get(name, "").strip()[:LONGEST_SEARCH] for name in cls.__dataclass_fields__}
        return cls(**{k: v for k, v in values.items() if "\0" not in v and (k not in known or v in known[k])})

    @property
    def query(self) -> str:
        """As the query of an address."""
        return urlencode(self.items)

    @property
    def items(self) -> list[tuple[str, str]]:
        """Names and values, for a form that hands them on."""
        return [(name, value) for name, value in vars(self).items() if value]

    @property
    def any(self) -> bool:
        return bool(self.items)


@dataclass(frozen=True)
class Line:
    """One scenario as the grid shows it."""

    scenario: Scenario
    question: str
    expected: list[str]
    rate: Rate
    twin: int | None = None
    leak: int | None = None

    @property
    def kind(self) -> str | Promise:
        return KINDS.get(self.scenario.kind, self.scenario.kind)

    @property
    def difficulty(self) -> str | Promise:
        return DIFFICULTIES.get(difficulty(self.scenario.kind, self.scenario.tags), "")

    @property
    def tags(self) -> list[str]:
        """Its tags, without those that the kind and the difficulty say already."""
        return [tag for tag in self.scenario.tags if tag != self.scenario.kind and tag not in DIFFICULTIES]

    @property
    def split(self) -> str | Promise:
        return SPLITS.get(self.scenario.split, self.scenario.split)

    @property
    def source(self) -> str | Promise:
        return SOURCES.get(self.scenario.source, self.scenario.source)


@dataclass(frozen=True)
class Page:
    lines: list[Line]
    older: int | None
    """The id after which the next page begins; None at the end."""


@dataclass(frozen=True)
class Known:
    """What a page reads once of all scenarios of an agent."""

    audit: Audit
    rates: Mapping[str, Rate]

    @property
    def verdicts(self) -> dict[str, str]:
        """Of every living scenario, by its key."""
        return {key: self.rates.get(key, UNTRIED).verdict for key in self.audit.keys}


def known_of(agent: Agent) -> Known:
    return Known(audit.of(agent), solve_rate.rates_of(agent))


def grid(agent: Agent, known: Known, filters: Filters, *, before: int | None = None) -> Page:
    """A page of scenarios, newest first; `before` is the id the page before ended with."""
    ids = matching(agent, known, filters, before=before, most=PAGE + 1)
    rows = agent.scenarios.filter(pk__in=ids[:PAGE]).order_by("-pk")
    return Page(lines_of(known, rows), ids[PAGE - 1] if len(ids) > PAGE else None)


def lines_of(known: Known, rows: Iterable[Scenario]) -> list[Line]:
    found = known.audit
    return [
        Line(
            scenario=row,
            question=asked(row.messages),
            expected=expectations.told(row.expect),
            rate=known.rates.get(row.key, UNTRIED),
            twin=found.twins.get(row.pk),
            leak=found.leaks.get(row.pk),
        )
        for row in rows
    ]


def matching(
    agent: Agent, known: Known, filters: Filters, *, before: int | None = None, most: int | None = None
) -> list[int]:
    """Ids of the scenarios that the filters let through, newest first."""
    rows = _narrowed(agent, known.audit, filters)
    if before is not None:
        rows = rows.filter(pk__lt=before)
    ids = rows.order_by("-pk").values_list("pk", "key")
    if not filters.badge:
        return [pk for pk, _key in (ids if most is None else ids[:most])]
    verdicts = known.verdicts
    return [pk for pk, key in ids if verdicts.get(key) == filters.badge][:most]


def _narrowed(agent: Agent, found: Audit, filters: Filters) -> QuerySet[Scenario]:
    rows = agent.scenarios.filter(LIVING)
    if filters.split:
        rows = rows.filter(split=filters.split)
    if filters.kind:
        rows = rows.filter(kind=filters.kind)
    if filters.flag == "unchecked":
        rows = rows.filter(expect={})
    elif filters.flag:
        rows = rows.filter(pk__in=list(found.twins if filters.flag == "duplicate" else found.leaks))
    if filters.tag:
        tags = rows.alias(tags_text=Cast("tags", TextField()))
        rows = tags.filter(_holds("tags_text", filters.tag, quoted=True))
    if filters.text:
        rows = rows.alias(said=Cast("messages", TextField())).filter(_holds("said", filters.text))
    return rows


def _holds(column: str, text: str, *, quoted: bool = False) -> Q:
    """JSON as text holds `text`: one database writes letters beyond ASCII as they are, the other as codes."""
    found = Q()
    for ascii_only in (True, False):
        written = json.dumps(text, ensure_ascii=ascii_only)
        wanted = written if quoted else written[1:-1]
        found |= Q(**{f"{column}__{'contains' if quoted else 'icontains'}": wanted})
    return found


def difficulty(kind: str, tags: Iterable[str]) -> str:
    """easy, medium or hard: what a tag says, else how hard its kind usually is; empty if nobody knows."""
    told = next((tag for tag in tags if tag in DIFFICULTIES), "")
    return told or DIFFICULTY.get(kind, "")


@dataclass(frozen=True)
class Choices:
    """What the filters above the grid offer, with how many scenarios each has."""

    splits: list[tuple[str, str | Promise, int]]
    kinds: list[tuple[str, str | Promise, int]]
    tags: list[tuple[str, int]]
    flags: list[tuple[str, Promise, int]]
    badges: list[tuple[str, Promise]]
    total: int


def choices(found: Audit) -> Choices:
    flags = {"duplicate": len(found.twins), "leak": len(found.leaks), "unchecked": found.unchecked}
    return Choices(
        splits=[(split, SPLITS[split], found.splits.get(split, 0)) for split in SPLITS],
        kinds=[(kind, KINDS.get(kind, kind), n) for kind, n in sorted(found.kinds.items()) if kind],
        tags=sorted(found.tags.items(), key=lambda item: (-item[1], item[0]))[:MOST_TAGS_SHOWN],
        flags=[(name, FLAGS[name], n) for name, n in flags.items() if n],
        badges=list(solve_rate.VERDICTS.items()),
        total=found.count,
    )


def tool_names(agent: Agent, more: Iterable[str] = ()) -> list[str]:
    """Names of the agent's tools, and others that must be offered too."""
    names = list(Tool.objects.filter(LIVING, agent=agent).values_list("name", flat=True))
    world = ENVIRONMENTS.get(agent.environment)
    if world and not names:
        names = sorted(
            {
                call["name"]
                for s in agent.scenarios.filter(LIVING)[:PAGE]
                for call in s.expect.get("calls", ())
            }
        )
    return list(dict.fromkeys([*names, *(name for name in more if name)]))


def earlier_messages(scenario: Scenario) -> list[dict[str, Any]]:
    """What was said before the question, for scenarios that begin in the middle of a talk."""
    users = [place for place, message in enumerate(scenario.messages) if message.get("role") == "user"]
    return list(scenario.messages[: users[-1]]) if users else list(scenario.messages)


def errand_to_show(agent: Agent, chosen: str) -> Errand | None:
    """The errand the address names, or the newest one that is not over."""
    of_page = Errand.objects.filter(agent=agent, kind__in=ERRANDS)
    if chosen.isascii() and chosen.isdigit() and len(chosen) < 16:
        return of_page.filter(pk=int(chosen)).first()
    return of_page.exclude(state__in=Errand.OVER).first()
