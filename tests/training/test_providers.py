"""Providers: kept, reached, tried out; their keys sealed and found nowhere else."""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from aiohttp import web
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from gpu_worker.tools.guard import Guarded, NotAllowed
from gpu_worker.types import Job, Source
from judging import offline
from judging.llm import Model, NoAnswer
from judging.llm import Refused as NeverAnswers
from tests.judging.provider import Provider as Scripted
from tests.judging.provider import provider as scripted_provider
from tests.judging.provider import refusal
from training.authoring.office import desk, errands, tasks
from training.judges import checkup, providers
from training.judges.providers import Draft, NoProvider, Refused
from training.models import Agent, Checkpoint, Deployment, Errand, Provider, Run
from training.serving import model_server

pytestmark = pytest.mark.django_db
KEY = "sk-canary-0123456789-wxyz"


@pytest.fixture
def door() -> Iterator[Scripted]:
    """A provider over real HTTP, in a loop and thread of its own."""
    ready, over = threading.Event(), threading.Event()
    found: list[Scripted] = []

    async def serve() -> None:
        async with scripted_provider() as there:
            found.append(there)
            ready.set()
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(30)
    yield found[0]
    over.set()
    thread.join(30)


@pytest.fixture(autouse=True)
def everyone(settings: Settings) -> None:
    settings.LOCAL_MODELS = "everyone"


@pytest.fixture
def browser(user: User, client: Client) -> Client:
    client.force_login(user)
    return client


def local(owner: User, url: str, **more: Any) -> Provider:
    draft = {"name": "local", "kind": "url", "api_base": url, "key": KEY, "models": {"tiny": [0.4, 1.6]}}
    return providers.add(owner, Draft(**(draft | more)))


def hosted(owner: User, name: str = "mine", litellm: str = "openai") -> Provider:
    return providers.add(
        owner, Draft(name=name, kind="hosted", litellm=litellm, key=KEY, models={"gpt-4.1-mini": []})
    )


