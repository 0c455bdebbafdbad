"""Asking a model from threads, as simulated tools do."""

import asyncio
import multiprocessing
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import pytest_asyncio

from gpu_worker.types import ToolError
from judging.asking import asking
from judging.llm import Refused
from judging.spending import Purse
from tests.judging.provider import Provider, provider, refusal

QUESTION = [{"role": "user", "content": "Hello?"}]


@pytest_asyncio.fixture
async def there() -> AsyncIterator[Provider]:
    async with provider() as scripted:
        scripted.script = lambda body: "fine"
        yield scripted


async def test_threads_ask_through_one_model(there: Provider) -> None:
    purse = Purse()
    there.pause, there.together = 0.02, 2
    ask = asking(purse, access=lambda name: there.access())
    with ThreadPoolExecutor(32) as threads:
        asked = [asyncio.wrap_future(threads.submit(ask, "openai/scripted", QUESTION)) for _ in range(40)]
        assert await asyncio.gather(*asked) == ["fine"] * 40
    assert 1 < there.most_busy <= 16
    assert purse.unpriced == 40


async def test_silence_is_an_error_of_the_tool_and_a_wrong_key_is_not(there: Provider) -> None:
    ask = asking(Purse(), access=lambda name: there.access())
    there.script = lambda body: refusal(413, "too large")
    with pytest.raises(ToolError, match="too large"):
        await asyncio.to_thread(ask, "openai/scripted", QUESTION)
    there.script = lambda body: refusal(401, "who are you")
    with pytest.raises(Refused, match="does not accept the key"):
        await asyncio.to_thread(ask, "openai/scripted", QUESTION)


async def test_a_forked_child_asks_in_a_loop_of_its_own(there: Provider) -> None:
    ask = asking(Purse(), access=lambda name: there.access())
    assert await asyncio.to_thread(ask, "openai/scripted", QUESTION) == "fine"
    child = multiprocessing.get_context("fork").Process(target=ask, args=("openai/scripted", QUESTION))
    child.start()
    await asyncio.to_thread(child.join, 120)
    assert child.exitcode == 0 and len(there.asked) == 2
