"""Reaching a model over real HTTP: refusals, retries, formats, limits."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from judging.access import Access
from judging.llm import Model, NoAnswer, Refused, Silent
from judging.prompt import SCHEMA
from judging.spending import Purse
from tests.judging.provider import Provider, completion, provider, refusal

QUESTION = [{"role": "user", "content": "Hello?"}]


@pytest_asyncio.fixture
async def there() -> AsyncIterator[Provider]:
    async with provider() as scripted:
        scripted.script = lambda body: "fine"
        yield scripted


async def test_the_answer_is_asked_for_by_schema_at_temperature_zero(there: Provider) -> None:
    assert (await there.model().ask(QUESTION, SCHEMA)).text == "fine"
    (body,) = there.asked
    assert body["temperature"] == 0
    assert body["response_format"]["json_schema"]["schema"] == SCHEMA


@pytest.mark.parametrize("status", [429, 500, 502, 503])
async def test_a_busy_or_broken_provider_is_asked_again(there: Provider, status: int) -> None:
    there.script = lambda body: refusal(status, "later") if len(there.asked) < 3 else "fine"
    assert (await there.model().ask(QUESTION, SCHEMA)).text == "fine"
    kinds = [body["response_format"]["type"] for body in there.asked]
    assert kinds == ["json_schema"] * 3


async def test_a_question_that_is_too_large_is_not_asked_again(there: Provider) -> None:
    there.script = lambda body: refusal(413, "too large")
    with pytest.raises(NoAnswer, match="too large"):
        await there.model().ask(QUESTION, SCHEMA)
    assert len(there.asked) == 1


async def test_retry_after_is_waited_out(there: Provider) -> None:
    there.script = lambda body: (
        refusal(429, "slow down", Retry_After="0.4") if len(there.asked) < 2 else "fine"
    )
    start = time.monotonic()
    assert (await there.model().ask(QUESTION, SCHEMA)).text == "fine"
    assert time.monotonic() - start >= 0.4


async def test_patience_ends_with_a_sentence(there: Provider) -> None:
    there.script = lambda body: refusal(429, "too many")
    with pytest.raises(NoAnswer, match="openai/scripted did not answer: .*too many"):
        await there.model(attempts=2).ask(QUESTION, SCHEMA)
    assert len(there.asked) == 2


async def test_silence_is_given_up_and_asked_again(there: Provider) -> None:
    there.pause = 30
    with pytest.raises(NoAnswer, match="did not answer"):
        await there.model(timeout=0.5, attempts=2).ask(QUESTION, SCHEMA)
    assert len(there.asked) == 2


async def test_a_provider_that_refuses_the_schema_is_asked_without(there: Provider) -> None:
    def script(body: dict[str, Any]) -> Any:
        kind = body.get("response_format", {}).get("type")
        return refusal(400, f"response_format {kind} is not supported") if kind else "fine"

    there.script = script
    model = there.model()
    assert [(await model.ask(QUESTION, SCHEMA)).text for _ in range(2)] == ["fine", "fine"]
    kinds = [body.get("response_format", {}).get("type") for body in there.asked]
    assert kinds == ["json_schema", "json_object", None, None]


async def test_a_question_refused_for_itself_does_not_change_the_format(there: Provider) -> None:
    there.script = lambda body: refusal(400, "too long") if len(body["messages"]) > 1 else "fine"
    model = there.model()
    with pytest.raises(NoAnswer, match="refused the question. It said: too long"):
        await model.ask(QUESTION * 2, SCHEMA)
    assert (await model.ask(QUESTION, SCHEMA)).text == "fine"
    assert there.asked[-1]["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize(
    ("status", "said"), [(401, "accept the key"), (402, "paid"), (403, "let us in"), (404, "not found")]
)
async def test_what_no_question_would_survive_is_said_at_once(
    there: Provider, status: int, said: str
) -> None:
    there.script = lambda body: refusal(status, "no")
    with pytest.raises(Refused, match=said):
        await there.model().ask(QUESTION, SCHEMA)
    assert len(there.asked) == 1


async def test_nobody_listening_is_no_answer() -> None:
    model = Model(Access("openai/x", "http://127.0.0.1:9/v1", "k"), attempts=2, back_off=0.001)
    with pytest.raises(NoAnswer, match="did not answer"):
        await model.ask(QUESTION, SCHEMA)


async def test_an_unknown_provider_is_refused_in_a_sentence() -> None:
    with pytest.raises((NoAnswer, Refused), match="nowhere/model"):
        await Model("nowhere/model", attempts=1).ask(QUESTION, SCHEMA)


@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"choices": []},
        {"choices": [{"message": {}}]},
        {"choices": None, "error": {"message": "overloaded"}},
        "<html>bad gateway</html>",
    ],
)
async def test_an_answer_in_no_known_form_is_no_answer_or_an_empty_one(there: Provider, reply: Any) -> None:
    text = reply if isinstance(reply, str) else json.dumps(reply)
    there.script = lambda body: web.Response(text=text, content_type="application/json")
    try:
        assert isinstance((await there.model(attempts=2).ask(QUESTION, SCHEMA)).text, str)
    except NoAnswer as error:
        assert "openai/scripted" in str(error)


async def test_half_a_character_in_an_answer_is_replaced(there: Provider) -> None:
    there.script = lambda body: "a \ud800 b"
    assert (await there.model().ask(QUESTION, SCHEMA)).text == "a ? b"


async def test_no_more_than_so_many_questions_are_out_at_once(there: Provider) -> None:
    there.pause, there.together = 0.03, 3
    model = there.model(at_once=3)
    await asyncio.gather(*(model.ask(QUESTION, SCHEMA) for _ in range(12)))
    assert there.most_busy == 3


def test_a_child_forked_while_the_library_is_being_loaded_can_ask_too() -> None:
    """It waited for ever for the thread that was loading, which a forked process does not have."""
    story = (
        "import asyncio, os, signal, time; from judging.llm import Model;"
        "model = Model('artweb/offline'); model.get_ready(); time.sleep(0.2); child = os.fork();"
        "signal.alarm(60) if child == 0 else None;"
        "code = os.waitpid(child, 0)[1] if child else 0;"
        "asyncio.run(model.complete([{'role': 'user', 'content': 'Hello?'}]));"
        "os._exit(code != 0)"
    )
    ended = subprocess.run([sys.executable, "-c", story], timeout=120, capture_output=True, text=True)
    assert (ended.returncode, "ignored" in ended.stderr) == (0, False), ended.stderr


async def test_models_of_one_provider_share_its_limit_of_questions(there: Provider) -> None:
    there.pause, there.together = 0.03, 2
    models = [Model(there.access(at_once=2, provider="mine", model=f"openai/m{n}")) for n in range(3)]
    await asyncio.gather(*(model.ask(QUESTION, SCHEMA) for model in models * 4))
    assert there.most_busy == 2


async def test_providers_do_not_wait_for_each_other(there: Provider) -> None:
    """Nobody is answered before two questions of each are out."""
    arrived, all_there = 0, asyncio.Event()

    async def together(request: web.Request) -> web.StreamResponse:
        nonlocal arrived
        arrived += 1
        if arrived == 4:
            all_there.set()
        await all_there.wait()
        return web.json_response(completion("fine"))

    there.handler = together
    models = [Model(there.access(at_once=2, provider=name)) for name in ("one", "another")]
    said = await asyncio.gather(*(model.complete(QUESTION) for model in models for _ in range(2)))
    assert said == ["fine"] * 4


async def test_the_limit_holds_across_event_loops_and_survives_whoever_gives_up(there: Provider) -> None:
    there.pause = 0.05
    access = there.access(at_once=2, provider="loops")

    def elsewhere() -> None:
        async def several() -> None:
            await asyncio.gather(*(Model(access).complete(QUESTION) for _ in range(3)))

        asyncio.run(several())

    impatient = [asyncio.create_task(Model(access).complete(QUESTION)) for _ in range(4)]
    threads = [asyncio.to_thread(elsewhere) for _ in range(2)]
    asyncio.get_running_loop().call_later(0.12, lambda: [task.cancel() for task in impatient])
    await asyncio.gather(*threads)
    await asyncio.gather(*impatient, return_exceptions=True)
    await asyncio.wait_for(Model(access).complete(QUESTION), 60)
    assert there.most_busy <= 4  # a provider goes on for a while with the two that were given up


async def test_retry_after_holds_for_everybody_at_that_provider(there: Provider) -> None:
    asked_at: list[float] = []

    def slow_down_once(body: dict[str, Any]) -> Any:
        asked_at.append(time.monotonic())
        return refusal(429, "slow down", Retry_After="1") if len(asked_at) == 1 else "fine"

    there.script = slow_down_once
    access = there.access(provider="busy")
    first = asyncio.create_task(Model(access, back_off=0.001).complete(QUESTION))
    while not there.asked:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    assert [await Model(access).complete(QUESTION), await first] == ["fine", "fine"]
    assert min(asked_at[1:]) - asked_at[0] >= 0.95


async def test_whoever_asks_for_more_time_than_we_have_is_not_asked_again(there: Provider) -> None:
    there.script = lambda body: refusal(429, "come back tomorrow", Retry_After="86400")
    with pytest.raises(NoAnswer, match="busy .*come back tomorrow"):
        await there.model().ask(QUESTION, SCHEMA)
    assert len(there.asked) == 1


async def test_a_provider_that_trickles_for_ever_is_stopped(there: Provider) -> None:
    """Each byte comes in time for the library's limit of silence, the answer never does."""

    async def trickle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for _ in range(600):
            await response.write(b" ")
            await asyncio.sleep(0.05)
        return response

    there.handler = trickle
    start = time.monotonic()
    with pytest.raises(Silent, match="did not answer in time .*taken and nothing came back"):
        await there.model(timeout=0.2, attempts=1).ask(QUESTION, SCHEMA)
    assert time.monotonic() - start < 20


