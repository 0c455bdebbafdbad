"""The list of tries: every filter, every order, pages to the end and back, saved views."""

import random
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests import stories
from tests.conftest import MakeRun
from training.models import Group, Run, SavedView, Trajectory, TrajectoryTag, TrajectoryTool
from training.review.feed import filters, paging, queries, row
from training.review.feed.filters import Filters
from training.review.feed.paging import Place
from training.review.feed.row import Row
from training.review.feed.wanted import Snippet

pytestmark = pytest.mark.django_db(transaction=True)

LABELS = ("train", "train", "train", "baseline", "validation", "trained")
ENDS = ("answered", "answered", "answered", "malformed_call")
Fill = Callable[..., Run]


def fill(run: Run, groups: int = 60, size: int = 4, seed: int = 1) -> Run:
    """Rows of every kind, with many equal rewards."""
    dice = random.Random(seed)
    for number in range(groups):
        label = LABELS[number % len(LABELS)]
        group = Group.objects.create(
            run=run,
            label=label,
            split="train",
            step=number // 6,
            index=number,
            scenario_key=f"s{number % 7}",
            prompt=f"Question {number}",
            tries=size,
            successes=0,
            mean_reward=0.5,
            best_reward=1,
        )
        made = Trajectory.objects.bulk_create(
            Trajectory(
                group=group,
                run=run,
                label=label,
                step=group.step,
                scenario_key=group.scenario_key,
                index=index,
                ended=dice.choice(ENDS),
                turns=dice.randrange(1, 6),
                sampled_tokens=9,
                calls=1,
                failed_calls=int(dice.random() < 0.2),
                reward=dice.choice((0.0, 0.25, 0.5, 1.0, 1.0)),
                human=0.5 if dice.random() < 0.1 else None,
                success=dice.random() < 0.5,
                advantage=dice.uniform(-1, 1) if label == "train" else None,
                answer="It has shipped.",
            )
            for index in range(size)
        )
        for one in made:
            if dice.random() < 0.3:
                TrajectoryTool.objects.create(trajectory=one, run=run, tool="find_order")
            if dice.random() < 0.1:
                TrajectoryTag.objects.create(trajectory=one, run=run, name="odd")
    return run


def expected(run: Run, asked: Filters) -> list[int]:
    """The same, the simple way."""
    passing = []
    for one in Trajectory.objects.filter(run=run).prefetch_related("tools_called", "tags"):
        tests = (
            not asked.label or one.label in filters.LABELS[asked.label],
            asked.step_from is None or one.step >= asked.step_from,
            asked.step_to is None or one.step <= asked.step_to,
            asked.score_from is None or one.reward >= asked.score_from,
            asked.score_to is None or one.reward <= asked.score_to,
            not asked.human or one.human is not None,
            asked.success is None or one.success is asked.success,
            not asked.scenario or one.scenario_key == asked.scenario,
            not asked.tag or asked.tag in {tag.name for tag in one.tags.all()},
            not asked.tool or asked.tool in {used.tool for used in one.tools_called.all()},
            asked.error not in ("unfinished", "any") or one.ended != "answered" or bool(one.failed_calls),
            asked.error != "unfinished" or one.ended != "answered",
            asked.error != "calls" or bool(one.failed_calls),
        )
        if all(tests):
            passing.append(one)
    order = paging.order_of(asked)
    if order.column == "advantage":
        passing = [one for one in passing if one.advantage is not None]
    key = (lambda one: (getattr(one, order.column), one.pk)) if order.column else (lambda one: one.pk)
    return [one.pk for one in sorted(passing, key=key, reverse=order.falling)]


def walked(run: Run, asked: Filters, *, backwards: bool = False) -> list[int]:
    """Every id, page by page."""
    found: list[int] = []
    at: Place | None = None
    for _page in range(200):
        listing = queries.listing(asked, [run], at=at, backwards=backwards)
        ids = [row.id for row in listing.rows]
        found = ids + found if backwards else found + ids
        more = listing.found.before if backwards else listing.found.after
        at = listing.found.rest or (listing.found.first if backwards else listing.found.last)
        if not more and listing.found.rest is None:
            return found
    raise AssertionError("the pages never end")


