"""Reads for the list of tries. Nothing here counts, skips or reads a large column of more than one page."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db.models.functions import Substr

from training.models import Group, Run, RunScenarios, SavedView, Trajectory, TrajectoryRecord, TrajectoryTag
from training.review.feed import paging, search, sentences
from training.review.feed.conditions import conditions
from training.review.feed.filters import Filters
from training.review.feed.paging import Found, Place, Scope
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
class Row:
    """A try in the list, in words. `marks` are (kind of chip, words); prompt and answer are beginnings."""

    id: int
    run: Run
    place: str
    score: str
    width: str
    person: str
    success: bool
    prompt: str
    answer: str
    marks: list[tuple[str, str]]
    tags: list[str]
    snippet: Snippet | None


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


COLUMNS = ("id", "run_id", "index", "reward", "human", "success", "ended", "turns", "failed_calls") + (
    "advantage",
    "scenario_key",
    "group__label",
    "group__step",
    "group__index",
    "group__tries",
)


def rows(ids: Sequence[int], runs: Iterable[Run], asked: Wanted | None) -> list[Row]:
    """Tries as rows, in the order given."""
    beginnings = {"answer_": Substr("answer", 1, EXCERPT), "prompt_": Substr("group__prompt", 1, EXCERPT)}
    narrow = Trajectory.objects.filter(pk__in=ids).order_by().values(*COLUMNS, **beginnings)
    found = {values["id"]: values for values in narrow}
    tags = _tags(ids)
    told = _snippets(ids, asked) if asked else {}
    by_id = {run.pk: run for run in runs}
    say = sentences.Marks()
    return [_row(found[pk], by_id, say, tags.get(pk, []), told.get(pk)) for pk in ids if pk in found]


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
    of: dict[str, Any], runs: dict[int, Run], say: sentences.Marks, tags: list[str], told: Snippet | None
) -> Row:
    return Row(
        id=of["id"],
        run=runs[of["run_id"]],
        place=say.place(of),
        score=score(of["reward"]),
        width=bar(of["reward"]),
        person=say.person(of["human"]),
        success=of["success"],
        prompt=of["prompt_"] or of["scenario_key"],
        answer=of["answer_"],
        marks=say.marks(of),
        tags=tags,
        snippet=told,
    )


def _tags(ids: Sequence[int]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = defaultdict(list)
    for pk, name in TrajectoryTag.objects.filter(trajectory__in=ids).values_list("trajectory", "name"):
        found[pk].append(name)
    return found


def _snippets(ids: Sequence[int], asked: Wanted) -> dict[int, Snippet | None]:
    records = TrajectoryRecord.objects.filter(pk__in=ids).values_list("pk", "messages")
    return {pk: snippet(messages, asked) for pk, messages in records}
