"""What a step shows of its practice, the judge's part of it."""

import pytest

from gpu_worker.curriculum import Curriculum
from gpu_worker.practice import Practice, metrics
from gpu_worker.types import Group, Job, Judging, Scenario, Score, Segment, Trajectory

TASK = Scenario("s", "train", ({"role": "user", "content": "?"},))


def group(*rulers: float, judging: Judging | None) -> Group:
    tries = tuple(
        Trajectory(
            "s",
            index,
            (),
            (Segment((1,), (0.0,), (True,)),),
            "answered",
            scores=(Score("checks", 1.0), Score("ruler", value)),
            reward=value,
        )
        for index, value in enumerate(rulers)
    )
    return Group(1, 0, TASK, (), tries, judging=judging)


def shown(*groups: Group) -> dict[str, float]:
    practice = Practice(Curriculum(Job("r", "e"), [TASK]), 1, groups=list(groups), trainable=list(groups))
    return metrics(practice)


def test_what_judging_took_is_added_up_and_the_judge_has_a_mean_of_its_own() -> None:
    told = shown(
        group(0.2, 0.4, judging=Judging(2, 1, 1.5, 0.25, 100, 10)),
        group(0.6, 0.8, judging=Judging(1, 0, 1.5, 0.5, 200, 20)),
    )
    assert told["ruler"] == pytest.approx(0.5)
    assert (told["judge_calls"], told["judge_cached"], told["judge_tokens"]) == (3, 1, 330)
    assert told["judge_cost"] == 0.75


def test_one_unknown_price_leaves_the_step_s_cost_unknown() -> None:
    told = shown(group(0.2, judging=Judging(1, cost=None)), group(0.4, judging=Judging(1, cost=0.5)))
    assert "judge_cost" not in told and told["judge_calls"] == 2


def test_without_a_judge_nothing_is_told_of_one() -> None:
    assert not [name for name in shown(group(0.2, judging=None)) if name.startswith(("judge_", "ruler"))]


def test_what_the_learner_waits_for_last_is_the_judge() -> None:
    practice = Practice(Curriculum(Job("r", "e"), [TASK]), 1, sample_seconds=12.0, judge_seconds=2.0)
    for waited, sample, judge in ((0.5, 0.0, 0.5), (5.0, 3.0, 2.0), (20.0, 12.0, 2.0)):
        shown = practice.while_waiting(waited)
        assert (shown.sample_seconds, shown.judge_seconds) == (sample, judge)
