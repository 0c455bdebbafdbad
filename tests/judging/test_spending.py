"""What answers cost, and the purse that says no before its limit is passed."""

import asyncio
import multiprocessing
import pickle
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from judging import offline
from judging.llm import Model, NoAnswer, Refused, price_of
from judging.prompt import SCHEMA
from judging.spending import BudgetSpent, Purse
from judging.till import ANSWER_TOKENS
from tests.judging.provider import Provider, provider, refusal

PRICED = "openai/gpt-4.1-mini"
QUESTION = [{"role": "user", "content": "Hello?"}]
MOST = price_of(PRICED, 1, ANSWER_TOKENS) or 0.0
"""Dollars that one answer may cost at most, but for the few tokens of the question."""


def answer(prompt_tokens: int = 1000, answer_tokens: int = 500) -> web.Response:
    usage = {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": answer_tokens,
        "total_tokens": prompt_tokens + answer_tokens,
    }
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "fine"}}
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return web.json_response(body | {"usage": usage})


@pytest_asyncio.fixture
async def there() -> AsyncIterator[Provider]:
    async with provider() as scripted:
        scripted.script = lambda body: answer()
        yield scripted


def model(there: Provider, purse: Purse, name: str = PRICED, **options: Any) -> Model:
    return Model(there.access(model=name), purse=purse, **{"back_off": 0.001, "timeout": 60.0} | options)


async def test_an_answer_costs_what_its_tokens_cost(there: Provider) -> None:
    purse = Purse()
    assert await model(there, purse).complete(QUESTION) == "fine"
    assert purse.spent == price_of(PRICED, 1000, 500) == pytest.approx(1000 * 0.4e-6 + 500 * 1.6e-6)
    assert purse.unpriced == 0


async def test_an_answer_of_unknown_price_is_counted_as_such(there: Provider) -> None:
    purse = Purse()
    await model(there, purse, "openai/scripted").complete(QUESTION)
    assert price_of("openai/scripted", 10, 10) is None
    assert price_of("nonsense", 10, 10) is None
    assert (purse.spent, purse.unpriced) == (0.0, 1)


async def test_the_offline_judge_is_free_and_needs_no_budget() -> None:
    purse = Purse(0.000001)
    await Model(offline.MODEL, purse=purse).complete(QUESTION)
    assert price_of(offline.MODEL, 10**9, 10**9) == 0.0
    assert (purse.spent, purse.unpriced) == (0.0, 0)


async def test_a_question_that_might_pass_the_limit_is_not_asked(there: Provider) -> None:
    purse = Purse(3 * MOST)
    judge = model(there, purse)
    with pytest.raises(BudgetSpent, match=r"The budget of \$0\.04 is used up"):
        for _ in range(1000):
            await judge.ask(QUESTION, SCHEMA)
    assert 3 < len(there.asked) < 1000
    assert 2 * MOST - 0.002 < purse.spent <= purse.limit


async def test_questions_at_once_do_not_pass_the_limit_together(there: Provider) -> None:
    there.pause = 0.02
    there.script = lambda body: answer(10, ANSWER_TOKENS)
    purse = Purse(4.5 * MOST)
    judge = model(there, purse)
    ended = await asyncio.gather(*(judge.complete(QUESTION) for _ in range(12)), return_exceptions=True)
    assert ended.count("fine") == len(there.asked) == 4
    assert sum(isinstance(one, BudgetSpent) for one in ended) == 8
    assert purse.spent <= purse.limit


async def test_a_question_waits_for_what_others_have_reserved(there: Provider) -> None:
    there.pause = 0.02
    judge = model(there, Purse(1.5 * MOST))
    assert await asyncio.gather(*(judge.complete(QUESTION) for _ in range(3))) == ["fine"] * 3
    assert there.most_busy == 1


async def test_a_budget_cannot_be_kept_for_a_model_of_unknown_price(there: Provider) -> None:
    with pytest.raises(Refused, match=r"price of openai/scripted.*budget of \$5\.00 cannot be kept"):
        await model(there, Purse(5.0), "openai/scripted").complete(QUESTION)
    assert there.asked == []


async def test_only_a_limited_purse_bounds_the_answer(there: Provider) -> None:
    await model(there, Purse()).complete(QUESTION)
    await model(there, Purse(1.0)).complete(QUESTION)
    assert [body.get("max_tokens") for body in there.asked] == [None, ANSWER_TOKENS]


async def test_an_error_is_free_and_silence_is_paid_in_full(there: Provider) -> None:
    broken, silent = Purse(1.0), Purse(1.0)
    there.script = lambda body: refusal(500, "broken")
    with pytest.raises(NoAnswer):
        await model(there, broken, attempts=2).complete(QUESTION)
    there.pause = 30
    with pytest.raises(NoAnswer):
        await model(there, silent, attempts=2, timeout=0.5).complete(QUESTION)
    assert broken.spent == 0.0
    assert silent.spent == pytest.approx(2 * MOST, rel=0.01)


async def test_any_schema_can_be_asked_for_by_its_name(there: Provider) -> None:
    schema = {"type": "object", "properties": {"tasks": {"type": "array"}}}
    await model(there, Purse()).ask(QUESTION, schema, name="tasks", temperature=0.7)
    (body,) = there.asked
    assert body["response_format"]["json_schema"] == {"name": "tasks", "schema": schema, "strict": True}
    assert body["temperature"] == 0.7


def test_a_ledger_is_remembered(tmp_path: Path) -> None:
    first = Purse(1.0, tmp_path / "ledger")
    assert first.take(0.5)
    first.settle(0.5, 0.25)
    assert first.take(0.5)  # and dies
    again = Purse(1.0, tmp_path / "ledger")
    assert again.spent == 0.25
    assert again.take(0.25) and not again.take(0.01)
    with pytest.raises(BudgetSpent, match=r"\$0\.2500 are spent, \$0\.7500 .*cost \$0\.8000"):
        again.take(0.8)


def test_processes_share_one_ledger(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    context = multiprocessing.get_context("spawn")
    shoppers = [context.Process(target=spend_all, args=(ledger,)) for _ in range(3)]
    for shopper in shoppers:
        shopper.start()
    for shopper in shoppers:
        shopper.join()
    purse = Purse(1.0, ledger)
    assert [shopper.exitcode for shopper in shoppers] == [0, 0, 0]
    assert (purse.spent, purse.unpriced) == (1.0, 0)
    assert len(ledger.read_bytes()) == 75


def spend_all(ledger: Path) -> None:
    """Cents, until there are none."""
    purse = Purse(1.0, ledger)
    while True:
        try:
            if purse.take(0.01):
                purse.settle(0.01, 0.01)
        except BudgetSpent:
            return


def test_the_refusal_travels_between_processes() -> None:
    refusal = Purse(1.0).give_up(2.0)
    again = pickle.loads(pickle.dumps(refusal))
    assert isinstance(again, BudgetSpent) and str(again) == str(refusal)
