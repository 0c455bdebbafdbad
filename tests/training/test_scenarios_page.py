"""The scenario studio: what it shows, what can be changed in it, and that every change can be taken back."""

import json
import re
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from training.authoring.studio import audit, scenario_changes, scenario_queries, scenarios
from training.authoring.studio.scenario_queries import Filters
from training.authoring.studio.scenario_urls import urlpatterns
from training.models import Agent, Errand, Group, Run, Scenario, Tool

pytestmark = pytest.mark.django_db
MakeRun = Callable[..., Run]


@pytest.fixture
def ann(client: Client, user: User) -> Client:
    client.force_login(user)
    return client


@pytest.fixture
def bob(other_user: User) -> Client:
    found = Client()
    found.force_login(other_user)
    return found


@pytest.fixture
def studio(user: User) -> Agent:
    """An authored agent without scenarios."""
    return Agent.objects.create(
        owner=user, name="Library", environment="authored", description="Lends books."
    )


def written(agent: Agent, question: str, split: str = "train", **columns: object) -> Scenario:
    key = f"k{Scenario.objects.count()}"
    values = {"expect": {"answer_has": [["yes"]]}, "tags": [], "source": "written", **columns}
    messages = [{"role": "user", "content": question}]
    return Scenario.objects.create(agent=agent, key=key, split=split, messages=messages, **values)


def page(client: Client, agent: Agent, **query: str) -> str:
    answer = client.get(reverse("scenarios", args=[agent.pk]), query)
    assert answer.status_code == 200
    return answer.content.decode()


def ask(client: Client, name: str, *args: int, status: int = 200, **data: object) -> str:
    answer = client.post(reverse(name, args=args), data, headers={"HX-Request": "true"})
    assert answer.status_code == status, answer.content.decode()
    return answer.content.decode()


def test_without_scenarios_the_page_offers_what_this_agent_can_do(ann: Client, studio: Agent) -> None:
    bare = page(ann, studio)
    assert "Add a table" in bare and "Make 60 scenarios" not in bare and "Write one by hand" in bare
    table = studio.tables.create(
        name="books", filename="books.csv", format="csv", sha256="0", bytes=1, rows=1, columns=[]
    )
    Tool.objects.create(agent=studio, name="find_books", kind="table", table=table)
    assert "Make 60 scenarios" in page(ann, studio)


def test_a_scenario_is_shown_with_what_it_expects(ann: Client, studio: Agent) -> None:
    written(studio, "Where is <b>Dune</b>?", tags=["shelf"], kind="single", source="generated")
    shown = page(ann, studio)
    assert "Where is &lt;b&gt;Dune&lt;/b&gt;?" in shown and "<b>Dune" not in shown
    assert "The answer says “yes”." in shown
    for chip in ("Train", "look-up", "easy", "shelf", "generated", "Not tried"):
        assert re.search(rf'class="chip[^"]*"[^>]*>{chip}', shown), chip


def test_fifty_are_shown_and_the_rest_follows_on_demand(ann: Client, studio: Agent) -> None:
    rows = [written(studio, f"Question {number}") for number in range(120)]
    seen: list[int] = []
    before = None
    for _ in range(3):
        found = scenario_queries.grid(studio, scenario_queries.known_of(studio), Filters(), before=before)
        seen += [line.scenario.pk for line in found.lines]
        before = found.older
    assert before is None and seen == [row.pk for row in reversed(rows)]
    more = ann.get(reverse("scenario_grid", args=[studio.pk]), {"before": rows[70].pk}).content.decode()
    assert (
        more.count('class="scenario"') == 50
        and "<html" not in more
        and f'id="scenario-{rows[69].pk}"' in more
    )


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"split": "test"}, {"b"}),
        ({"kind": "count"}, {"a"}),
        ({"tag": "图书"}, {"b"}),
        ({"tag": "shelf"}, {"a", "c"}),
        ({"tag": "shel"}, set()),
        ({"text": "DUNE"}, {"a"}),
        ({"text": "沙丘"}, {"b"}),
        ({"text": "100%"}, {"c"}),
        ({"text": '"quoted"'}, {"c"}),
        ({"flag": "unchecked"}, {"c"}),
        ({"split": "nonsense", "badge": "\0"}, {"a", "b", "c"}),
    ],
)
def test_filters_narrow_the_grid(studio: Agent, filters: dict[str, str], found: set[str]) -> None:
    rows = {
        "a": written(studio, "Where is Dune?", kind="count", tags=["shelf"]),
        "b": written(studio, "沙丘在哪里？", "test", tags=["图书"]),
        "c": written(studio, 'What is "quoted" at 100%?', tags=["shelf", "x"], expect={}),
    }
    ids = scenario_queries.matching(studio, scenario_queries.known_of(studio), Filters.of(filters))
    assert {name for name, row in rows.items() if row.pk in ids} == found


