"""A reward mixed from scores and penalties, computed by hand and held to its promises."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_worker.types import Ended, Score, Trajectory
from judging import mix
from judging.mix import PENALTIES, SOURCES, NothingToMix, complaint, form, in_words, length, mixed, parts
from tests.judging.tries import good, group, lookup, trajectory

UNIT = st.floats(0, 1, allow_nan=False)
WEIGHT = st.floats(0, 100, allow_nan=False)
PARTS = st.fixed_dictionaries(
    {"ruler": UNIT}, optional={n: UNIT for n in ("checks", "environment", *PENALTIES)}
)
WEIGHTS = st.fixed_dictionaries(
    {"ruler": st.floats(0.01, 100)}, optional={n: WEIGHT for n in ("checks", "environment", *PENALTIES)}
)


@pytest.mark.parametrize(
    ("had", "weights", "value"),
    [
        ({"ruler": 0.8, "checks": 1.0}, {"ruler": 0.7, "checks": 0.3}, 0.86),
        ({"ruler": 0.8, "checks": 1.0}, {"ruler": 7, "checks": 3}, 0.86),
        ({"ruler": 0.8}, {"ruler": 0.7, "checks": 0.3}, 0.8),
        (
            {"ruler": 0.8, "checks": 0.0, "environment": 0.5},
            {"ruler": 1, "checks": 1, "environment": 2},
            0.45,
        ),
        ({"ruler": 0.8, "length": 0.5, "format": 1.0}, {"ruler": 1, "length": 0.2, "format": 0.1}, 0.6),
        ({"ruler": 0.1, "format": 1.0}, {"ruler": 1, "format": 0.5}, 0.0),
        ({"ruler": 0.8, "length": 1.0}, {"ruler": 1}, 0.8),
    ],
)
def test_the_mix_by_hand(had: dict[str, float], weights: dict[str, float], value: float) -> None:
    assert mixed(had, weights) == pytest.approx(value)


def test_it_is_said_in_words() -> None:
    had = {"ruler": 0.8, "checks": 1.0, "length": 0.25, "format": 0.0}
    said = in_words(had, {"ruler": 7, "checks": 3, "length": 0.1})
    assert said == "0.7 × RULER 0.80 + 0.3 × checks 1.00 − 0.1 × length 0.25"


def test_a_try_without_any_of_the_scores_is_refused() -> None:
    with pytest.raises(NothingToMix):
        mixed({"length": 0.1}, {"ruler": 1.0, "length": 0.5})


@given(PARTS, WEIGHTS)
def test_a_mix_stays_within_its_range(had: dict[str, float], weights: dict[str, float]) -> None:
    assert 0.0 <= mixed(had, weights) <= 1.0


@given(PARTS, WEIGHTS, st.sampled_from((*SOURCES, *PENALTIES)), UNIT)
def test_more_of_a_score_never_lowers_it_and_more_of_a_penalty_never_raises_it(
    had: dict[str, float], weights: dict[str, float], name: str, more: float
) -> None:
    if name not in had:
        return
    before, after = mixed(had, weights), mixed(had | {name: max(had[name], more)}, weights)
    if name in PENALTIES:
        assert after <= before + 1e-9
    else:
        assert after >= before - 1e-9


@given(PARTS, WEIGHTS, st.floats(0.01, 100))
def test_only_the_shares_of_the_scores_count(
    had: dict[str, float], weights: dict[str, float], factor: float
) -> None:
    positive: dict[str, float] = {name: value for name, value in weights.items() if name in SOURCES}
    scaled: dict[str, float] = {name: value * factor for name, value in positive.items()}
    assert mixed(had, scaled) == pytest.approx(mixed(had, positive), abs=1e-9)


def scored(one: Trajectory, **values: float) -> Trajectory:
    scores = tuple(Score(source, value) for source, value in values.items())  # type: ignore[arg-type]
    return replace(one, scores=scores)


def test_length_is_measured_by_the_shortest_success() -> None:
    short, long = trajectory("x" * 100), trajectory("x" * 200, index=1)
    longest, failed = trajectory("x" * 400, index=2), trajectory("x" * 10, index=3)
    tries = [scored(t, checks=1.0) for t in (short, long, longest)] + [scored(failed, checks=0.0)]
    assert [length(t) for t in tries] == [100, 200, 400, 10]
    assert [had["length"] for had in parts(group(*tries))] == [0.0, 0.5, 1.0, 0.0]


def test_without_a_success_length_is_not_looked_at() -> None:
    tries = [scored(trajectory("x" * size, index=i), checks=0.5) for i, size in enumerate((10, 1000))]
    assert [had["length"] for had in parts(group(*tries))] == [0.0, 0.0]


def test_where_nothing_is_verified_the_judge_s_favourites_are_the_successes() -> None:
    tries = [scored(trajectory("x" * 100), ruler=0.9), scored(trajectory("x" * 20, index=1), ruler=0.2)]
    assert [had["length"] for had in parts(group(*tries))] == [0.0, 0.0]
    tries[1] = scored(tries[1], ruler=0.85)
    assert [had["length"] for had in parts(group(*tries))] == [1.0, 0.0]


def test_calls_count_as_written() -> None:
    assert length(trajectory(*lookup("4128", "x" * 500), "done")) == len(
        'find_orders{"column": "order_id", "value": "4128"}done'
    )


@pytest.mark.parametrize(
    ("ended", "value"),
    [("malformed_call", 1.0), ("unknown_tool", 1.0), ("cut_off", 1.0), ("context_overflow", 1.0)],
)
def test_an_unreadable_end_is_the_whole_penalty(ended: Ended, value: float) -> None:
    assert form(trajectory("hm", ended=ended)) == value


def test_failed_calls_are_a_share_of_the_penalty() -> None:
    assert form(good()) == form(trajectory("no calls")) == 0.0
    assert form(trajectory(*lookup("1", "Error: no such column"), *lookup("2", "row"), "done")) == 0.5


def test_a_group_is_mixed_with_what_stands_behind_it() -> None:
    tries = group(
        scored(good(), ruler=0.8, checks=1.0), scored(trajectory("no", index=1), ruler=0.2, checks=0.0)
    )
    done = mix.with_mix(tries, {"ruler": 0.7, "checks": 0.3, "format": 0.1})
    assert [[s.source for s in t.scores] for t in done.trajectories] == [
        ["ruler", "checks", "format", "mix"]
    ] * 2
    assert [t.scores[-1].value for t in done.trajectories] == pytest.approx([0.86, 0.14])
    assert done.trajectories[0].scores[-1].explanation.startswith("0.7 × RULER 0.80 + 0.3 × checks 1.00")


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ({}, "neither ruler nor checks nor environment"),
        ({"length": 1.0}, "neither ruler"),
        ({"ruler": float("nan")}, "must be a number from 0 up"),
        ({"ruler": 1.0, "format": -0.1}, "must be a number from 0 up"),
        ({"ruler": 1.0, "human": 0.5}, "human cannot be a part"),
    ],
)
def test_weights_that_make_no_reward_are_told(weights: dict[str, float], says: str) -> None:
    assert says in complaint(weights)
    assert complaint({"ruler": 0.5, "length": 0.1}) == ""
