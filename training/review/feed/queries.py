"""Reads for the list of tries. Nothing here counts, skips or reads a large column of more than one page."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.db import connection

from training.models import Group, Run, RunScenarios, SavedView, TrajectoryRecord, TrajectoryTag
from training.review.feed import paging, search, sentences
from training.review.feed.conditions import conditions
from training.review.feed.filters import Filters
from training.review.feed.paging import Found, Place, Scope
from training.review.feed.row import Row
from training.review.feed.wanted import Snippet, Wanted, snippet, wanted
from training.templatetags.figures import bar, score

MOST_RUNS = 200
"""Runs that one list looks through."""
EXCERPT = 160
"""Characters of a prompt and an answer that a row shows."""
SEARCH_PATIENCE = 0.2
"""Seconds that a search helps to fill the index before it looks."""
MOST_NAMES = 200
"""Tags or scenarios that a field suggests."""
FROZEN = 10
"""Newest runs whose scenarios are looked through for tags; they are long to read."""


@dataclass(frozen=True)
class Listing:
    rows: list[Row]
    found: Found
    behind: int
    """Tries that cannot be searched yet; 0 where no text is asked for."""
    unindexed: bool
    """Whether the words are too short for the index."""


def runs_of(user: User) -> list[Run]:
    """The person's runs, newest first, with what a list says of them."""
    return list(Run.objects.filter(owner=user).only("id", "name", "state").order_by("-id")[:MOST_RUNS])


def scope_of(filters: Filters, runs: Sequence[Run]) -> Scope:
    """The run asked for, or all of them."""
    return Scope((filters.run,) if filters.run else tuple(run.pk for run in runs))


def listing(
    filters: Filters, runs: Sequence[Run], *, at: Place | None = None, backwards: bool = False
) -> Listing:
    """One page. `runs` are those of the person who looks."""
    scope = scope_of(filters, runs)
    asked = asked_of(filters)
    if asked and asked.grams:
        search.catch_up(SEARCH_PATIENCE)
    found = paging.page(
        scope,
        paging.order_of(filters),
        conditions(filters, tagged(filters, scope)),
        asked=asked,
        at=at,
        backwards=backwards,
    )
    return Listing(
        rows=rows(found.ids, runs, asked),
        found=found,
        behind=search.behind(scope.runs) if asked and asked.grams else 0,
        unindexed=bool(asked and not asked.grams),
    )


def asked_of(filters: Filters) -> Wanted | None:
    """What transcripts shall say, if anything."""
    asked = wanted(filters.text)
    return asked if asked.all_of or asked.none_of else None


def tagged(filters: Filters, scope: Scope) -> list[str]:
    """Keys of the scenarios that have the tag asked for."""
    if not filters.tag:
        return []
    return sorted({key for key, tags in _scenario_tags(scope) if filters.tag in tags})


class Narrow(NamedTuple):
    """What a list reads of a try and its group."""

    id: int
    run: int
    number: int
    reward: float
    human: float | None
    success: bool
    ended: str
    turns: int
    failed_calls: int
    advantage: float | None
    scenario: str
    answer: str
    label: str
    step: int
    group: int
    tries: int
    prompt: str


# As they are: to put them together anew for every page takes several times as long as to run them.
_NARROW = f"""
    SELECT try.id, try.run_id, try."index", try.reward, try.human, try.success, try.ended, try.turns,
        try.failed_calls, try.advantage, try.scenario_key, substr(try.answer, 1, {EXCERPT}),
        party.label, party.step, party."index", party.tries, substr(party.prompt, 1, {EXCERPT})
    FROM training_trajectory AS try JOIN training_group AS party ON party.id = try.group_id
    WHERE try.id IN (%s)
"""
_TAGS = "SELECT trajectory_id, name FROM training_trajectorytag WHERE trajectory_id IN (%s) ORDER BY name"


def rows(ids: Sequence[int], runs: Iterable[Run], asked: Wanted | None) -> list[Row]:
    """Tries as rows, in the order given."""
    if not ids:
        return []
    found = {values[0]: Narrow(*values) for values in _select(_NARROW, ids)}
    tags: dict[int, list[str]] = defaultdict(list)
    for pk, name in _select(_TAGS, ids):
        tags[pk].append(name)
    told = _snippets(ids, asked) if asked else {}
    by_id = {run.pk: run for run in runs}
    say = sentences.Marks()
    return [_row(found[pk], by_id, say, tags.get(pk, []), told.get(pk)) for pk in ids if pk in found]


def _select(sql: str, ids: Sequence[int]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql % ", ".join(["%s"] * len(ids)), ids)
        return cursor.fetchall()


def views_of(user: User) -> list[SavedView]:
    return list(SavedView.objects.filter(owner=user))


@dataclass(frozen=True)
class Names:
    """What fields suggest."""

    scenarios: list[str]
    tags: list[str]
    tools: list[str]


def names(scope: Scope) -> Names:
    """Tools, tags and scenarios of some runs; not for every page, scenarios are many."""
    given = (
        TrajectoryTag.objects.filter(run_id__in=scope.runs).order_by("name").values_list("name", flat=True)
    )
    scenarios = _scenario_tags(scope)
    groups = Group.objects.filter(run_id__in=scope.runs).order_by("-pk")
    tools = groups.values_list("tools", flat=True).first() or []
    return Names(
        scenarios=[key for key, _given in scenarios][:MOST_NAMES],
        tags=sorted({*given.distinct()[:MOST_NAMES], *(tag for _key, tags in scenarios for tag in tags)}),
        tools=[tool["name"] for tool in tools],
    )


def _scenario_tags(scope: Scope) -> list[tuple[str, list[str]]]:
    """Key and tags of scenarios, as they were when the runs started."""
    frozen = RunScenarios.objects.filter(run_id__in=scope.runs[:FROZEN]).values_list("values", flat=True)
    return [(value["id"], value.get("tags") or []) for values in frozen for value in values]


def _row(
    of: Narrow, runs: dict[int, Run], say: sentences.Marks, tags: list[str], told: Snippet | None
) -> Row:
    return Row(
        id=of.id,
        run=runs[of.run],
        place=say.place(of),
        score=score(of.reward),
        width=bar(of.reward),
        person=say.person(of.human),
        success=bool(of.success),
        prompt=of.prompt or of.scenario,
        answer=of.answer,
        marks=say.marks(of),
        tags=tags,
        snippet=told,
    )


def _snippets(ids: Sequence[int], asked: Wanted) -> dict[int, Snippet | None]:
    records = TrajectoryRecord.objects.filter(pk__in=ids).values_list("pk", "messages")
    return {pk: snippet(messages, asked) for pk, messages in records}
