"""The errands that invent scenarios: offline from tables, and with a language model that is not trusted."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User

from gpu_worker.environments.order_desk import customers_csv, orders_csv
from gpu_worker.tools.table import parse_table
from tests.judging.provider import Provider, Reply, provider, refusal
from tests.training.questions.agents import stored
from training.authoring.office import desk, errands
from training.authoring.studio import audit, invent
from training.authoring.studio.questions import Question, leaks
from training.models import Agent, Errand, Scenario, TableFile, Tool

pytestmark = pytest.mark.django_db


@pytest.fixture
def shop(user: User) -> Agent:
    """An agent that looks into customers and orders."""
    agent = Agent.objects.create(owner=user, name="Shop", environment="authored", description="Answers.")
    for text in (customers_csv(), orders_csv()):
        name = "customers" if "email" in text[:40] else "orders"
        content = parse_table(name, text)
        made, plans = stored(name, content.columns, content.rows, Path(settings.TABLES_DIR))
        table = TableFile.objects.create(
            agent=agent, name=name, filename=f"{name}.csv", sha256=made.sha256, bytes=1, rows=1, columns=[]
        )
        for plan in plans:
            Tool.objects.create(
                agent=agent,
                name=plan.spec.name,
                parameters=plan.spec.parameters,
                kind="table",
                settings=plan.settings,
                table=table,
            )
    return agent


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    """A language model behind real HTTP; tests set its `script`."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    serving = provider()
    there = asyncio.run_coroutine_threadsafe(serving.__aenter__(), loop).result()
    monkeypatch.setenv("OPENAI_API_BASE", there.url)
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    yield there
    asyncio.run_coroutine_threadsafe(serving.__aexit__(None, None, None), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()


def done(agent: Agent, kind: str, **arguments: Any) -> Errand:
    errand = errands.start(owner=agent.owner, kind=kind, agent=agent, **arguments)
    taken = errands.take(errand.pk)
    assert taken is not None
    errands.carry_out(taken, desk.WORK[kind])
    errand.refresh_from_db()
    return errand


def asked(agent: Agent, count: int = 6, **arguments: Any) -> Errand:
    return done(agent, "invent", count=count, model="openai/scripted", **arguments)


def scenario(question: str, *calls: tuple[str, dict[str, str]], **more: Any) -> dict[str, Any]:
    told = [
        {"tool": tool, "arguments": [{"name": k, "value": v} for k, v in given.items()]}
        for tool, given in calls
    ]
    usual = {"persona": "matter-of-fact", "difficulty": "easy", "answerable": True}
    return {
        "question": question,
        "calls": told,
        "answer_call": len(calls),
        "answer_field": "",
        **usual,
        **more,
    }


def answers(*scenarios: dict[str, Any]) -> Callable[[dict[str, Any]], Reply]:
    return lambda body: json.dumps({"scenarios": list(scenarios)})


def find(tool: str, column: str, value: str) -> tuple[str, dict[str, str]]:
    return tool, {"column": column, "value": value}


ORDER = orders_csv().splitlines()[1].split(",")
CUSTOMER = next(line.split(",") for line in customers_csv().splitlines() if line.startswith(ORDER[1] + ","))


def test_tables_alone_give_scenarios_without_leaks(shop: Agent) -> None:
    errand = done(shop, "invent", count=60)
    assert (errand.state, errand.result["made"], errand.done) == ("done", 60, 60)
    rows = Scenario.objects.filter(agent=shop)
    assert rows.count() == 60 and not rows.filter(expect={}).exists()
    assert {row.source for row in rows} == {"generated"}
    more = done(shop, "invent", count=60, seed=5, language="zh")
    assert more.result["made"] == 60
    assert not leaks(audit.questions_of(shop))
    assert "订单" not in rows.first().messages[0]["content"]


def test_without_a_table_a_sentence_says_so(user: User) -> None:
    agent = Agent.objects.create(owner=user, name="Bare", environment="authored")
    errand = done(agent, "invent", count=5)
    assert errand.state == "failed" and "add a table" in errand.error


def test_more_like_some_keeps_to_their_kinds_tables_and_columns(shop: Agent) -> None:
    done(shop, "invent", count=80)
    like = [q for q in audit.questions_of(shop) if q.kind == "single" and q.rows[0].startswith("orders:")][:3]
    errand = done(shop, "more_like", count=10, like=[q.scenario.id for q in like])
    assert errand.result["made"] == 10
    new = Scenario.objects.filter(agent=shop).order_by("-pk")[:10]
    assert {row.kind for row in new} == {"single"}
    assert all(row.rows[0].startswith("orders:") for row in new)
    assert not leaks(audit.questions_of(shop))
    gone = done(shop, "more_like", count=10, like=["no-such-key"])
    assert gone.state == "failed" and "gone" in gone.error


def test_an_attempt_after_a_death_makes_only_the_rest(shop: Agent) -> None:
    errand = errands.start(owner=shop.owner, kind="invent", agent=shop, count=10)
    first = errands.take(errand.pk)
    assert first is not None
    invent.invent(errands.Doing(first))
    Errand.objects.filter(pk=errand.pk).update(state="waiting")
    again = errands.take(errand.pk)
    assert again is not None
    errands.carry_out(again, desk.WORK["invent"])
    assert Scenario.objects.filter(agent=shop).count() == 10


def test_answers_come_from_the_tools_not_from_the_model(shop: Agent, model: Provider) -> None:
    model.script = answers(
        scenario(
            f"hey, whats up with {ORDER[0]}??",
            find("find_orders", "order_id", ORDER[0]),
            answer_field="status",
        ),
        scenario(
            f"Whose order is {ORDER[0]}, by name?",
            find("find_orders", "order_id", ORDER[0]),
            find("find_customers", "customer_id", "{{1.customer_id}}"),
            answer_field="name",
            difficulty="hard",
        ),
        scenario(
            "How many of you are shipped?", find("count_orders", "status", "shipped"), answer_field="count"
        ),
        scenario(
            "Is order 77777 here yet?",
            find("find_orders", "order_id", "77777"),
            answerable=False,
            answer_call=0,
        ),
        scenario("Write a poem about parcels.", answerable=False, answer_call=0),
    )
    errand = asked(shop, 5)
    assert (errand.state, errand.result["made"], errand.result["checked"]) == ("done", 5, 4), errand.error
    status, name, count, missing, poem = Scenario.objects.filter(agent=shop).order_by("pk")
    assert status.expect["answer_has"] == [[ORDER[2]]] and status.kind == "single"
    assert status.expect["evidence"][0].startswith(f"order_id: {ORDER[0]}; ")
    assert name.expect["answer_has"] == [[CUSTOMER[2]]] and len(name.rows) == 2
    assert count.expect["evidence"] == [f"count: {count.expect['answer_has'][0][0]}"]
    assert missing.expect["evidence"] == ["no rows"] and "unanswerable" in missing.tags
    assert poem.expect == {} and poem.kind == ""
    assert name.tags[0] == "hard"


def test_what_cannot_be_verified_is_left_to_the_judge(shop: Agent, model: Provider) -> None:
    right = find("find_orders", "order_id", ORDER[0])
    model.script = answers(
        scenario("One: no such tool", ("drop_table", {"x": "1"})),
        scenario("Two: no such column", find("find_orders", "nope", "1"), answer_field="status"),
        scenario("Three: no such field", right, answer_field="nope"),
        scenario("Four: many rows", find("find_orders", "status", "shipped"), answer_field="total"),
        scenario("Five: a call that is not there", right, answer_call=4, answer_field="status"),
        scenario("Six: says it is not there, but it is", right, answerable=False),
        scenario(f"Seven: is it {ORDER[2]}", right, answer_field="status"),
        scenario("Eight: from nowhere", find("find_orders", "order_id", "{{3.x}}"), answer_field="status"),
    )
    errand = asked(shop, 8)
    assert (errand.result["made"], errand.result["checked"]) == (8, 0)
    assert errand.result["dropped"] == {"unverified": 8}


def test_what_is_there_already_is_dropped(shop: Agent, model: Provider) -> None:
    model.script = answers(
        scenario(
            f"Where is order {ORDER[0]}?", find("find_orders", "order_id", ORDER[0]), answer_field="status"
        ),
        scenario(f"Please, where is the order {ORDER[0]}?"),
        scenario("Where does Ada live?"),
    )
    errand = asked(shop, 10)
    assert errand.result["made"] == 2 and errand.result["wanted"] == 10
    assert errand.result["dropped"]["duplicates"] >= 2


HOSTILE = (
    "",
    "I would rather not.",
    "{" * 5000,
    "[" * 100_000,
    json.dumps({"scenarios": "none"}),
    json.dumps(
        {"scenarios": [None, 1, [], {"question": None}, {"question": "x" * 9000}, {"question": "\x00 "}]}
    ),
    json.dumps(
        {"scenarios": [{"question": "Q?", "calls": {"tool": 1}, "answer_call": "x", "persona": 5}] * 3}
    ),
    '{"scenarios": [{"question": "Cut off?", "calls": [], "answerable": true}, {"question": "and th',
    json.dumps(
        {"scenarios": [{"question": "\ud800 half?", "calls": [{"tool": "find_orders", "arguments": 3}]}]}
    ),
    '{"scenarios": [{"question": "Endless?", "answer_call": 1e999, "calls": [{"tool": "find_orders"}]}]}',
    json.dumps(
        {
            "scenarios": [
                {
                    "question": "Odd?",
                    "calls": [{"tool": "find_orders", "arguments": {"column": ["a"], "value": {"b": 1}}}],
                    "answer_call": -1,
                }
            ]
        }
    ),
)


@pytest.mark.parametrize("answer", HOSTILE)
def test_hostile_answers_are_survived(shop: Agent, model: Provider, answer: str) -> None:
    model.script = lambda body: answer
    errand = asked(shop, 3)
    assert errand.state in ("done", "failed")
    assert "unforeseen" not in errand.error
    assert not Scenario.objects.filter(agent=shop).exclude(expect={}).exists()


def test_a_model_that_does_not_answer_is_named(shop: Agent, model: Provider) -> None:
    model.script = lambda body: refusal(401, "wrong key")
    errand = asked(shop, 3)
    assert errand.state == "failed" and "openai/scripted" in errand.error and "key" in errand.error


def test_cancelling_keeps_what_was_paid_for(
    shop: Agent, model: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = iter(range(1000))
    saved = invent._saved

    def cancelled_after(doing: errands.Doing, questions: Sequence[Question]) -> list[int]:
        Errand.objects.update(wish="cancel")
        return saved(doing, questions)

    monkeypatch.setattr(invent, "_saved", cancelled_after)
    model.script = lambda body: json.dumps(
        {"scenarios": [scenario(f"Number {next(numbers)} of what?") for _ in range(4)]}
    )
    errand = asked(shop, 500)
    assert errand.state == "cancelled"
    assert Scenario.objects.filter(agent=shop).count() == 12


def test_the_model_sees_rows_tools_and_what_is_rarely_needed(shop: Agent, model: Provider) -> None:
    model.script = answers(scenario("Anything?"))
    asked(shop, 1, language="zh")
    said = model.asked[0]["messages"]
    assert "Simplified Chinese" in said[0]["content"] and "find_orders" in said[1]["content"]
    assert json.loads(said[1]["content"])["some rows"]["orders"][0].startswith("order_id: ")
    assert model.asked[0]["response_format"]["json_schema"]["strict"] is True


def test_scenarios_of_tools_that_write_expect_their_changes(shop: Agent, model: Provider) -> None:
    find_orders = Tool.objects.get(agent=shop, name="find_orders")
    assert find_orders.table is not None
    does = {"does": "update", "by": ["order_id"], "columns": ["status"], "shown": ["order_id", "status"]}
    parameters = {
        "type": "object",
        "properties": {n: {"type": "string"} for n in ("column", "value", "change", "to")},
    }
    Tool.objects.create(
        agent=shop,
        name="update_orders",
        kind="table",
        settings=does,
        parameters=parameters,
        table=find_orders.table,
    )
    call = ("update_orders", {"column": "order_id", "value": ORDER[0], "change": "status", "to": "mislaid"})
    model.script = answers(
        scenario(f"Note that order {ORDER[0]} is lost for good.", call, answer_field="status")
    )
    asked(shop, 1)
    row = Scenario.objects.get(agent=shop)
    assert [change["after"] for change in row.expect["changes"]] == ["mislaid"]
