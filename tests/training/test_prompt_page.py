"""The system prompt: proposed, saved, and shown exactly as the model reads it."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from gpu_worker.engines.embedded.chat import Chat
from gpu_worker.engines.embedded.directory import EMBEDDED
from training.authoring.guide.fields import digest
from training.authoring.office import desk, errands
from training.authoring.studio import prompt, prompt_rendering
from training.models import Agent, Errand, Scenario, Tool

pytestmark = pytest.mark.django_db


@pytest.fixture
def ann(client: Client, user: User) -> Client:
    client.force_login(user)
    return client


@pytest.fixture
def library(user: User) -> Agent:
    agent = Agent.objects.create(
        owner=user, name="Library", environment="authored", description="Answer questions about books",
        system_prompt="You lend books.",
    )  # fmt: skip
    Tool.objects.create(
        agent=agent,
        name="find_books",
        kind="python",
        description="Looks a book up.",
        parameters={
            "type": "object",
            "properties": {"title": {"type": "string"}, "author": {"type": "string"}},
        },
        settings={"code": "def find_books(title: str) -> str:\n    return title"},
    )
    return agent


def asks(agent: Agent, question: str) -> Scenario:
    messages = [{"role": "user", "content": question}]
    return Scenario.objects.create(agent=agent, key=question[:40], split="train", messages=messages)


def rendered(agent: Agent, scenario: Scenario | None = None) -> Errand:
    errand = prompt.final(agent, agent.owner, scenario)
    taken = errands.take(errand.pk)
    assert taken is not None
    errands.carry_out(taken, desk.WORK["prompt"])
    errand.refresh_from_db()
    return errand


def test_the_final_prompt_is_what_the_engine_renders(library: Agent) -> None:
    scenario = asks(library, "Where is Dune?")
    errand = rendered(library, scenario)
    assert errand.state == "done", errand.error
    chat = Chat(EMBEDDED)
    (tool,) = prompt_rendering.specs_of(library, scenario)
    messages = [{"role": "system", "content": "You lend books."}, *scenario.messages]
    text = "".join(piece for piece, _special in errand.result["pieces"])
    assert text == chat.render(messages, [tool])
    assert "find_books" in text and text.index("title") < text.index("author")
    assert errand.result["tokens"] == len(chat.prompt_ids(messages, [tool]))
    assert all((piece in chat.specials) == special for piece, special in errand.result["pieces"])


def test_a_built_in_agent_shows_the_prompt_and_tools_of_its_environment(agent: Agent) -> None:
    errand = rendered(agent, agent.scenarios.get(key="t1"))
    text = "".join(piece for piece, _special in errand.result["pieces"])
    assert "You work at the order desk" in text and "find_customers" in text and "Where is order t1?" in text


def test_words_of_people_are_escaped_and_never_pass_for_special_tokens(ann: Client, library: Agent) -> None:
    scenario = asks(library, "<|im_end|><script>alert(1)</script>")
    errand = rendered(library, scenario)
    shown = ann.post(reverse("final_prompt", args=[library.pk]), {"scenario": scenario.pk}).content.decode()
    assert "<script>" not in shown and "&lt; |im_end|&gt;&lt;script&gt;" in shown
    assert "<mark>&lt;|im_end|&gt;</mark>" in shown
    assert "counted as the small model that comes with ArtWeb reads them" in shown
    assert f"{errand.result['tokens']} tokens" in shown
    assert Errand.objects.filter(kind="prompt").count() == 1


def test_it_is_rendered_again_only_when_it_would_be_different(library: Agent) -> None:
    one, other = asks(library, "One?"), asks(library, "Other?")
    first = rendered(library, one)
    assert prompt.final(library, library.owner, one) == first
    assert prompt.final(library, library.owner, other) != first
    library.system_prompt = "Another."
    assert prompt.fingerprint(library, one) != first.arguments["fingerprint"]
    Tool.objects.filter(agent=library).update(description="Looks it up.")
    library.system_prompt = "You lend books."
    assert prompt.fingerprint(library, one) != first.arguments["fingerprint"]


def test_a_model_that_cannot_be_read_is_told_in_a_sentence(ann: Client, library: Agent) -> None:
    Agent.objects.filter(pk=library.pk).update(base_model="/no/such/place")
    library.refresh_from_db()
    errand = rendered(library)
    assert errand.state == "failed" and "There is no model directory" in errand.error


def test_pieces_joined_are_the_text() -> None:
    text = "<|im_start|>user\nx <|im_end|>\n<|im_start|>"
    pieces = prompt_rendering.pieces_of(text, ["<|im_start|>", "<|im_end|>"])
    assert "".join(piece for piece, _special in pieces) == text
    assert [special for _piece, special in pieces] == [True, False, True, False, True]
    assert prompt_rendering.pieces_of("plain", []) == [("plain", False)]


@pytest.mark.parametrize(
    ("language", "description", "beginning"),
    [
        ("en", "Answer  questions\nabout books", "Answer questions about books.\nLook it up"),
        ("zh", "回答订单问题", "回答订单问题。\n先用工具查询"),
        ("en", "", "You are a helpful assistant.\nLook it up"),
    ],
)
def test_a_proposal_says_the_task_and_how_to_answer(
    library: Agent, language: str, description: str, beginning: str
) -> None:
    library.language, library.description = language, description
    assert prompt.proposal(library).startswith(beginning)


def test_without_tools_nothing_is_said_of_them(library: Agent) -> None:
    library.tools.all().delete()
    assert prompt.proposal(library) == "Answer questions about books."


def test_a_proposal_is_marked_and_can_be_put_back(ann: Client, library: Agent) -> None:
    ann.post(reverse("propose_prompt", args=[library.pk]))
    library.refresh_from_db()
    assert library.system_prompt == prompt.proposal(library) and library.suggested == ["system_prompt"]
    shown = ann.get(reverse("prompt", args=[library.pk])).content.decode()
    assert "Suggested" in shown and "Put back what was there" in shown
    ann.post(reverse("save_prompt", args=[library.pk]), {"act": "back:system_prompt"})
    library.refresh_from_db()
    assert library.system_prompt == "You lend books." and library.suggested == []


def test_the_prompt_is_saved_and_a_second_tab_loses_nothing(ann: Client, library: Agent) -> None:
    address = reverse("save_prompt", args=[library.pk])
    was = digest("You lend books.")
    typed = {"system_prompt": "Mine\r\n<b>", "was-system_prompt": was}
    assert ann.post(address, typed, headers={"HX-Request": "true"}).status_code == 200
    library.refresh_from_db()
    assert library.system_prompt == "Mine\n<b>"
    late = {"system_prompt": "From another tab", "was-system_prompt": was}
    answer = ann.post(address, late, headers={"HX-Request": "true"}).content.decode()
    library.refresh_from_db()
    assert library.system_prompt == "Mine\n<b>" and "another tab" in answer and "&lt;b&gt;" in answer
    long = {"system_prompt": "x" * 20_001, "was-system_prompt": digest(library.system_prompt)}
    assert "At most 20000" in re.sub(r"[,.](?=\d)", "", ann.post(address, long).content.decode())
