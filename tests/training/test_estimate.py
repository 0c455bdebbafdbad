"""What is foretold of a run: from what this machine measured, or widely where it measured nothing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from gpu_worker.types import Summary
from judging import prices
from tests.conftest import MakeRun
from training.authoring.launch import estimate, measured, memory, model_size
from training.models import Agent, Errand, Run, StepMetrics, Tool
from training.runs import headline, services

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests do not depend on what else this machine does."""
    monkeypatch.setattr(estimate, "busy", lambda: 0.0)


def finish_steps(run: Run, sizes: list[float], *, token: float = 0.001, rest: float = 0.5) -> None:
    """Steps that took `rest` seconds and `token` more for each sampled token."""
    run.config = {"base_model": "embedded", "samplers": 2, "groups_per_step": 4}
    run.step = len(sizes)
    run.save()
    for step, size in enumerate(sizes, 1):
        values = {"tokens_sampled": size, "seconds": rest + token * size, "sample_seconds": token * size / 2,
                  "tries": size / 20, "groups": 5.0}  # fmt: skip
        StepMetrics.objects.create(run=run, step=step, values=values)


def width(agent: Agent) -> float:
    low, high = estimate.of(agent).seconds
    return high / low


def test_without_any_measurement_there_is_a_wide_range_that_says_so(agent: Agent) -> None:
    found = estimate.of(agent)
    low, high = found.seconds
    assert 0 < low < high and high / low > 5
    assert any("rule of thumb" in sentence for sentence in found.how)


def test_measured_steps_make_the_range_narrow_and_right(agent: Agent, run: Run) -> None:
    before = width(agent)
    finish_steps(run, [800, 1000, 1200, 1400, 1600, 2000, 2400])
    agent.config = {"steps": 10, "groups_per_step": 4, "group_size": 10, "eval_every": 0}
    low, high = estimate.of(agent).seconds
    truth = 10 * (0.5 + 0.001 * 4 * 1.25 * 10 * 20)
    assert low < truth < high and high / low < 4 < before


def test_a_line_is_drawn_only_where_steps_differ_in_size(agent: Agent, run: Run) -> None:
    finish_steps(run, [1000, 1010, 990, 1005, 995, 1000])
    speed = measured.speed(agent, "embedded", 2)
    assert speed is not None
    assert speed.rest == 0 and speed.step(1000) == pytest.approx(1.5, rel=0.02)


def test_speed_is_kept_by_base_model(agent: Agent, run: Run) -> None:
    finish_steps(run, [1000, 2000, 3000, 1000, 2000, 3000])
    assert measured.speed(agent, "embedded", 2) is not None
    assert measured.speed(agent, "Qwen/Qwen3-0.6B", 2) is None


def test_the_smoke_try_tells_how_long_tries_are_and_how_many_tie(agent: Agent) -> None:
    told = {"base_model": "embedded", "tokens": 1600, "tries": 16, "groups": 4, "tied": 2}
    Errand.objects.create(owner=agent.owner, agent=agent, kind="smoke", state="done", result=told)
    found = measured.habits(agent, "embedded")
    assert found is not None
    assert (found.tokens, found.refill, found.source) == (100, 2.0, "smoke")
    assert any("100 tokens long, says the smoke try" in sentence for sentence in estimate.of(agent).how)


def test_tries_are_counted_from_the_scenarios_there_are(agent: Agent) -> None:
    agent.config = {"steps": 10, "groups_per_step": 2, "group_size": 4, "sampling_budget": 1, "eval_every": 5}
    assert estimate.of(agent).tries == 10 * 2 * 4 + 2 * 2 + 2 * 1


def test_the_offline_judge_is_free_and_a_priced_one_is_a_range(agent: Agent) -> None:
    assert estimate.of(agent).dollars == (0, 0)
    agent.judge_model = "openai/gpt-4o-mini"
    found = estimate.of(agent)
    assert found.dollars is not None
    low, high = found.dollars
    assert 0 < low < high < 100
    assert any("questions to openai/gpt-4o-mini" in sentence for sentence in found.how)
    agent.config = {"reward": "checks"}
    assert estimate.of(agent).dollars == (0, 0)


def test_an_unknown_price_is_said_not_guessed(agent: Agent) -> None:
    agent.judge_model = "openai/some-model-nobody-knows"
    found = estimate.of(agent)
    assert found.dollars is None and found.as_json()["dollars"] is None
    assert any("Nobody here knows the price of openai/some-model" in sentence for sentence in found.how)