def test_the_badge_filter_goes_by_how_tries_went(ann: Client, agent: Agent, run: Run) -> None:
    for index, (key, successes) in enumerate([("t1", 4), ("t2", 8)]):
        Group.objects.create(
            run=run, label="train", split="train", step=1, index=index, scenario_key=key, prompt="?", tries=8,
            successes=successes, mean_reward=0, best_reward=0,
        )  # fmt: skip
    shown = page(ann, agent, badge="useful")
    assert "order t1" in shown and "order t2" not in shown and "4/8" in shown
    everything = page(ann, agent)
    assert "Too easy" in everything and "Not tried" in everything
    assert "More like the useful ones" in everything


def test_duplicates_and_leaks_are_marked_and_mended_with_a_way_back(ann: Client, studio: Agent) -> None:
    first = written(studio, "Which shelf holds the book Dune?", rows=["books:1"])
    twin = written(studio, "which shelf holds the book Dune", rows=["books:1"])
    leak = written(studio, "Who wrote Dune, by the way?", "test", rows=["books:1"])
    written(studio, "Who wrote Emma?", "test", rows=["books:2"])
    shown = page(ann, studio)
    assert "1 scenario asks nearly the same as another." in shown and "leaks" in " ".join(
        scenarios.needs(studio)
    )
    assert set(audit.of(studio).leaks) == {first.pk, leak.pk}
    told = ask(ann, "mend_scenarios", studio.pk, what="duplicates")
    assert "1 scenario deleted." in told and f'id="scenario-{twin.pk}"' not in told
    told = ask(ann, "mend_scenarios", studio.pk, what="leaks")
    assert "Nothing" not in told and "No duplicates, and nothing leaks between the splits." in told
    assert audit.of(studio).leaks == {}
    leak.refresh_from_db()
    first.refresh_from_db()
    assert leak.split == first.split
    ask(ann, "undo_scenarios", studio.pk)
    leak.refresh_from_db()
    assert leak.split == "test"


def test_what_came_with_the_agent_is_vouched_for_but_not_what_was_added(studio: Agent) -> None:
    first = written(studio, "Answer with 'yes' or 'no'.", source="template")
    written(studio, 'Answer with "no" or "yes".', "test", source="template")
    assert audit.of(studio).twins == audit.of(studio).leaks == {}
    added = written(studio, "Answer with no or yes", "test", source="imported")
    assert audit.of(studio).twins == {added.pk: first.pk}
    assert set(audit.of(studio).leaks) == {first.pk, added.pk}


