"""A budget stops a run before it is passed, is remembered, and can be raised. The provider has a price."""

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp import web
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from judging.spending import BudgetSpent, Purse
from tests.conftest import MakeRun
from tests.gpu_worker import small_run
from tests.judging import provider
from tests.tiny_model import build
from training.models import Agent, Run, Scenario, StepMetrics
from training.runs import budget, condition, lease, services, tasks

pytestmark = pytest.mark.django_db(transaction=True)

PRICED = "openai/gpt-4o-mini"
ANSWER = 0.00045
"""Dollars of one answer: 1,000 tokens asked and 500 answered."""
RESERVED = 0.0055
"""What an answer may cost at most, about."""


def paid(body: dict[str, object]) -> web.Response:
    """Scores for all tries, and a bill."""
    scores = [
        {"trajectory_id": i, "explanation": "", "score": n / 10} for n, i in enumerate(provider.frames(body))
    ]
    return web.json_response(
        {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": "gpt-4o-mini",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": json.dumps({"scores": scores})},
                }
            ],
            "usage": {"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500},
        }
    )


@pytest.fixture(scope="module")
def there() -> Iterator[provider.Provider]:
    """A provider in a thread of its own, since a worker keeps this one busy."""
    found: list[provider.Provider] = []
    ready, done = threading.Event(), threading.Event()

    async def serve() -> None:
        async with provider.provider() as there:
            there.script = paid
            found.append(there)
            ready.set()
            await asyncio.to_thread(done.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    ready.wait()
    yield found[0]
    done.set()
    thread.join()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("models") / "tiny-llama")


@pytest.fixture
def priced(user: User, model: Path, there: provider.Provider, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A queued run of two steps of three groups, judged for money, with a budget of seven answers or so."""
    monkeypatch.setenv("OPENAI_BASE_URL", there.url)
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    there.asked.clear()
    job = small_run.small_job(Path("unused"))
    agent = Agent.objects.create(
        owner=user, name="Small", environment=job.environment, base_model=str(model), judge_model=PRICED
    )
    Scenario.objects.bulk_create(
        Scenario(agent=agent, key=s.id, split=s.split, messages=list(s.messages), expect=s.expect)
        for s in job.scenarios
    )
    knobs = (
        "groups_per_step",
        "group_size",
        "max_turns",
        "max_tokens",
        "max_context",
        "lora_rank",
        "samplers",
    )
    config = {knob: getattr(job, knob) for knob in knobs} | {
        "steps": 4, "sampling_budget": 1, "eval_every": 0, "eval_scenarios": 2, "reward": "ruler",
        "budget": 3 * ANSWER + RESERVED,
    }  # fmt: skip
    return services.start_run(owner=user, agent=agent, name="priced", config=config, request_id="1")


def train(run: Run) -> Run:
    tasks.train(run.pk)
    run.refresh_from_db()
    return run


def test_the_run_pauses_before_its_cap_and_goes_on_when_it_is_raised(
    priced: Run, there: provider.Provider
) -> None:
    run = train(priced)
    assert run.state == "paused"
    assert "is used up" in run.error and "Raise the cap on this page" in run.error
    gone = budget.spent(run)
    assert 0 < gone <= run.config["budget"]
    assert gone == pytest.approx(len(there.asked) * ANSWER)
    assert 1 <= run.step < 4 and run.config["budget"] and run.error

    assert train(run).state == "paused"  # nobody resumed it
    services.resume_run(run)
    assert train(run).state == "paused" and budget.spent(run) <= run.config["budget"]

    budget.raise_to(run, 1.0)
    assert train(run).state == "done", run.error
    assert (run.step, run.error) == (4, "")
    assert gone < budget.spent(run) == pytest.approx(len(there.asked) * ANSWER)
    assert StepMetrics.objects.filter(run=run).count() == 4


def test_without_a_budget_nothing_stops_it_and_spending_is_counted(
    priced: Run, there: provider.Provider
) -> None:
    Run.objects.filter(pk=priced.pk).update(config={**priced.config, "budget": 0, "steps": 1}, steps=1)
    run = train(priced)
    assert run.state == "done", run.error
    assert budget.spent(run) == pytest.approx(len(there.asked) * ANSWER) and there.asked


def test_a_worker_that_is_killed_forgets_no_spending(make_run: MakeRun) -> None:
    run = make_run(config={"budget": 1.0})
    purse = budget.purse_for(run)
    assert purse.take(0.75)
    purse.settle(0.75, 0.6)
    again = budget.purse_for(Run.objects.get(pk=run.pk))
    assert again.spent == 0.6
    with pytest.raises(BudgetSpent):
        again.take(0.5)
    budget.ledger(run).unlink()


def rest(run: Run, limit: float = 1.0, gone: float = 0.9) -> Run:
    """As if the run had paused because its budget is used up."""
    Run.objects.filter(pk=run.pk).update(state="paused", error="used up", config={"budget": limit})
    run.refresh_from_db()
    purse: Purse = budget.purse_for(run)
    purse.take(gone)
    purse.settle(gone, gone)
    return run


def test_the_page_says_what_to_do_and_raises_the_cap(client: Client, user: User, run: Run) -> None:
    rest(run)
    client.force_login(user)
    page = client.get(reverse("run", args=[run.pk])).content.decode()
    assert "used up" in page and "Raise the cap and resume" in page
    answer = client.post(
        reverse("raise_budget", args=[run.pk]), {"budget": "2,50"}, headers={"HX-Request": "true"}
    )
    run.refresh_from_db()
    assert (run.state, run.config["budget"], run.error) == ("queued", 2.5, "")
    assert "Raise the cap and resume" not in answer.content.decode()
    budget.ledger(run).unlink()


@pytest.mark.parametrize(
    ("typed", "words"),
    [("", "such as 2.50"), ("much", "such as 2.50"), ("nan", "such as 2.50"), ("-3", "such as 2.50"),
     ("1e99", "budget must be a number from 0 to 100000"), ("0.50", "$0.90 are spent already")],
)  # fmt: skip
def test_a_cap_that_is_none_is_refused_and_what_was_typed_stays(
    client: Client, user: User, run: Run, typed: str, words: str
) -> None:
    rest(run)
    client.force_login(user)
    url = reverse("raise_budget", args=[run.pk])
    page = client.post(url, {"budget": typed}, headers={"HX-Request": "true"}).content.decode()
    assert words in page and f'value="{typed}"' in page
    run.refresh_from_db()
    assert (run.state, run.config["budget"]) == ("paused", 1.0)
    budget.ledger(run).unlink()


def test_nobody_else_raises_it_and_a_running_run_is_left_alone(
    client: Client, user: User, other_user: User, run: Run
) -> None:
    client.force_login(other_user)
    url = reverse("raise_budget", args=[run.pk])
    assert client.post(url, {"budget": "9"}).status_code == 404
    client.force_login(user)
    lease.claim(run.pk)
    page = client.post(url, {"budget": "9"}, headers={"HX-Request": "true"}).content.decode()
    assert "can be raised while the run is paused" in page


def test_the_doctor_says_when_four_fifths_are_spent(run: Run) -> None:
    purse = Purse(0.0, budget.ledger(run))
    budget.purse_for(run)
    Run.objects.filter(pk=run.pk).update(state="training", config={"budget": 1.0})
    run.refresh_from_db()
    keys = []
    for amount in (0.7, 0.15):
        purse.take(amount)
        purse.settle(amount, amount)
        keys.append([finding.key for finding in condition.diagnosis(run, {})])
    assert keys == [[], ["budget"]]
    budget.ledger(run).unlink()