def examine(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Provider:
    """Test it as the page and the desk do."""
    monkeypatch.setattr(tasks, "send", lambda errand_id: None)
    errand = checkup.begin(provider, "")
    desk.work(errand.pk)
    errand.refresh_from_db()
    assert errand.state == Errand.State.DONE, errand.error
    provider.refresh_from_db()
    return provider


# Kept


def test_a_key_is_sealed_and_opened_for_its_owner_alone(user: User, other_user: User) -> None:
    kept = hosted(user)
    assert KEY not in kept.sealed and kept.last4 == "wxyz"
    assert providers.access_for(user, "mine:gpt-4.1-mini").api_key == KEY
    Provider.objects.filter(pk=kept.pk).update(owner=other_user)
    with pytest.raises(NoProvider, match="can no longer be opened"):
        providers.access_for(other_user, "mine:gpt-4.1-mini")


@pytest.mark.parametrize(
    ("draft", "field"),
    [
        ({"name": "My provider"}, "name"),
        ({"key": ""}, "key"),
        ({"key": "short"}, "key"),
        ({"key": "with a space in it"}, "key"),
        ({"models": {"a b": []}}, "models"),
        ({"models": {"responses/gpt": []}}, "models"),
        ({"models": {"gpt": [1.0]}}, "models"),
        ({"models": {"gpt": [1.0, -2.0]}}, "models"),
        ({"at_once": 0}, "at_once"),
    ],
)
def test_what_cannot_be_kept_is_refused_beside_its_field(
    user: User, draft: dict[str, Any], field: str
) -> None:
    sound = {"name": "mine", "kind": "hosted", "litellm": "openai", "key": KEY, "models": {}}
    with pytest.raises(Refused) as refused:
        providers.add(user, Draft(**(sound | draft)))
    assert refused.value.field == field


def test_a_key_stays_with_the_address_it_was_given_for(user: User) -> None:
    kept = local(user, "https://api.example.com/v1")
    with pytest.raises(Refused, match="another address"):
        providers.change(kept, Draft("local", "url", api_base="https://evil.example.com/v1"))
    kept.refresh_from_db()
    assert kept.api_base == "https://api.example.com/v1"
    assert (
        providers.change(kept, Draft("local", "url", api_base="https://api.example.com/v1/")).last4 == "wxyz"
    )


# Reached


def test_a_bare_name_goes_to_the_owners_provider_and_else_to_the_environment(
    user: User, other_user: User
) -> None:
    hosted(user)
    access = providers.access_for(user, "openai/gpt-4.1-mini")
    assert (access.api_key, access.title) == (KEY, "openai/gpt-4.1-mini")
    assert providers.access_for(user, "mistral/small").api_key == ""
    assert providers.access_for(other_user, "openai/gpt-4.1-mini").api_key == ""
    assert providers.access_for(user, offline.MODEL).model == offline.MODEL
    assert providers.access_for(user, "ollama/llama3:8b").model == "ollama/llama3:8b"
    with pytest.raises(NoProvider, match="no provider called mine"):
        providers.access_for(other_user, "mine:gpt-4.1-mini")


def test_prices_that_somebody_said_go_before_a_table(user: User) -> None:
    local(user, "https://api.example.com/v1")
    assert providers.access_for(user, "local:tiny").price == (0.4, 1.6)
    assert providers.access_for(user, "local:other").price is None


def test_lists_offer_the_offline_judge_first_and_nobody_elses_models(user: User, other_user: User) -> None:
    hosted(user)
    assert [value for value, _title in providers.offered(user)] == [offline.MODEL, "mine:gpt-4.1-mini"]
    assert [value for value, _title in providers.offered(other_user)] == [offline.MODEL]


@pytest.mark.parametrize(
    "model", ["tiny", "o3-pro", "gpt-5-codex", "gpt-5-pro", "o1-pro", "o3-deep-research"]
)
def test_whatever_a_model_is_called_it_is_asked_through_the_guard(
    user: User, door: Scripted, settings: Settings, model: str
) -> None:
    """litellm asks some models by another way, with a client of its own, if it takes them for OpenAI's."""
    settings.TOOL_HOSTS = frozenset()
    kept = local(user, door.url)
    access = providers.access_for(user, f"local:{model}")
    settings.LOCAL_MODELS = "nobody"  # what was allowed when the access was made no longer is
    with pytest.raises(NoProvider, match="turned off"):
        providers.access_for(user, f"local:{model}")
    assert access.door is not None
    shut = type(access)(access.model, "http://10.1.2.3/v1", access.api_key, door=access.door)
    with pytest.raises(NoAnswer) as refused:
        asyncio.run(Model(shut, attempts=1, timeout=60).complete(checkup.WORD))
    assert checkup.kind(refused.value) == "not_allowed" and kept.pk
    assert any(isinstance(cause, NotAllowed) for cause in checkup._causes(refused.value))


def test_a_provider_without_a_key_is_not_sent_the_environments(
    user: User, door: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-operator-1234567890")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-the-operator")
    door.script = lambda body: "ready"
    sent = Guarded.handle_async_request

    async def noting(self: Guarded, request: httpx2.Request) -> httpx2.Response:
        seen.append(str(request.headers.raw))
        return await sent(self, request)

    monkeypatch.setattr(Guarded, "handle_async_request", noting)
    local(user, door.url, key="")
    access = providers.access_for(user, "local:tiny")
    asyncio.run(Model(access).complete(checkup.WORD))
    assert seen and not any("operator" in headers for headers in seen)


# Addresses


@pytest.mark.parametrize(
    "address",
    [
        "http://api.example.com/v1",
        "http://10.0.0.5:8000/v1",
        "https://10.0.0.5/v1",
        "https://169.254.169.254/latest",
        "https://[::1]:99999/v1",
        "http://0x7f000001/v1",
        "http://127.1:11434/v1",
        "http://2130706433/v1",
        "ftp://api.example.com/v1",
        "https://user:pw@api.example.com/v1",
        "https://api.example.com:8443/v1",
        "https://api.example.com/v1?x=1",
        "file:///etc/passwd",
        "localhost:11434",
        "",
    ],
)
def test_addresses_that_are_not_for_strangers_are_refused(user: User, address: str) -> None:
    with pytest.raises(Refused) as refused:
        local(user, address)
    assert refused.value.field == "api_base"


def test_the_operator_decides_who_may_use_model_servers_on_this_machine(
    user: User, settings: Settings
) -> None:
    settings.LOCAL_MODELS = "operator"
    with pytest.raises(Refused, match="ARTWEB_LOCAL_MODELS=everyone"):
        local(user, "http://localhost:11434/v1")
    user.is_superuser = True
    assert local(user, "http://localhost:11434/v1").api_base == "http://localhost:11434/v1"
    settings.LOCAL_MODELS = "nobody"
    with pytest.raises(Refused, match="turned off"):
        local(user, "http://127.0.0.1:8000/v1", name="other")
    settings.TOOL_HOSTS = frozenset({"models.lan:8000"})
    assert local(user, "http://models.lan:8000/v1/chat/completions", name="lan").api_base.endswith(":8000/v1")


# Tried out


def test_a_provider_that_answers_is_well(user: User, door: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    door.script = lambda body: '{"ready": true}'
    found = checkup.finding(examine(local(user, door.url), monkeypatch))
    assert found is not None and (found.tone, found.word) == ("good", "answers")
    assert "tiny answered in" in found.says and "$" in found.says


def test_a_provider_without_structured_answers_is_asked_in_words(
    user: User, door: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    door.script = lambda body: (
        refusal(400, "response_format is not supported") if "response_format" in body else '{"ready": true}'
    )
    provider = examine(local(user, door.url), monkeypatch)
    found = checkup.finding(provider)
    assert provider.test["json"] == "none" and found is not None and found.tone == "good"


def test_a_model_that_gives_no_json_is_no_judge(
    user: User, door: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    door.script = lambda body: "Sure! I am ready."
    found = checkup.finding(examine(local(user, door.url), monkeypatch))
    assert found is not None and found.tone == "warn" and "not fit to be a judge" in found.mend


def page_of_html(status: int) -> web.Response:
    return web.Response(status=status, text="<!doctype html><title>Welcome</title>", content_type="text/html")


WRONG: list[tuple[str, Callable[[], web.Response]]] = [
    ("key", lambda: refusal(401, f"Incorrect API key provided: {KEY}.")),
    ("forbidden", lambda: refusal(403, "This project may not use it.")),
    ("money", lambda: refusal(402, "Insufficient balance")),
    ("money", lambda: refusal(429, "You exceeded your current quota, please check your plan and billing.")),
    ("busy", lambda: refusal(429, "Rate limit reached for requests")),
    ("model", lambda: refusal(404, "The model `tiny` does not exist")),
    ("not_openai", lambda: page_of_html(404)),
    ("not_openai", lambda: page_of_html(200)),
    ("broken", lambda: refusal(500, "Internal error")),
    ("question", lambda: refusal(400, "tiny is not a chat model")),
]


@pytest.mark.parametrize(("kind", "reply"), WRONG)
def test_what_is_wrong_is_said_with_what_to_do(
    kind: str,
    reply: Callable[[], web.Response],
    user: User,
    door: Scripted,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    door.script = lambda body: reply()
    provider = examine(local(user, door.url), monkeypatch)
    found = checkup.finding(provider)
    assert provider.test["kind"] == kind
    assert found is not None and found.tone == "bad" and found.says and found.mend
    assert KEY not in f"{found}{provider.test}{Errand.objects.values()}"


def test_nobody_at_the_address_and_no_such_host(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = examine(local(user, "http://127.0.0.1:9/v1"), monkeypatch)
    assert nobody.test["kind"] == "address"
    lost = examine(local(user, "https://no-such-host.invalid/v1", name="lost"), monkeypatch)
    assert lost.test["kind"] == "name"


def test_tls_that_is_none(user: User, door: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = local(user, door.url.replace("http://", "https://"))
    assert examine(provider, monkeypatch).test["kind"] == "tls"


def test_silence(user: User, door: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    door.pause = 3.0
    monkeypatch.setattr(checkup, "PATIENCE", 0.3)
    assert examine(local(user, door.url), monkeypatch).test["kind"] == "silent"


# Pages


def test_a_key_goes_in_and_never_comes_out(
    browser: Client, user: User, door: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "send", lambda errand_id: None)
    typed = {
        "name": "local",
        "api_base": door.url,
        "key": KEY,
        "models": "tiny 0.4 1.6\nlarge",
        "act": "test",
    }
    answer = browser.post(reverse("add_provider", args=["ollama"]), typed)
    provider = Provider.objects.get()
    assert answer.status_code == 302 and provider.offers == ["tiny", "large"]
    door.script = lambda body: refusal(401, f"Incorrect API key provided: {KEY}")
    desk.work(Errand.objects.get().pk)
    shown = b"".join(
        browser.get(address).content
        for address in (
            reverse("providers"),
            reverse("provider", args=[provider.pk]),
            reverse("provider_tested", args=[provider.pk]),
        )
    ).decode()
    assert "ends in wxyz" in shown and "is not accepted" in shown
    call_command("dumpdata", "training", output=None)
    dumped = f"{list(Errand.objects.values())}{list(Provider.objects.values())}"
    assert KEY not in shown + dumped and "sk-canary" not in shown + dumped


def test_what_was_typed_stays_but_the_key(browser: Client) -> None:
    typed = {"name": "local", "api_base": "http://10.0.0.1/v1", "key": KEY, "models": "tiny"}
    answer = browser.post(reverse("add_provider", args=["address"]), typed)
    shown = answer.content.decode()
    assert answer.status_code == 422 and "http://10.0.0.1/v1" in shown and KEY not in shown
    assert 'aria-invalid="true"' in shown and not Provider.objects.exists()


def test_a_deleted_provider_can_be_put_back(browser: Client, user: User) -> None:
    provider = hosted(user)
    answer = browser.post(reverse("delete_provider", args=[provider.pk]))
    assert "can be put back" in answer.content.decode() and not Provider.objects.exists()
    browser.post(reverse("undo_provider"))
    assert providers.access_for(user, "mine:gpt-4.1-mini").api_key == KEY


def test_nobody_sees_or_tests_anothers_provider(browser: Client, other_user: User) -> None:
    provider = hosted(other_user)
    assert "mine" not in browser.get(reverse("providers")).content.decode()
    for name in ("provider", "provider_tested"):
        assert browser.get(reverse(name, args=[provider.pk])).status_code == 404
    for name in ("provider", "delete_provider", "test_provider"):
        assert browser.post(reverse(name, args=[provider.pk])).status_code == 404
    assert not Errand.objects.exists()


def test_a_provider_says_whose_judge_it_is(browser: Client, user: User, agent: Agent) -> None:
    hosted(user)
    Agent.objects.filter(pk=agent.pk).update(judge_model="mine:gpt-4.1-mini")
    assert agent.name in browser.get(reverse("providers")).content.decode()


def test_an_errand_of_a_deleted_provider_says_so(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "send", lambda errand_id: None)
    provider = hosted(user)
    errand = checkup.begin(provider, "")
    provider.delete()
    desk.work(errand.pk)
    assert errands.look_after(errand).error == "The provider was deleted."


def test_a_key_that_a_provider_repeats_reaches_no_sentence(user: User, door: Scripted) -> None:
    door.script = lambda body: refusal(401, f"Incorrect API key provided: {KEY[:8]}*****{KEY[-4:]} ({KEY})")
    access = providers.access_for(user, f"{local(user, door.url).name}:tiny")
    with pytest.raises(NeverAnswers) as refused:
        asyncio.run(Model(access).complete(checkup.WORD))
    said = str(refused.value)
    assert "local:tiny does not accept the key" in said and "sk-can" not in said and KEY not in repr(access)


# A checkpoint of one's own


def test_a_checkpoint_of_ones_own_is_asked_without_leaving_the_machine(
    user: User, other_user: User, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = Checkpoint.objects.create(
        run=run, step=3, directory="/adapters/3", sha256="ab" * 32, bytes=1, kept=True
    )
    Deployment.objects.create(owner=user, alias="desk", checkpoint=checkpoint)
    asked: list[dict[str, Any]] = []

    async def answers(payload: dict[str, Any]) -> list[dict[str, Any]]:
        asked.append(payload)
        told = {"text": '{"ready": true}', "tool_calls": [], "finish": "stop", "tokens": []}
        return [{**told, "prompt_tokens": 7, "completion_tokens": 5}]

    monkeypatch.setattr(model_server, "answers", answers)
    provider = providers.add(user, Draft("mine", "own"))
    assert providers.models_of(provider) == ["desk"]
    access = providers.access_for(user, "mine:desk")
    answer = asyncio.run(Model(access).ask(checkup.JSON, checkup.SCHEMA))
    assert (answer.text, answer.prompt_tokens, answer.cost) == ('{"ready": true}', 7, 0.0)
    assert (asked[0]["adapter"], asked[0]["adapter_sha256"]) == ("/adapters/3", "ab" * 32)
    assert asked[0]["messages"] == checkup.JSON and asked[0]["tools"] == []
    with pytest.raises(NoProvider, match="None of your checkpoints is called other"):
        providers.access_for(user, "mine:other")
    providers.add(other_user, Draft("mine", "own"))
    with pytest.raises(NoProvider):
        providers.access_for(other_user, "mine:desk")


def test_tools_reach_the_models_that_were_opened_for_them_without_a_database(user: User) -> None:
    local(user, "https://api.example.com/v1")
    reached = providers.access_by_name(user, ["local:tiny", "gone:model"])
    Provider.objects.all().delete()
    assert reached("local:tiny").api_key == KEY
    assert reached("local:tiny") is reached("local:tiny")  # tries share its connections
    with pytest.raises(NeverAnswers, match="no provider called gone"):
        reached("gone:model")


@pytest.mark.parametrize(
    ("reward", "mix", "asks"),
    [
        ("ruler", {}, True),
        ("checks", {}, False),
        ("mix", {"ruler": 0.5, "checks": 0.5}, True),
        ("mix", {"checks": 1.0}, False),
    ],
)
def test_only_a_reward_with_a_judge_in_it_opens_a_key(
    user: User, reward: Source, mix: dict[str, float], asks: bool
) -> None:
    job = Job(run="r", environment="order_desk", reward=reward, mix=mix, judge_model="gone:model")
    if not asks:
        assert providers.judge_of(user, job) is None
        return
    with pytest.raises(NoProvider):
        providers.judge_of(user, job)