async def test_patience_with_all_attempts_together_ends(there: Provider) -> None:
    there.script = lambda body: refusal(500, "broken")
    start = time.monotonic()
    with pytest.raises(Silent):
        await there.model(patience=0.5, attempts=1000, back_off=0.1).ask(QUESTION, SCHEMA)
    assert time.monotonic() - start < 20
    assert len(there.asked) < 20


async def test_silence_is_told_apart_from_refusal(there: Provider) -> None:
    there.script = lambda body: refusal(500, "broken")
    with pytest.raises(NoAnswer, match="something is broken on its side") as refused:
        await there.model(attempts=1).ask(QUESTION, SCHEMA)
    there.pause = 30
    with pytest.raises(Silent) as silent:
        await there.model(timeout=0.5, attempts=1).ask(QUESTION, SCHEMA)
    assert not isinstance(refused.value, Silent) and isinstance(silent.value, NoAnswer)


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (401, "Incorrect API key provided: sk-x", "does not accept the key. Check that it was copied whole"),
        (404, "The model `x` does not exist", "was not found at http.* Check how the model is written"),
        (400, "model_not_found: no such model", "was not found"),
        (429, "You exceeded your current quota, please check your plan", "has no credit left"),
        (400, "Your credit balance is too low to access the API", "has no credit left"),
        (403, "country not supported", "does not let us in"),
    ],
)
async def test_a_lead_of_support_can_act_on_what_is_refused(
    there: Provider, status: int, body: str, says: str
) -> None:
    there.script = lambda asked: refusal(status, body)
    with pytest.raises(Refused, match=says) as refused:
        await there.model(attempts=3).ask(QUESTION, SCHEMA)
    assert len(there.asked) == 1
    assert "Exception" not in str(refused.value) and "litellm" not in str(refused.value)


async def test_an_address_where_nobody_listens_is_named() -> None:
    model = Model(Access("openai/x", "http://127.0.0.1:9/v1", "k"), attempts=1)
    with pytest.raises(NoAnswer, match="nothing is reached at http://127.0.0.1:9/v1. Is the server running"):
        await model.ask(QUESTION, SCHEMA)


async def test_a_missing_key_and_an_unknown_provider_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(Refused, match="needs a key, and none is given"):
        await Model("openai/gpt-4.1-mini", attempts=1).complete(QUESTION)
    with pytest.raises(Refused, match="names no provider that is known here"):
        await Model("nowhere/model", attempts=1).complete(QUESTION)


async def test_a_price_that_a_person_gave_pays_for_models_nobody_knows(there: Provider) -> None:
    purse = Purse(100.0)
    answer = await Model(there.access(price=(2_000.0, 3_000.0)), purse=purse).ask(QUESTION, SCHEMA)
    assert answer.cost == purse.spent == pytest.approx(0.005)