def test_a_tool_played_by_a_language_model_costs_money(agent: Agent) -> None:
    settings = {"description": "the stock", "model": "gpt-4o-mini"}
    Tool.objects.create(agent=agent, name="stock", kind="simulated", settings=settings)
    found = estimate.of(agent).dollars
    assert found is not None and found[0] > 0


def test_prices_stand_under_names_with_and_without_a_provider() -> None:
    bare, named = prices.price_of("gpt-4o-mini"), prices.price_of("openai/gpt-4o-mini")
    assert bare == named and bare is not None and bare.of(1_000_000, 0) == pytest.approx(0.15)
    assert prices.price_of("nobody/knows") is None


def test_the_size_of_a_model_comes_from_its_files_or_its_name() -> None:
    embedded = model_size.size_of("embedded")
    weights = Path(model_size.EMBEDDED / "model.safetensors").stat().st_size
    assert embedded is not None and embedded.parameters == pytest.approx(weights / 4, rel=0.05)
    named = model_size.size_of("Qwen/Qwen3-0.6B")
    assert named is not None and named.parameters == 0.6e9
    assert model_size.size_of("some/model") is None


@pytest.mark.parametrize(
    ("free", "fits"), [(64e9, "fits"), (3e9, "tight"), (1e9, "too_large"), (None, "unknown")]
)
def test_memory_is_held_against_what_is_free(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, free: float | None, fits: str
) -> None:
    monkeypatch.setattr(memory, "free_bytes", lambda: free)
    found = estimate.of(agent).memory
    assert found.fits == fits and found.bytes is not None and 1e9 < found.bytes < 4e9


def test_a_larger_model_takes_longer_and_more_memory(agent: Agent) -> None:
    small = estimate.of(agent)
    agent.base_model = "Qwen/Qwen3-0.6B"
    large = estimate.of(agent)
    assert large.seconds[0] > small.seconds[0]
    assert (large.memory.bytes or 0) > 2 * (small.memory.bytes or 0)


def test_a_run_keeps_its_estimate_and_the_truth_beside_it(agent: Agent) -> None:
    run = services.start_run(owner=agent.owner, agent=agent, name="first", config={}, request_id="1")
    low, high = run.estimate["seconds"]
    summary = Summary("done", 40, 5000, (low + high) / 2, None, None, "ab")
    found = headline.of(run, summary)["foretold"]
    assert (found["seconds"], found["inside"], found["truth"]["tries"]) == ([low, high], True, 5000)
    late = headline.of(run, Summary("done", 40, 5000, 2 * high, None, None, "ab"))
    assert late["foretold"]["inside"] is False


def test_a_run_of_before_has_no_estimate_to_compare(make_run: MakeRun) -> None:
    assert headline.of(make_run(), Summary("done", 1, 1, 1.0, None, None, "ab"))["foretold"] is None


def test_an_agent_of_somebody_else_teaches_this_one_nothing_but_speed(agent: Agent, other_user: User) -> None:
    theirs = Agent.objects.create(owner=other_user, name="Theirs", environment="order_desk")
    assert measured.habits(theirs, "embedded") is None


def test_estimating_loads_neither_torch_nor_litellm() -> None:
    program = (
        "import sys, django; django.setup(); from training.authoring.launch import estimate; "
        "from judging import prices; prices.price_of('gpt-4o-mini'); "
        "import json; print(json.dumps([m for m in ('torch', 'litellm') if m in sys.modules]))"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(told.stdout) == []


def test_the_run_page_shows_what_was_foretold_beside_the_truth(agent: Agent, client: Client) -> None:
    run = services.start_run(owner=agent.owner, agent=agent, name="first", config={}, request_id="1")
    client.force_login(agent.owner)
    page = client.get(reverse("run", args=[run.pk])).content.decode()
    assert "Foretold and true" in page and "as foretold" not in page
    run.summary = headline.of(run, Summary("done", 40, 5123, run.estimate["seconds"][1], None, None, "ab"))
    run.state = Run.State.DONE
    run.save()
    page = client.get(reverse("run", args=[run.pk])).content.decode()
    assert "5,123" in page and ">as foretold<" in page


def test_a_run_of_before_shows_nothing_foretold(run: Run, user: User, client: Client) -> None:
    client.force_login(user)
    assert "Foretold" not in client.get(reverse("run", args=[run.pk])).content.decode()