def test_one_is_edited_in_place_and_the_rest_of_its_expectation_stays(ann: Client, studio: Agent) -> None:
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    row = written(studio, "Old?", expect={"answer_has": [["old"]], "changes": [{"table": "t"}]})
    Scenario.objects.filter(pk=row.pk).update(messages=[*talk, {"role": "user", "content": "Old?"}])
    form = ann.get(reverse("edit_scenario", args=[row.pk])).content.decode()
    assert "Old?" in form and "Hello" in form and "Changes to tables" in form
    fields = {
        "question": "New?",
        "answer_has": "new | newer",
        "evidence": "col: 1",
        "call_name": ["find", ""],
        "call_arguments": ["column: id\nvalue: 7", ""],
        "split": "val",
        "tags": "a, b, a",
    }
    answer = ask(ann, "edit_scenario", row.pk, **fields)
    assert "New?" in answer and 'id="scenario-toast"' in answer and "Undo" in answer
    row.refresh_from_db()
    assert row.messages == [*talk, {"role": "user", "content": "New?"}]
    assert row.expect == {
        "answer_has": [["new", "newer"]],
        "evidence": ["col: 1"],
        "calls": [{"name": "find", "arguments": {"column": "id", "value": "7"}}],
        "changes": [{"table": "t"}],
    }
    assert (row.split, row.tags) == ("val", ["a", "b"])
    ask(ann, "undo_scenarios", studio.pk)
    row.refresh_from_db()
    assert row.split == "train" and row.messages[-1]["content"] == "Old?"


def test_a_form_that_cannot_be_saved_keeps_what_was_typed(ann: Client, studio: Agent) -> None:
    row = written(studio, "Old?")
    fields = {
        "question": "Typed?",
        "split": "train",
        "tags": "",
        "call_name": "find",
        "call_arguments": "<no colon>",
    }
    answer = ask(ann, "edit_scenario", row.pk, status=422, **fields)
    assert "Typed?" in answer and "&lt;no colon&gt;" in answer and "as name: value" in answer
    answer = ask(ann, "add_scenario", studio.pk, status=422, question=" ", split="test", answer_has="kept")
    assert "Write what the agent is asked." in answer and "kept" in answer
    row.refresh_from_db()
    assert row.messages[0]["content"] == "Old?" and studio.scenarios.count() == 1


def test_one_is_written_by_hand(ann: Client, studio: Agent) -> None:
    told = ask(
        ann,
        "add_scenario",
        studio.pk,
        question="Is it \0 open?",
        split="test",
        answer_has="9 to 5",
        tags="hours",
    )
    assert "The scenario is added." in told and "Is it" in told
    row = studio.scenarios.get()
    assert (row.source, row.split, row.tags) == ("written", "test", ["hours"])
    assert row.expect == {"answer_has": [["9 to 5"]]} and "\0" not in row.messages[0]["content"]


def test_many_are_changed_at_once_and_taken_back(ann: Client, studio: Agent) -> None:
    rows = [written(studio, f"Question about {name}?", tags=["x"]) for name in ("ant", "bee", "cat")]
    chosen = [rows[0].pk, rows[1].pk]

    def splits() -> list[str]:
        return list(studio.scenarios.order_by("pk").values_list("split", flat=True))

    assert "2 scenarios moved to “Test”." in ask(
        ann, "change_scenarios", studio.pk, do="to-test", chosen=chosen
    )
    assert splits() == ["test", "test", "train"]
    assert "Undone." in ask(ann, "undo_scenarios", studio.pk)
    assert splits() == ["train"] * 3
    ask(ann, "change_scenarios", studio.pk, do="tag", chosen=chosen, new_tag="new")
    assert [row.tags for row in studio.scenarios.order_by("pk")] == [["x", "new"], ["x", "new"], ["x"]]
    ask(ann, "change_scenarios", studio.pk, do="untag", chosen=chosen, new_tag="x")
    ask(ann, "undo_scenarios", studio.pk)
    assert studio.scenarios.get(pk=rows[0].pk).tags == ["x", "new"]
    told = ask(ann, "change_scenarios", studio.pk, do="delete", all="1", text="bee")
    assert "1 scenario deleted." in told and studio.scenarios.filter(deleted_at=None).count() == 2
    ask(ann, "undo_scenarios", studio.pk)
    assert studio.scenarios.filter(deleted_at=None).count() == 3