COMBINATIONS = [
    Filters(),
    Filters(label="train"),
    Filters(label="held_out"),
    Filters(success=False),
    Filters(success=True, label="train", score_from=0.5),
    Filters(scenario="s3"),
    Filters(scenario="nobody has it"),
    Filters(step_from=3, step_to=5),
    Filters(score_from=0.25, score_to=0.5),
    Filters(human=True),
    Filters(error="unfinished"),
    Filters(error="calls", success=True),
    Filters(error="any", label="train"),
    Filters(tool="find_order"),
    Filters(tag="odd"),
    Filters(tag="odd", tool="find_order"),
    Filters(success=False, score_from=1.0, human=True),
]


@pytest.mark.parametrize("few", [0, 1000], ids=["read in order", "few looked at"])
@pytest.mark.parametrize("order", list(filters.ORDERS))
def test_pages_show_every_try_once_in_order_forwards_and_backwards(
    run: Run, monkeypatch: pytest.MonkeyPatch, order: str, few: int
) -> None:
    monkeypatch.setattr(paging, "PAGE", 7)
    monkeypatch.setattr(paging, "WINDOW", 5)
    monkeypatch.setattr(paging, "FEW", few)
    fill(run, groups=30)
    for combination in COMBINATIONS:
        asked = Filters(**{**combination.__dict__, "run": run.pk, "order": order})
        wanted = expected(run, asked)
        assert walked(run, asked) == wanted, asked
        assert walked(run, asked, backwards=True) == wanted, asked


def test_a_list_out_of_time_goes_on_where_it_stopped(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "PATIENCE", -1.0)
    monkeypatch.setattr(paging, "WINDOW", 5)
    monkeypatch.setattr(paging, "FEW", 0)
    fill(run)
    asked = Filters(run=run.pk, label="train", success=True)
    assert walked(run, asked) == expected(run, asked)
    assert queries.listing(asked, [run]).found.rest is not None


