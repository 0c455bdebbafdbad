"""Agents filled by the desk: from a table, from a template, from a description; offline and by a model."""

import contextlib
import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpu_worker.environments.order_desk import orders_csv
from judging.llm import Answer, Model, NoAnswer
from training.authoring.guide import agents
from training.authoring.guide.drafting import asking, templates
from training.authoring.guide.drafting.everyday_tools import EVERYDAY, tools_for
from training.authoring.office import desk, errands
from training.authoring.toolbox import uploads
from training.models import Agent, Errand

pytestmark = pytest.mark.django_db(transaction=True)
CHINESE = "编号,姓名,状态\n" + "".join(
    f"{number},客户{number},{'已发货' if number % 2 else '待处理'}\n" for number in range(100, 220)
)


def done(errand: Errand) -> Errand:
    """The errand after the desk has had its turn."""
    desk.work(errand.pk)
    errand.refresh_from_db()
    return errand


def from_file(owner: User, name: str, content: bytes, said_in: str = "en") -> Errand:
    upload, filename = uploads.keep(SimpleUploadedFile(name, content))
    return done(
        errands.start(owner=owner, kind="from_csv", upload=upload, filename=filename, said_in=said_in)
    )


def test_a_table_becomes_an_agent_that_can_be_trained(user: User) -> None:
    errand = from_file(user, "my_orders.csv", orders_csv().encode())
    assert (errand.state, errand.error) == ("done", "")
    agent = Agent.objects.get()
    assert errand.result["next"] == f"/agents/{agent.pk}/review/" and agent.name == "My orders"
    assert set(agent.suggested) == {"name", "description", "system_prompt"}
    assert agent.tools.count() == 3 and not agent.tools.filter(suggested=False).exists()
    splits = list(agent.scenarios.values_list("split", flat=True))
    assert len(splits) == 60 and {"train", "val", "test"} == set(splits)
    assert not agent.scenarios.filter(expect={}).exists()
    assert "order_id" in agent.description and agent.description.split(".")[0] in agent.system_prompt
    assert not uploads.path_of(errand.arguments["upload"]).exists()


def test_a_table_in_chinese_is_asked_about_in_the_language_the_small_model_reads(user: User) -> None:
    from_file(user, "客户.csv", CHINESE.encode(), "zh-hans")
    agent = Agent.objects.get()
    assert (agent.base_model, agent.language) == ("embedded", "en") and agent.scenarios.exists()
    assert any("客户" in scenario.messages[0]["content"] for scenario in agent.scenarios.all())


def test_an_uploaded_table_is_rewarded_by_checks(user: User) -> None:
    from_file(user, "orders.csv", orders_csv().encode())
    assert Agent.objects.get().config == {"reward": "checks", "steps": 80}


def test_a_file_that_cannot_be_read_leaves_nothing_behind(user: User) -> None:
    errand = from_file(user, "broken.csv", b"only a header\n")
    assert errand.state == "failed" and errand.error
    assert not Agent.objects.exists()
    assert not uploads.path_of(errand.arguments["upload"]).exists()


def test_an_errand_that_is_taken_again_goes_on_with_its_agent(user: User) -> None:
    upload, filename = uploads.keep(SimpleUploadedFile("orders.csv", orders_csv().encode()))
    begun = agents.create(owner=user, name="Orders")
    errand = errands.start(owner=user, kind="from_csv", agent=begun, upload=upload, filename=filename)
    assert done(errand).state == "done"
    assert Agent.objects.get().pk == begun.pk and begun.scenarios.count() == 60


def test_calling_off_takes_the_agent_away_again(user: User) -> None:
    upload, filename = uploads.keep(SimpleUploadedFile("orders.csv", orders_csv().encode()))
    errand = errands.start(owner=user, kind="from_csv", upload=upload, filename=filename)
    Errand.objects.filter(pk=errand.pk).update(wish="cancel")
    assert done(errand).state == "cancelled"
    assert not Agent.objects.exists() and not uploads.path_of(upload).exists()


def test_the_order_desk_is_made_at_the_desk(user: User) -> None:
    errand = done(errands.start(owner=user, kind="from_template", card="order_desk", said_in="en"))
    agent = Agent.objects.get()
    assert errand.result["next"] == f"/agents/{agent.pk}/review/"
    assert agent.tools.count() == 2 and agent.scenarios.count() == 548


def test_a_draft_offline_fills_what_is_missing_and_marks_it(user: User) -> None:
    agent = agents.create(owner=user, name="Desk", description="Customers ask about refunds and parcels")
    errand = done(errands.start(owner=user, kind="draft", agent=agent))
    agent.refresh_from_db()
    assert set(agent.suggested) == {"system_prompt", "rubric"}
    assert "refunds and parcels" in agent.system_prompt and "refunds and parcels" in agent.rubric
    assert list(agent.tools.values_list("name", flat=True)) == ["track_parcel", "check_refund"]
    assert errand.result["before"] == {"system_prompt": "", "rubric": ""} and errand.result["themes"]