def test_what_cannot_be_done_is_said(ann: Client, studio: Agent) -> None:
    row = written(studio, "One?")
    told = ask(ann, "change_scenarios", studio.pk, do="to-test", status=422)
    assert "Choose scenarios first" in told
    assert "Choose the split" in ask(
        ann, "change_scenarios", studio.pk, do="to-moon", chosen=[row.pk], status=422
    )
    assert "Write the tag" in ask(ann, "change_scenarios", studio.pk, do="tag", chosen=[row.pk], status=422)
    assert "nothing to undo" in ask(ann, "undo_scenarios", studio.pk, status=422)


def test_scenarios_of_others_are_out_of_reach(bob: Client, studio: Agent) -> None:
    mine = Agent.objects.create(owner=User.objects.get(username="bob"), name="Bob's", environment="authored")
    row = written(studio, "Secret?")
    ask(bob, "change_scenarios", mine.pk, do="delete", chosen=[row.pk])
    session = bob.session
    session["scenarios-undo"] = {"agent": mine.pk, "before": [[{"split": "test"}, [row.pk]]]}
    session.save()
    ask(bob, "undo_scenarios", mine.pk)
    row.refresh_from_db()
    assert row.deleted_at is None and row.split == "train"


def test_every_address_is_only_for_its_owner(ann: Client, bob: Client, agent: Agent, user: User) -> None:
    looked = {"mapping": {}, "sample": [], "columns": [], "format": "csv", "rows": 0}
    errand = Errand.objects.create(
        owner=user,
        agent=agent,
        kind="read_scenarios",
        state="done",
        result=looked,
        arguments={"filename": "x.csv"},
    )
    known = {
        "agent_id": agent.pk,
        "scenario_id": agent.scenarios.first().pk,
        "errand_id": errand.pk,
        "form": "csv",
    }  # type: ignore[union-attr]
    assert len(urlpatterns) >= 12
    for pattern in urlpatterns:
        names = pattern.pattern.converters
        address = reverse(str(pattern.name), kwargs={name: known[name] for name in names})
        for method in ("get", "post"):
            assert getattr(bob, method)(address).status_code in (404, 405), address
            assert getattr(Client(), method)(address).status_code in (302, 405), address
        assert {ann.get(address).status_code, 404} != {404}, address


def test_asking_for_scenarios_starts_an_errand(ann: Client, studio: Agent) -> None:
    table = studio.tables.create(
        name="books", filename="books.csv", format="csv", sha256="0", bytes=1, rows=1, columns=[]
    )
    Tool.objects.create(agent=studio, name="find_books", kind="table", table=table)
    answer = ann.post(
        reverse("invent_scenarios", args=[studio.pk]),
        {"by": "tables", "count": "12", "kinds": ["single", "nonsense"], "language": "zh"},
    )
    errand = Errand.objects.get()
    assert answer["Location"] == f"/agents/{studio.pk}/scenarios/?errand={errand.pk}"
    asked = {name: errand.arguments[name] for name in ("count", "kinds", "language", "model")}
    assert (errand.kind, asked) == (
        "invent",
        {"count": 12, "kinds": ["single"], "language": "zh", "model": ""},
    )
    assert "Cancel" in page(ann, studio)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"by": "tables", "kinds": "single"}, "Without a table"),
        ({"by": "model", "model": "gpt"}, "Name a language model"),
        ({"by": "model", "model": "artweb/offline"}, "Name a language model"),
        ({"by": "model", "model": "openai/x", "count": "0"}, "Ask for 1 to 500"),
        ({"by": "model", "model": "openai/x", "count": "many"}, "Ask for 1 to 500"),
    ],
)
def test_what_cannot_be_made_is_refused_in_a_sentence(
    ann: Client, studio: Agent, asked: dict[str, str], sentence: str
) -> None:
    answer = ann.post(reverse("invent_scenarios", args=[studio.pk]), asked)
    assert answer.status_code == 422 and sentence in answer.content.decode()
    assert not Errand.objects.exists()
    assert ann.post(reverse("more_scenarios", args=[studio.pk]), asked).status_code == 422


