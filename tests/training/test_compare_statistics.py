"""Paired statistics against numbers worked out by hand, and against brute force."""

import itertools
import math
import random
from statistics import fmean, pstdev

import pytest

from training.review.compare.statistics import (
    MISSING,
    Result,
    bootstrap,
    holm,
    mcnemar,
    paired,
    step,
)

YES, NO = Result(True, 1.0), Result(False, 0.0)


def test_mcnemar_by_hand() -> None:
    assert mcnemar(0, 0) == 1.0
    assert mcnemar(3, 3) == 1.0
    assert mcnemar(1, 0) == 1.0
    assert mcnemar(6, 0) == pytest.approx(2 / 64)
    assert mcnemar(9, 1) == pytest.approx(2 * (1 + 10) / 1024)
    assert mcnemar(2, 8) == mcnemar(8, 2) == pytest.approx(2 * (1 + 10 + 45) / 1024)


@pytest.mark.parametrize(("wins", "losses"), [(w, n - w) for n in range(1, 13) for w in range(n + 1)])
def test_mcnemar_is_the_share_of_coin_tosses_at_least_as_lopsided(wins: int, losses: int) -> None:
    flips = wins + losses
    lopsided = abs(wins - losses)
    tosses = itertools.product((1, -1), repeat=flips)
    as_bad = sum(abs(sum(toss)) >= lopsided for toss in tosses)
    assert mcnemar(wins, losses) == pytest.approx(as_bad / 2**flips)


def test_large_counts_stay_finite() -> None:
    assert 0 <= mcnemar(3000, 2000) < 1e-30
    assert mcnemar(2500, 2500) == 1.0


def test_holm_by_hand() -> None:
    assert holm([]) == []
    assert holm([0.04]) == [0.04]
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.6]) == [1.0, 1.0]


def test_the_bootstrap_agrees_with_the_normal_approximation_where_that_holds() -> None:
    dice = random.Random(7)
    values = tuple(dice.choices([-1.0, 0.0, 1.0], weights=[1, 5, 3], k=400))
    low, high = bootstrap(values)
    half = 1.959964 * pstdev(values) / math.sqrt(len(values))
    assert low == pytest.approx(fmean(values) - half, abs=0.008)
    assert high == pytest.approx(fmean(values) + half, abs=0.008)


def test_the_bootstrap_agrees_with_every_resample_of_a_few() -> None:
    values = (-1.0, 0.0, 0.0, 1.0, 1.0)
    means = sorted(fmean(drawn) for drawn in itertools.product(values, repeat=5))
    exact = means[round(0.025 * len(means))], means[round(0.975 * len(means)) - 1]
    assert bootstrap(values) == pytest.approx(exact, abs=0.201)  # means lie 0.2 apart
    assert bootstrap(values) == bootstrap(values)


def test_many_scenarios_are_drawn_in_pieces() -> None:
    values = tuple(random.Random(1).random() for _ in range(3000))
    half = 1.959964 * pstdev(values) / math.sqrt(len(values))
    assert bootstrap(values) == pytest.approx((fmean(values) - half, fmean(values) + half), abs=0.001)


def test_the_bootstrap_of_nothing_and_of_no_difference() -> None:
    assert bootstrap(()) == (0.0, 0.0)
    assert bootstrap((0.0,) * 30) == (0.0, 0.0)


def test_wins_ties_and_losses() -> None:
    found = paired([YES, YES, NO, NO, NO], [YES, NO, YES, YES, NO])
    assert (found.wins, found.ties, found.losses) == (2, 2, 1)
    assert found.difference == pytest.approx(0.2)
    assert found.reward == pytest.approx(0.2)
    assert found.p == 1.0
    assert found.interval[0] <= 0.2 <= found.interval[1]


def test_a_missing_case_is_not_a_passing_one() -> None:
    found = paired([YES, NO, MISSING], [MISSING, MISSING, YES])
    assert (found.wins, found.ties, found.losses) == (1, 1, 1)


def test_unpaired_results_are_refused() -> None:
    with pytest.raises(ValueError):
        paired([YES], [])


def test_rewards_decide_where_nothing_can_be_checked() -> None:
    low, middle, high = Result(False, 0.3), Result(False, 0.34), Result(False, 0.9)
    assert [step(low, one, by_reward=True) for one in (low, middle, high)] == [0, 0, 1]
    assert step(high, low, by_reward=True) == -1
    found = paired([low, high], [high, high], by_reward=True)
    assert (found.wins, found.ties, found.difference) == (1, 1, pytest.approx(0.3))
