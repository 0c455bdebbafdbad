"""What judging cost, as a run's page, its cards and its live frames tell it."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from django.test import Client

from gpu_worker.types import GroupJudged, Judging, Report, StepDone
from tests import stories
from training.models import Run
from training.runs import budget, condition, frames
from training.runs.spending import Judged, spending
from training.templatetags.figures import fine_dollars

pytestmark = pytest.mark.django_db(transaction=True)
MakeRun = Callable[..., Run]


def costing(cost: float | None, steps: int = 4) -> Iterator[Report]:
    """A training whose judge is asked ten questions a step, of which two were answered before."""
    for report in stories.training(steps, groups=2, tries=2):
        if isinstance(report, GroupJudged):
            bill = Judging(calls=5, cached=1, seconds=1.5, cost=cost and cost / 2, prompt_tokens=900)
            report = replace(report, group=replace(report.group, judging=bill))
        if isinstance(report, StepDone):
            took = {"judge_calls": 10.0, "judge_cached": 2.0, "judge_tokens": 1800.0}
            took |= {} if cost is None else {"judge_cost": cost * report.step}
            report = replace(report, metrics=without_judge(report.metrics) | took)
        yield report


def without_judge(metrics: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in metrics.items() if not name.startswith("judge_c")}


def judged(run: Run) -> Judged | None:
    found = spending(run, list(condition.recent_steps(run).values()))
    assert found is not None
    return found.judged


def test_costs_of_steps_add_up(make_run: MakeRun) -> None:
    told = judged(stories.tell(make_run(steps=4), costing(0.004)))
    assert told is not None
    assert (told.calls, told.cached, told.tokens) == (40, 8, 7200)
    assert told.cost == pytest.approx(0.004 * 10) and told.per_step == pytest.approx(0.01)
    assert told.share_cached == 0.2 and told.unpriced_steps == 0
    assert told.curve is not None and told.curve.last == 0.016


def test_without_a_judge_nothing_is_counted(make_run: MakeRun) -> None:
    reports = [
        replace(report, metrics=without_judge(report.metrics)) if isinstance(report, StepDone) else report
        for report in stories.training(2, groups=2, tries=2)
    ]
    assert judged(stories.tell(make_run(), iter(reports))) is None


def test_the_page_names_dollars_tokens_and_what_was_not_paid_again(client: Client, make_run: MakeRun) -> None:
    run = stories.tell(make_run(steps=4), costing(0.004))
    client.force_login(run.owner)
    page = client.get(f"/runs/{run.pk}/").content.decode()
    assert "$0.04 so far, about $0.01 a step." in page
    assert "This run has no cap." in page
    assert "judged for $0.002" in page
    assert "10 questions (2 answered from before), 1,800 tokens" in page


def test_a_cap_is_shown_with_what_is_gone_of_it(client: Client, make_run: MakeRun) -> None:
    run = make_run(steps=4, config={"budget": 2.0})
    purse = budget.purse_for(run)
    assert purse.take(0.5)
    purse.settle(0.5, 0.5)
    stories.tell(run, costing(0.004))
    client.force_login(run.owner)
    page = client.get(f"/runs/{run.pk}/").content.decode()
    assert "$0.50 of $2.00 are spent on judge and simulated tools." in page


@pytest.mark.parametrize(
    ("cost", "says"),
    [(None, "Nobody here knows what this judge charges"), (0.0, "This judge costs nothing.")],
)
def test_free_and_unknown_are_told_apart(
    client: Client, make_run: MakeRun, cost: float | None, says: str
) -> None:
    run = stories.tell(make_run(steps=4), costing(cost))
    client.force_login(run.owner)
    assert says in client.get(f"/runs/{run.pk}/").content.decode()


def test_a_frame_brings_the_new_sum(make_run: MakeRun) -> None:
    run = stories.tell(make_run(steps=4), costing(0.004))
    frame = frames.frame_from(run, frames.Place(run.last_seq - 60, None, "en"))
    assert frame is not None and "#judging" in frame.text and "so far, about" in frame.text


@pytest.mark.parametrize(
    ("amount", "said"),
    [
        (None, "–"),
        (0.0, "$0.00"),
        (1.2, "$1.20"),
        (0.00412, "$0.0041"),
        (0.0000031, "$0.0000031"),
        (0.01, "$0.01"),
    ],
)
def test_small_sums_keep_two_digits(amount: float | None, said: str) -> None:
    assert fine_dollars(amount) == said
