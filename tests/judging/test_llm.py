"""Reaching a model over real HTTP: refusals, retries, formats, limits."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from judging.llm import Model, NoAnswer, Refused
from judging.prompt import SCHEMA
from tests.judging.provider import Provider, provider, refusal

QUESTION = [{"role": "user", "content": "Hello?"}]


@pytest_asyncio.fixture
async def there() -> AsyncIterator[Provider]:
    async with provider() as scripted:
        scripted.script = lambda body: "fine"
        yield scripted


async def test_the_answer_is_asked_for_by_schema_at_temperature_zero(there: Provider) -> None:
    assert await there.model().ask(QUESTION, SCHEMA) == "fine"
    (body,) = there.asked
    assert body["temperature"] == 0
    assert body["response_format"]["json_schema"]["schema"] == SCHEMA


@pytest.mark.parametrize("status", [429, 500, 502, 503])
async def test_a_busy_or_broken_provider_is_asked_again(there: Provider, status: int) -> None:
    there.script = lambda body: refusal(status, "later") if len(there.asked) < 3 else "fine"
    assert await there.model().ask(QUESTION, SCHEMA) == "fine"
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
    assert await there.model().ask(QUESTION, SCHEMA) == "fine"
    assert time.monotonic() - start >= 0.4


async def test_patience_ends_with_a_sentence(there: Provider) -> None:
    there.script = lambda body: refusal(429, "too many")
    with pytest.raises(NoAnswer, match="openai/scripted did not answer: .*too many"):
        await there.model(attempts=2).ask(QUESTION, SCHEMA)
    assert len(there.asked) == 2


async def test_silence_is_given_up_and_asked_again(there: Provider) -> None:
    there.pause = 0.6
    with pytest.raises(NoAnswer, match="did not answer"):
        await there.model(timeout=0.15, attempts=2).ask(QUESTION, SCHEMA)
    assert len(there.asked) == 2


async def test_a_provider_that_refuses_the_schema_is_asked_without(there: Provider) -> None:
    def script(body: dict[str, Any]) -> Any:
        kind = body.get("response_format", {}).get("type")
        return refusal(400, f"response_format {kind} is not supported") if kind else "fine"

    there.script = script
    model = there.model()
    assert [await model.ask(QUESTION, SCHEMA) for _ in range(2)] == ["fine", "fine"]
    kinds = [body.get("response_format", {}).get("type") for body in there.asked]
    assert kinds == ["json_schema", "json_object", None, None]


async def test_a_question_refused_for_itself_does_not_change_the_format(there: Provider) -> None:
    there.script = lambda body: refusal(400, "too long") if len(body["messages"]) > 1 else "fine"
    model = there.model()
    with pytest.raises(NoAnswer, match="refused the question: .*too long"):
        await model.ask(QUESTION * 2, SCHEMA)
    assert await model.ask(QUESTION, SCHEMA) == "fine"
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
    model = Model("openai/x", api_base="http://127.0.0.1:9/v1", api_key="k", attempts=2, back_off=0.001)
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
        assert isinstance(await there.model(attempts=2).ask(QUESTION, SCHEMA), str)
    except NoAnswer as error:
        assert "openai/scripted" in str(error)


async def test_half_a_character_in_an_answer_is_replaced(there: Provider) -> None:
    there.script = lambda body: "a \ud800 b"
    assert await there.model().ask(QUESTION, SCHEMA) == "a ? b"


async def test_no_more_than_so_many_questions_are_out_at_once(there: Provider) -> None:
    there.pause = 0.03
    model = there.model(at_once=3)
    await asyncio.gather(*(model.ask(QUESTION, SCHEMA) for _ in range(12)))
    assert there.most_busy == 3