def test_all_runs_are_one_list_and_other_peoples_are_not_in_it(
    make_run: MakeRun, other_user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = fill(make_run("a"), groups=6), fill(make_run("b"), groups=6, seed=2)
    theirs = fill(make_run("c", owner=other_user), groups=6)
    runs = queries.runs_of(first.owner)
    for asked in (Filters(), Filters(success=True), Filters(tool="find_order"), Filters(scenario="s1")):
        listing = queries.listing(asked, runs)
        mine = sorted(expected(first, asked) + expected(second, asked), reverse=True)
        assert [row.id for row in listing.rows] == mine
    assert not set(expected(theirs, Filters())) & {row.id for row in queries.listing(Filters(), runs).rows}


def test_a_scenarios_tag_counts_as_its_tries_tag(run: Run) -> None:
    fill(run, groups=14)
    values = [{"id": "s2", "tags": ["hard"]}, {"id": "s3", "tags": []}]
    run.scenarios.values = values
    run.scenarios.save()
    listing = queries.listing(Filters(run=run.pk, tag="hard"), [run])
    assert {Trajectory.objects.get(pk=row.id).scenario_key for row in listing.rows} == {"s2"}


def test_filters_come_back_from_their_own_address() -> None:
    every = Filters(
        run=3,
        label="train",
        step_from=1,
        step_to=9,
        score_from=0.25,
        score_to=1.0,
        human=True,
        success=False,
        scenario="s 1&x=y",
        tag="Ü",
        tool="t",
        error="calls",
        text="“退款”",
    )
    from django.http import QueryDict

    assert filters.read(QueryDict(every.query()).dict()).filters == every
    assert filters.read({}).filters == Filters() and Filters().query() == ""


def test_bad_values_are_said_kept_in_their_field_and_not_applied() -> None:
    read = filters.read(
        {"step_from": "x", "score_to": "7", "label": "nope", "success": "no", "run": "1" * 30}
    )
    assert set(read.problems) == {"step_from", "score_to", "label", "run"}
    assert read.filters == Filters(success=False)
    assert read.typed["score_to"] == "7"
    assert "nan" in filters.read({"score_from": "nan"}).problems["score_from"]


def test_every_chip_takes_one_filter_off() -> None:
    asked = Filters(run=1, step_from=2, step_to=4, success=False, text="a b")
    chips = {chip.name: chip for chip in filters.chips(asked, "demo")}
    assert chips["step"].words == "Steps 2–4" and "step" not in chips["step"].without
    assert "text" not in chips["text"].without and "success=no" in chips["text"].without


def test_orders_by_value_need_a_run() -> None:
    assert filters.read({"order": "best"}).filters.order == "newest"
    assert filters.read({"order": "best", "run": "1"}).filters.order == "best"


@pytest.mark.parametrize("text", ["", "x", "1", "nan~1", "inf~3", "0.5~-4", "1~2~3", "0~" + "9" * 99])
def test_a_place_that_makes_no_sense_is_the_beginning(text: str) -> None:
    assert paging.place(text) is None


def test_the_page_lists_links_and_leads_to_the_last_page_at_once(run: Run, client: Client) -> None:
    fill(run, groups=30)
    client.force_login(run.owner)
    page = client.get(reverse("tries"), {"run": run.pk})
    assert page.content.count(b'class="try-row"') == 50
    last = client.get(
        re.findall(r'href="(\?[^"]*last=1)"', page.content.decode())[0].replace("&amp;", "&"), follow=True
    )
    assert last.status_code == 200


def test_the_page_escapes_what_anybody_said_and_shows_recorded_tries(run: Run, client: Client) -> None:
    stories.tell(run, iter([stories.saying("<script>alert(1)</script>")]))
    client.force_login(run.owner)
    page = client.get(reverse("tries"), {"run": run.pk, "tool": "<b>"}).content.decode()
    assert "<script>alert" not in page and "<b>" not in page.split("<main")[1].split("</main")[0].replace(
        "<b>0", ""
    )


def test_every_text_of_a_row_is_escaped() -> None:
    hostile = "<script>\"'&</script>"
    told = Row(
        id=7,
        run=Run(pk=3, name=hostile),
        place=hostile,
        score=hostile,
        width=hostile,
        person=hostile,
        success=True,
        prompt=hostile,
        answer=hostile,
        marks=[(hostile, hostile)],
        tags=[hostile],
        snippet=None,
    )
    found = replace(told, snippet=Snippet(2, hostile, hostile, hostile))
    for one, texts in ((told, 10), (found, 12)):
        written = row.html([one], with_run=True)
        assert written.count("&lt;script&gt;&quot;&#x27;&amp;&lt;/script&gt;") == texts
        assert "<script" not in written


def test_the_form_offers_every_run_by_its_escaped_name_and_keeps_what_was_chosen(
    run: Run, client: Client
) -> None:
    Run.objects.filter(pk=run.pk).update(name="<b>\"'&")
    client.force_login(run.owner)
    page = client.get(reverse("tries"), {"run": run.pk, "success": "no", "order": "worst"}).content.decode()
    assert f'<option value="{run.pk}" selected>&lt;b&gt;&quot;&#x27;&amp;</option>' in page
    assert '<option value="no" selected>' in page and '<option value="worst" selected>' in page
    assert page.count(" selected>") == 3


def test_a_page_after_a_place_among_equal_scores_is_found_by_an_index(run: Run) -> None:
    """SQLite sees no range in (reward, id) > (…, …): it would read all tries with the same score."""
    fill(run, groups=30)
    at = Place(1.0, Trajectory.objects.filter(reward=1.0).order_by("pk")[40].pk)
    with CaptureQueriesContext(connection) as asked:
        queries.listing(Filters(run=run.pk, order="worst", label="train"), [run], at=at, backwards=True)
    walks = [query["sql"] for query in asked if "ORDER BY 1" in query["sql"]]
    assert walks and not any('("training_trajectory"."reward", ' in sql for sql in walks)
    assert any(f'"reward" = 1.0 AND "training_trajectory"."id" < {at.id}' in sql for sql in walks)


@pytest.mark.parametrize("order", filters.BY_ID)
def test_tries_of_some_steps_are_read_between_two_ids(
    run: Run, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    """Of two bounds on the same side SQLite takes either, and read all tries from the wider one on."""
    monkeypatch.setattr(paging, "WINDOW", 7)
    monkeypatch.setattr(paging, "FEW", 0)
    monkeypatch.setattr(paging, "LATE", 0)
    fill(run, groups=60)
    asked = Filters(run=run.pk, step_from=3, step_to=5, tool="find_order", order=order)
    with CaptureQueriesContext(connection) as seen:
        assert walked(run, asked) == expected(run, asked)
    for query in seen:
        assert len(re.findall(r'"training_trajectory"\."id" >=? ', query["sql"])) <= 1
        assert len(re.findall(r'"training_trajectory"\."id" <=? ', query["sql"])) <= 1


def test_few_tries_are_found_without_listing_those_of_a_common_filter(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "FEW", 20)
    fill(run, groups=30)
    with CaptureQueriesContext(connection) as asked:
        queries.listing(Filters(run=run.pk, score_from=0.1), [run])
    assert any("LIMIT 1 OFFSET 20" in query["sql"] for query in asked)
    assert not any("LIMIT 21" in query["sql"] for query in asked)


@pytest.mark.skipif(connection.vendor != "sqlite", reason="Postgres keeps statistics and sorts what it likes")
def test_a_page_of_few_tries_is_read_without_sorting_them(run: Run) -> None:
    fill(run, groups=30)
    asked = Filters(run=run.pk, success=False, score_from=0.25, label="train")
    with CaptureQueriesContext(connection) as seen:
        queries.listing(asked, [run])
    walk = next(query["sql"] for query in seen if "LIMIT 51" in query["sql"])
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {walk}")
        plan = " ".join(str(line[3]) for line in cursor.fetchall())
    assert "tries_success_reward" in plan and "TEMP B-TREE" not in plan


def test_nothing_of_other_people_is_found(run: Run, other_user: User, client: Client) -> None:
    fill(run, groups=2)
    client.force_login(other_user)
    assert client.get(reverse("tries"), {"run": run.pk}).status_code == 404
    assert b"try-row" not in client.get(reverse("tries")).content
    view = SavedView.objects.create(owner=run.owner, name="mine", query="")
    assert client.post(reverse("delete_view", args=[view.pk])).status_code == 404
    assert client.post(reverse("rename_view", args=[view.pk]), {"name": "x"}).status_code == 404


def test_a_view_is_saved_renamed_deleted_and_brought_back(run: Run, client: Client) -> None:
    client.force_login(run.owner)
    query = f"run={run.pk}&success=no"
    client.post(reverse("save_view"), {"name": " Failed ", "query": query + "&junk=1"})
    view = SavedView.objects.get()
    assert (view.name, view.query) == ("Failed", query)
    again = client.post(reverse("save_view"), {"name": "Failed", "query": ""}, follow=True)
    assert b"already have a view" in again.content
    client.post(reverse("rename_view", args=[view.pk]), {"name": "Worse"})
    page = client.post(reverse("delete_view", args=[view.pk]), {"here": query}, follow=True)
    assert b"was deleted" in page.content and not SavedView.objects.exists()
    client.post(reverse("save_view"), {"name": "Worse", "query": query})
    assert SavedView.objects.get().query == query


def test_a_list_reads_no_large_column(
    run: Run, client: Client, django_assert_max_num_queries: object
) -> None:
    fill(run, groups=20)
    client.force_login(run.owner)
    with CaptureQueriesContext(
        connection,
    ) as asked:
        client.get(reverse("tries"), {"run": run.pk, "label": "train"})
    sql = "\n".join(query["sql"] for query in asked)
    for column in (
        '"messages"',
        '"segments"',
        '"judging"',
        '"tools"',
        '"values"',
        '."note"',
        "COUNT(",
        "OFFSET 5",
    ):
        assert column not in sql, column
    assert len(asked) <= 12
