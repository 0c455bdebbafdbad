"""A real run's evaluations are the very tries a comparison would play, and a process of its own plays."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from judging.spending import Purse
from tests.gpu_worker import small_run
from tests.tiny_model import build
from training.authoring.office import errands
from training.models import Agent, Comparison, ComparisonTry, Run, Scenario
from training.review.compare import errand as comparing
from training.review.compare import playing, services
from training.review.compare.report import Report
from training.review.compare.services import Wanted
from training.runs import lease, worker
from training.runs import services as runs

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

KNOBS = {
    "steps": 1, "groups_per_step": 2, "group_size": 2, "max_turns": 1, "max_tokens": 8, "max_context": 256,
    "lora_rank": 4, "lora_alpha": 8.0, "eval_every": 0, "eval_scenarios": 4, "val_scenarios": 0, "seed": 11,
    "samplers": 0, "reward": "environment",
}  # fmt: skip


@pytest.fixture
def trained(user: User, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of one step with a tiny model, through lease, worker, loop and recorder."""
    model = build(tmp_path_factory.mktemp("models") / "tiny-llama")
    job = small_run.small_job(Path("unused"))
    agent = Agent.objects.create(owner=user, name="Small", environment=job.environment, base_model=str(model))
    Scenario.objects.bulk_create(
        Scenario(agent=agent, key=s.id, split=s.split, messages=list(s.messages), expect=s.expect)
        for s in job.scenarios
    )
    run = runs.start_run(owner=user, agent=agent, name="small", config=KNOBS, request_id="small")
    claimed = lease.claim(run.pk)
    assert claimed is not None
    worker.work(claimed)
    run.refresh_from_db()
    assert run.state == "done", run.error
    return run


def compared(run: Run, request_id: str, **changes: Any) -> Comparison:
    wanted = Wanted(**{"own": ["base", "step-1"], "count": 6} | changes)
    return services.start(owner=run.owner, run=run, wanted=wanted, request_id=request_id)


def played(comparison: Comparison, monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], dict[str, Any]]:
    lines: list[Any] = []
    monkeypatch.setattr(playing, "tell", lambda **what: lines.append(json.loads(json.dumps(what))))
    playing.played(Comparison.objects.get(pk=comparison.pk), Purse())
    tries = [line["try"] for line in lines if "try" in line]
    for told in tries:
        services.store(comparison, told)
    return {(told["contender"], told["scenario_key"]): told for told in tries}


def test_recorded_tries_are_the_tries_a_comparison_plays(
    trained: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = compared(trained, "taken over")
    recorded = {(row.contender, row.scenario_key): row for row in made.tries.all()}
    assert len(recorded) == 8  # the run measured 4 of its 6 unseen scenarios, twice
    fresh = played(made, monkeypatch)
    assert len(fresh) == 4 and not set(fresh) & set(recorded)
    ComparisonTry.objects.filter(comparison=made).delete()
    again = played(made, monkeypatch)
    for place, row in recorded.items():
        assert again[place]["messages"] == row.messages
        assert (again[place]["reward"], again[place]["tokens"]) == (row.reward, row.tokens)
    report = Report(made)
    assert [column.missing for column in report.columns] == [0, 0]
    assert all(column.seconds for column in report.columns)


def test_the_process_that_plays_tells_what_is_wrong(trained: Run) -> None:
    """The database of tests is not the process's: it finds no such comparison, and dies."""
    made = compared(trained, "through a process", temperature=0.5)
    assert made.errand is not None
    taken = errands.take(made.errand.pk)
    assert taken is not None
    with pytest.raises(errands.Failed, match="ended unexpectedly: .+"):
        comparing.compare(errands.Doing(taken))