def test_more_are_made_like_those_that_teach_the_most(ann: Client, agent: Agent, run: Run) -> None:
    for index, (key, successes) in enumerate([("t1", 7), ("t2", 4), ("e1", 8)]):
        Group.objects.create(
            run=run, label="train", split="train", step=1, index=index, scenario_key=key, prompt="?", tries=8,
            successes=successes, mean_reward=0, best_reward=0,
        )  # fmt: skip
    answer = ann.post(
        reverse("more_scenarios", args=[agent.pk]), {"by": "model", "model": "openai/gpt-x", "count": "5"}
    )
    errand = Errand.objects.get()
    assert answer.status_code == 302 and errand.kind == "more_like"
    assert errand.arguments["like"] == ["t2", "t1"] and errand.arguments["count"] == 5


def test_what_an_errand_brought_is_told(ann: Client, bob: Client, studio: Agent, user: User) -> None:
    result = {"made": 3, "checked": 1, "cost": 0.01234, "dropped": {"duplicates": 2}, "note": "<Enough.>"}
    errand = Errand.objects.create(owner=user, agent=studio, kind="invent", state="done", result=result)
    shown = page(ann, studio, made=str(errand.pk))
    told = (
        "3 scenarios were added. 2 expect nothing. 2 proposals were dropped. It cost $0.0123. &lt;Enough.&gt;"
    )
    assert told in shown
    other = Agent.objects.create(owner=user, name="Other", environment="authored")
    assert "were added" not in page(ann, other, made=str(errand.pk))


def test_calling_off_an_edit_shows_the_row_as_it_is(ann: Client, studio: Agent) -> None:
    row = written(studio, "Still here?")
    shown = ann.get(reverse("scenario", args=[row.pk])).content.decode()
    assert "Still here?" in shown and "<form" not in shown and "autofocus" in shown


def test_needs_name_what_is_missing(studio: Agent) -> None:
    assert "Add scenarios" in scenarios.needs(studio)[0]
    written(studio, "Where is Dune?", expect={})
    assert ["test split" in sentence for sentence in scenarios.needs(studio)] == [True]
    written(studio, "Who wrote Emma?", "test")
    assert scenarios.needs(studio) == []
    studio.config = {"reward": "checks"}
    assert "expects nothing" in scenarios.needs(studio)[0]


def test_the_page_holds_no_inline_script_or_style(ann: Client, agent: Agent) -> None:
    written(agent, "Again?", kind="single", rows=["orders:1"])
    form = ann.get(reverse("add_scenario", args=[agent.pk])).content.decode()
    for shown in (page(ann, agent), form, ann.get(reverse("prompt", args=[agent.pk])).content.decode()):
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", shown)


def test_thousands_cost_few_queries(
    ann: Client, agent: Agent, django_assert_max_num_queries: Callable[..., object]
) -> None:
    Scenario.objects.bulk_create(
        Scenario(
            agent=agent, key=f"bulk-{number}", split=("train", "train", "test")[number % 3], kind="single",
            messages=[{"role": "user", "content": f"What is the status of order {number}, please?"}],
            expect={"answer_has": [["shipped"]]}, rows=[f"orders:{number}"],
        )
        for number in range(2000)
    )  # fmt: skip
    for query in ({}, {"badge": "untried"}, {"flag": "leak"}, {"text": "status"}):
        with django_assert_max_num_queries(30):  # type: ignore[attr-defined]
            page(ann, agent, **query)


def test_deleted_scenarios_are_gone_from_everywhere_but_their_runs(
    ann: Client, agent: Agent, run: Run
) -> None:
    gone = agent.scenarios.get(key="t1")
    scenario_changes.delete(agent, [gone.pk])
    assert f'id="scenario-{gone.pk}"' not in page(ann, agent)
    assert audit.of(agent).count == 4
    assert "t1" in json.dumps(run.scenarios.values)
