"""All scenarios of an agent seen at once: duplicates, leaks between splits, and what they cover.

Reading thousands of them costs a moment, so what was found is kept until a scenario changes: every
writing service notes the moment in `Agent.edited_at`. Showing it is left to `scenario_queries.py`.
"""

import hashlib
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.cache import cache
from django.db.models import Count, Max, TextField
from django.db.models.functions import Cast

from gpu_worker.types import Message
from gpu_worker.types import Scenario as PlainScenario
from training.authoring.studio.questions.question import Question
from training.authoring.studio.questions.similar import duplicates
from training.authoring.studio.questions.splits import leaks
from training.models import LIVING, Agent

KEPT_FOR = 3600
"""Seconds; afterwards the scenarios are read again even if nothing has changed."""
TEMPLATE = "template"
"""The source of scenarios that came with the agent's environment or template."""
NO_TOOL = ""
"""Names the row of the coverage for scenarios that rest on no tool that can be told."""


@dataclass(frozen=True)
class Audit:
    """`twins` maps a scenario's id to the id of an earlier one that asks nearly the same; `leaks` to the id
    of one in another split that shares a row or nearly the question."""

    keys: tuple[str, ...] = ()
    splits: Mapping[str, int] = field(default_factory=dict)
    kinds: Mapping[str, int] = field(default_factory=dict)
    sources: Mapping[str, int] = field(default_factory=dict)
    tags: Mapping[str, int] = field(default_factory=dict)
    unchecked: int = 0
    twins: Mapping[int, int] = field(default_factory=dict)
    leaks: Mapping[int, int] = field(default_factory=dict)
    coverage: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """How many scenarios by (tool or table, kind); one that rests on several counts for each."""

    @property
    def count(self) -> int:
        return len(self.keys)


def of(agent: Agent) -> Audit:
    """The audit of the agent's scenarios as they are now.

    Two marks tell whether that is what was kept: a moment, and, when other things of the agent were changed
    since, a digest of the scenarios.
    """
    living = agent.scenarios.filter(LIVING).aggregate(count=Count("pk"), newest=Max("pk"))
    moment = Agent.objects.values_list("edited_at", flat=True).get(pk=agent.pk)
    stamp = f"{moment.timestamp():.6f}-{living['count']}-{living['newest'] or 0}"
    key = f"scenario-audit-{agent.pk}"
    kept: tuple[str, str, Audit] = cache.get(key) or ("", "", Audit())
    if kept[0] == stamp:
        return kept[2]
    digest = _digest(agent)
    found = kept[2] if kept[1] == digest else _made(_rows(agent))
    cache.set(key, (stamp, digest, found), KEPT_FOR)
    return found


def questions_of(agent: Agent, ids: Container[int] | None = None) -> list[Question]:
    """The agent's scenarios, or those of these ids, as the pure modules know them, in the order of making."""
    return [_question(row) for row in _rows(agent) if ids is None or row["pk"] in ids]


def asked(messages: Sequence[Message]) -> str:
    """What the user said last: the question of a scenario."""
    said = (m.get("content") for m in reversed(messages) if m.get("role") == "user")
    content = next(said, "")
    return content if isinstance(content, str) else ""


COLUMNS = ("pk", "key", "split", "kind", "source", "tags", "rows", "messages", "expect", "rubric")
Row = dict[str, Any]


def _rows(agent: Agent) -> list[Row]:
    return list(agent.scenarios.filter(LIVING).order_by("pk").values(*COLUMNS))


def _digest(agent: Agent) -> str:
    """Of everything an audit reads, as it is stored: reading it so takes a tenth of making an audit."""
    texts = [Cast(name, TextField()) for name in ("tags", "rows", "messages", "expect")]
    rows = agent.scenarios.filter(LIVING).order_by("pk")
    stored = rows.values_list("pk", "key", "split", "kind", "source", *texts)
    return hashlib.sha256(repr(list(stored)).encode("utf-8", "surrogatepass")).hexdigest()


def _question(row: Row) -> Question:
    scenario = PlainScenario(
        row["key"], row["split"], tuple(row["messages"]), row["expect"], tuple(row["tags"]), row["rubric"]
    )
    return Question(scenario=scenario, kind=row["kind"], rows=tuple(row["rows"]))


def _made(rows: Sequence[Row]) -> Audit:
    questions = [_question(row) for row in rows]
    return Audit(
        keys=tuple(row["key"] for row in rows),
        splits=Counter(row["split"] for row in rows),
        kinds=Counter(row["kind"] for row in rows),
        sources=Counter(row["source"] for row in rows),
        tags=Counter(tag for row in rows for tag in row["tags"]),
        unchecked=sum(not row["expect"] for row in rows),
        twins=_twins(rows, questions),
        leaks=_leaks(rows, questions),
        coverage=Counter((tool, row["kind"]) for row in rows for tool in _rests_on(row)),
    )


def _rests_on(row: Row) -> set[str]:
    """The tools it must call, else the tables it rests on."""
    called = {str(call.get("name", "")) for call in row["expect"].get("calls", ())}
    return called or {name.partition(":")[0] for name in row["rows"]} or {NO_TOOL}


def _twins(rows: Sequence[Row], questions: Sequence[Question]) -> dict[int, int]:
    found: dict[int, int] = {}
    for first, later in duplicates([question.text for question in questions]):
        if not _meant(rows[first], rows[later]):
            found.setdefault(rows[later]["pk"], rows[first]["pk"])
    return found


def _leaks(rows: Sequence[Row], questions: Sequence[Question]) -> dict[int, int]:
    """Both sides of every leak, each with one it leaks to."""
    by_key = {row["key"]: row for row in rows}
    found: dict[int, int] = {}
    for leak in leaks(questions):
        first, second = by_key[leak.first], by_key[leak.second]
        if not _meant(first, second):
            found.setdefault(first["pk"], second["pk"])
            found.setdefault(second["pk"], first["pk"])
    return found


def _meant(one: Row, other: Row) -> bool:
    """Whether both came with the agent: a task that comes with ArtWeb vouches for its own splits.

    Its questions may differ in no more than a sign, and that sign may be all they are about.
    """
    return one["source"] == other["source"] == TEMPLATE
