"""How often scenarios were solved, from the groups that runs left behind."""

from collections.abc import Callable

import pytest

from gpu_worker import curriculum
from training.authoring.studio.solve_rate import LABELS, LATEST, USEFUL, Rate, rates_of
from training.models import Agent, Group, Run

pytestmark = pytest.mark.django_db
MakeRun = Callable[..., Run]


def played(run: Run, key: str, tries: int, successes: int, label: str = "train", index: int = 0) -> None:
    Group.objects.create(
        run=run, label=label, split="train", step=1, index=index, scenario_key=key, prompt="?", tries=tries,
        successes=successes, mean_reward=0, best_reward=0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("tries", "successes", "verdict"),
    [
        (0, 0, "untried"),
        (1, 1, "few"),
        (3, 0, "few"),
        (2, 1, "useful"),
        (8, 4, "useful"),
        (10, 1, "useful"),
        (8, 8, "easy"),
        (20, 19, "easy"),
        (4, 0, "hard"),
        (20, 1, "hard"),
    ],
)
def test_the_verdict_follows_from_tries_and_successes(tries: int, successes: int, verdict: str) -> None:
    assert Rate(tries, successes).verdict == verdict


def test_useful_means_what_the_curriculum_means() -> None:
    assert USEFUL == curriculum.USEFUL


def test_baseline_and_training_are_summed_and_the_final_evaluation_is_not(agent: Agent, run: Run) -> None:
    played(run, "t1", 8, 2, index=0)
    played(run, "t1", 8, 4, index=1)
    played(run, "e1", 1, 1, label="baseline")
    played(run, "e1", 1, 1, label="trained")
    played(run, "v1", 1, 1, label="validation")
    assert set(LABELS) == {"baseline", "train"}
    assert rates_of(agent) == {"t1": Rate(16, 6), "e1": Rate(1, 1)}
    assert rates_of(agent, ["e1", "unknown"]) == {"e1": Rate(1, 1)}


def test_only_the_newest_runs_count(agent: Agent, make_run: MakeRun) -> None:
    for number in range(LATEST + 2):
        played(make_run(f"r-{number}"), "t1", 8, 8 if number < 2 else 0)
    assert rates_of(agent)["t1"] == Rate(8 * LATEST, 0)


def test_other_agents_do_not_count(agent: Agent, run: Run) -> None:
    played(run, "t1", 8, 4)
    other = Agent.objects.create(owner=agent.owner, name="Another", environment="order_desk")
    assert rates_of(other) == {}


def test_it_costs_one_query(agent: Agent, run: Run, django_assert_num_queries: Callable[..., object]) -> None:
    for index in range(20):
        played(run, f"k{index}", 8, 4, index=index)
    with django_assert_num_queries(1):  # type: ignore[attr-defined]
        assert len(rates_of(agent)) == 20
