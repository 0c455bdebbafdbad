"""What is practised next: rests, re-checks, replacements, and that a checkpoint can carry it all."""

import json
from collections.abc import Sequence

import pytest

from gpu_worker.curriculum import LONGEST_REST, REST, Curriculum, solve_rate
from gpu_worker.types import Group, Job, Scenario, Score, Trajectory
from tests.gpu_worker.scripted import EchoRoom

SCENARIOS = EchoRoom().scenarios("train", 6, 0)


def curriculum(**changes: object) -> Curriculum:
    return Curriculum(Job(run="r", environment="e", group_size=4, **changes), SCENARIOS)  # type: ignore[arg-type]


def group(scenario: Scenario, solved: Sequence[bool], verified: bool = True) -> Group:
    scores = (Score("checks", 1.0),) if verified else ()
    tries = tuple(
        Trajectory(scenario.id, at, (), (), "answered", scores=scores, reward=0.25, success=one)
        for at, one in enumerate(solved)
    )
    return Group(1, 0, scenario, (), tries)


def ids(scenarios: Sequence[Scenario]) -> list[str]:
    return [scenario.id for scenario in scenarios]


ALL, HALF, NONE = (True,) * 4, (True, False) * 2, (False,) * 4


def test_every_pass_takes_each_scenario_once() -> None:
    draws = curriculum()
    first, second = ids(draws.draw(6, 1)), ids(draws.draw(6, 2))
    assert sorted(first) == sorted(second) == sorted(ids(SCENARIOS))
    assert first != second


@pytest.mark.parametrize("went", [ALL, NONE])
def test_what_is_always_or_never_solved_rests_and_is_rechecked(went: tuple[bool, ...]) -> None:
    draws = curriculum()
    resting = draws.draw(1, 1)[0]
    draws.note([group(resting, went)], 1)
    for step in range(2, 2 + REST):
        assert resting.id not in ids(draws.draw(5, step))
        assert draws.resting(step) == 1
    assert resting.id in ids(draws.draw(6, 2 + REST))


def test_a_recheck_that_finds_nothing_new_doubles_the_rest_up_to_a_bound() -> None:
    draws, rests = curriculum(), []
    for step in range(1, 600, 100):
        draws.note([group(SCENARIOS[0], ALL)], step)
        rests.append(draws.known[SCENARIOS[0].id].rest)
    assert rests[:4] == [REST, 2 * REST, 4 * REST, 8 * REST]
    assert rests[-1] == LONGEST_REST


def test_a_scenario_that_became_useful_again_is_drawn_again() -> None:
    draws = curriculum()
    draws.note([group(SCENARIOS[0], ALL)], 1)
    draws.note([group(SCENARIOS[0], HALF)], 20)
    assert draws.known[SCENARIOS[0].id].rate == 0.75
    assert draws.resting(21) == 0


def test_when_all_rest_they_are_drawn_all_the_same() -> None:
    draws = curriculum()
    draws.note([group(scenario, ALL) for scenario in SCENARIOS], 1)
    assert len(draws.draw(4, 2)) == 4


def test_replacements_are_the_likeliest_to_bring_different_tries_then_fresh_ones() -> None:
    draws = curriculum()
    often, half, rarely, never, lately = SCENARIOS[:5]
    went = [
        (often, (True, True, True, False)),
        (half, HALF),
        (rarely, (True, False, False, False)),
        (never, NONE),
    ]
    draws.note([group(scenario, solved) for scenario, solved in went], 1)
    draws.note([group(lately, HALF)], 4)
    found = ids(draws.replacements(4, 5, 0.5))
    assert found[0] == half.id
    assert set(found[1:3]) == {often.id, rarely.id}, "equally useful: 1 - p^G - (1 - p)^G is symmetric"
    assert found[3] != never.id, "it rests"


def test_where_nearly_everything_is_solved_ties_are_not_replaced() -> None:
    draws = curriculum()
    draws.note([group(SCENARIOS[0], HALF)], 1)
    assert draws.replacements(3, 5, 0.95) == []
    assert len(draws.replacements(3, 5, 0.5)) == 3
    assert len(draws.replacements(3, 5, 0.0)) == 3, "where nothing is solved yet, the search goes on"


def test_without_a_curriculum_nothing_rests_and_replacements_are_the_next_in_order() -> None:
    draws, plain = curriculum(curriculum=False), curriculum(curriculum=False)
    draws.note([group(scenario, ALL) for scenario in SCENARIOS[:3]], 1)
    assert ids(draws.draw(3, 2)) + ids(draws.replacements(3, 2, 0.95)) == ids(plain.draw(6, 2))
    assert draws.resting(2) == 0


def test_the_rate_is_of_verified_success_else_the_mean_reward() -> None:
    assert solve_rate(group(SCENARIOS[0], HALF)) == 0.5
    assert solve_rate(group(SCENARIOS[0], HALF, verified=False)) == 0.25


def test_it_goes_on_from_json_as_if_nothing_had_happened() -> None:
    draws = curriculum()
    draws.draw(4, 1)
    draws.note([group(SCENARIOS[0], ALL), group(SCENARIOS[1], HALF)], 1)
    again = Curriculum.from_json(json.loads(json.dumps(draws.to_json())), draws.job, SCENARIOS)
    for step in range(2, 12):
        assert ids(draws.draw(3, step)) == ids(again.draw(3, step))
        assert ids(draws.replacements(2, step, 0.5)) == ids(again.replacements(2, step, 0.5))
    assert draws.to_json() == again.to_json()


def test_a_copy_leaves_the_original_as_it_was() -> None:
    draws = curriculum()
    before = draws.to_json()
    copy = draws.copy()
    copy.draw(3, 1)
    copy.note([group(SCENARIOS[0], ALL)], 1)
    assert draws.to_json() == before
