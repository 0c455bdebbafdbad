"""A person's scores become rewards in the next step: once, and again for a step that is played again."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth.models import User
from django.db import connection

from gpu_worker.types import Report, StepDone
from tests import stories
from tests.training.test_worker import model, pleasable, small_runs  # noqa: F401  (fixtures)
from training.judges import human
from training.models import Group, Run, RunScenarios, Score, StepMetrics
from training.runs import corrections, lease, worker

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def told(run: Run) -> Run:
    """A run of two steps with two groups each, under way."""
    stories.tell(run, stories.training(2, groups=2, tries=2))
    known = [stories.scenario(100 * step + index) for step in (1, 2) for index in (0, 1)]
    values = [
        {"id": s.id, "split": s.split, "messages": list(s.messages), "expect": s.expect, "tags": []}
        for s in known
    ]
    RunScenarios.objects.filter(run=run).update(values=values)
    return Run.objects.get(pk=run.pk)


def group(run: Run, step: int, index: int = 0) -> Group:
    return Group.objects.get(run=run, label="train", step=step, index=index)


def scored(row: Group, place: int, value: float, use: str = "reward") -> Score:
    trajectory = row.trajectories.get(index=place)
    return human.score(
        trajectory, value=value, reason="It was kind.", author=trajectory.group.run.owner, use=use
    )


def test_a_scored_group_is_learned_from_with_the_persons_rewards_and_its_own_tokens(told: Run) -> None:
    row = group(told, 1)
    scored(row, 3, 0.05)
    scored(row, 3, 1.0)
    (found,) = corrections.claimed(told, 3)
    judged = list(row.trajectories.values_list("reward", flat=True))
    assert list(found.rewards) == [*judged[:3], 1.0, *judged[4:]]
    kept = row.trajectories.get(index=3).record.segments
    assert [list(s.ids) for s in found.trajectories[3].segments] == [s["ids"] for s in kept]
    assert (found.step, found.index, found.scenario.id) == (1, 0, row.scenario_key)


def test_it_is_learned_from_once_but_again_by_whoever_plays_that_step_again(told: Run) -> None:
    scored(group(told, 1), 0, 0.5)
    first = corrections.claimed(told, 3)
    assert corrections.claimed(told, 3) == first
    assert corrections.claimed(told, 4) == ()
    scored(group(told, 2), 0, 0.5)
    assert [g.step for g in corrections.claimed(told, 4)] == [2]
    assert set(Score.objects.filter(source="human").values_list("learned_step", flat=True)) == {3, 4}


def test_what_was_withdrawn_is_for_calibration_or_is_not_over_yet_is_left_alone(told: Run) -> None:
    human.withdraw(scored(group(told, 1), 0, 0.5))
    scored(group(told, 1, 1), 0, 0.5, use="calibration")
    scored(group(told, 2), 0, 0.5)
    assert corrections.claimed(told, 2) == ()


def a_person_scores(run_id: int) -> None:
    row = Group.objects.filter(run=run_id, label="train", step=2).earliest("index")
    user = User.objects.get(runs=run_id)
    for place, trajectory in enumerate(row.trajectories.all()):
        human.score(trajectory, value=place % 2, reason="", author=user, use="reward")
    connection.close()


def test_a_run_under_way_learns_from_a_person(small_runs: Iterator[Run], pleasable: None) -> None:  # noqa: F811
    run = next(small_runs)
    claimed = lease.claim(run.pk)
    assert claimed

    def score_after_two(report: Report) -> None:
        if isinstance(report, StepDone) and report.step == 2:
            with ThreadPoolExecutor() as somebody:  # as the page would, in another process
                somebody.submit(a_person_scores, run.pk).result()

    worker.work(claimed, watch=score_after_two)
    run.refresh_from_db()
    assert run.state == "done", run.error
    learned = {
        row.step: row.values["corrected_groups"]
        for row in StepMetrics.objects.filter(run=run)
        if "corrected_groups" in row.values
    }
    assert learned in ({3: 1.0}, {4: 1.0})
    assert set(Score.objects.filter(source="human").values_list("learned_step", flat=True)) == set(learned)