def test_a_draft_adds_no_tools_to_an_agent_that_has_some(user: User) -> None:
    from_file(user, "orders.csv", orders_csv().encode())
    agent = Agent.objects.get()
    done(errands.start(owner=user, kind="draft", agent=agent))
    assert agent.tools.filter(kind="simulated").count() == 0


def test_a_draft_of_nothing_says_what_to_do(user: User) -> None:
    agent = agents.create(owner=user, name="Desk")
    errand = done(errands.start(owner=user, kind="draft", agent=agent))
    assert errand.state == "failed" and "Say first what the agent is to do" in errand.error


def test_every_everyday_tool_is_sound_in_both_languages(user: User) -> None:
    for language in templates.RUBRIC:
        agent = agents.create(owner=user, name="All", language=language)
        for every in EVERYDAY:
            (tool,) = [t for t in tools_for(every.words.split("|")[0], language) if t.name == every.name]
            assert desk.draft.tool_saving.add(agent, tool, suggested=True).name == every.name


ANSWER = {
    "system_prompt": "You answer for a library.",
    "rubric": "- Is the book right?",
    "tools": [
        {
            "name": "find_book",
            "description": "Find a book.",
            "parameters": [{"name": "title", "description": "Its title."}],
            "examples": [{"arguments": [{"name": "title", "description": "Emma"}], "result": "shelf 4"}],
        },
        {"name": "Bad Name", "description": "", "parameters": [], "examples": []},
    ],
    "themes": ["a book that is lent", "a book that does not exist"],
}


def answering(monkeypatch: pytest.MonkeyPatch, answer: object) -> list[Any]:
    """Let a language model say `answer`; returns the questions it is asked."""
    asked: list[Any] = []

    async def ask(self: Model, messages: Any, schema: Any, **more: Any) -> Answer:
        asked.append(messages)
        if isinstance(answer, Exception):
            raise answer
        return Answer(answer if isinstance(answer, str) else json.dumps(answer))

    monkeypatch.setattr(Model, "ask", ask)
    return asked


@pytest.fixture
def library(user: User) -> Agent:
    return agents.create(
        owner=user, name="Library", description="Find books.", judge_model="openai/gpt-4.1-mini"
    )


def test_a_model_that_is_named_writes_the_draft(library: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answering(monkeypatch, ANSWER)
    errand = done(errands.start(owner=library.owner, kind="draft", agent=library))
    library.refresh_from_db()
    assert library.system_prompt == "You answer for a library." and errand.result["by"] == library.judge_model
    tool = library.tools.get()
    assert tool.suggested and tool.settings["examples"] == [
        {"arguments": {"title": "Emma"}, "result": "shelf 4"}
    ]
    assert "Find books." in asked[0][1]["content"]


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [("no JSON at all", "could not be read"), (NoAnswer("It is busy."), "It is busy.")],
)
def test_a_model_that_fails_is_named_and_nothing_is_changed(
    library: Agent, monkeypatch: pytest.MonkeyPatch, answer: object, sentence: str
) -> None:
    answering(monkeypatch, answer)
    errand = done(errands.start(owner=library.owner, kind="draft", agent=library))
    library.refresh_from_db()
    assert errand.state == "failed" and sentence in errand.error and library.judge_model in errand.error
    assert library.suggested == [] and library.system_prompt == ""


@pytest.mark.parametrize(
    "answer",
    [
        "{}",
        '{"tools": "none", "themes": 4, "rubric": ["a"]}',
        '{"tools": [1, null, {"name": 5}], "themes": [null, 3]}',
        'Here it is:\n```json\n{"themes": ["one"]}\n```',
        json.dumps({"system_prompt": "half \ud800 a pair", "tools": [{"name": "x" * 80}]}),
    ],
)
def test_what_does_not_fit_is_left_out_of_a_models_draft(answer: str) -> None:
    proposal = asking.read(answer)
    assert proposal.tools == () and "\ud800" not in "".join(proposal.texts.values())


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["tools", "themes", "name", "parameters", "examples", "arguments", "result", "description"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("examples", [100, pytest.param(1_000, marks=pytest.mark.slow)])
def test_any_answer_of_a_model_is_a_proposal_or_a_value_error(examples: int) -> None:
    @settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.text() | JSON.map(json.dumps) | st.text().map(lambda text: "{" + text + "}"))
    def read(answer: str) -> None:
        with contextlib.suppress(ValueError):
            proposal = asking.read(answer)
            assert all(isinstance(tool.parameters, dict) for tool in proposal.tools)

    read()


def test_an_answer_nested_without_end_is_no_proposal() -> None:
    with pytest.raises(ValueError, match="too deeply"):
        asking.read("{" + '"a":{' * 100_000 + "}" * 100_001)
