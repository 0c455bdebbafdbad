"""Draws are held against a distribution, and only chance may part them."""

import math
import random

import pytest

from bench.bar import Void
from bench.chi_square import binned, follows, p_value

LOGPROBS = [math.log(p) for p in (0.5, 0.3, 0.1, *[0.1 / 50] * 50)]


def drawn(weights: list[float], count: int = 4000) -> list[int]:
    return random.Random(3).choices(range(len(weights)), weights, k=count)


def test_the_p_value_is_that_of_published_tables() -> None:
    # Upper 5 % points of chi-square with one, ten and a hundred degrees of freedom.
    for freedom, point in ((1, 3.841), (10, 18.307), (100, 124.342)):
        expected = [100.0] * (freedom + 1)
        shift = math.sqrt(point * 100 / 2)
        observed = [100 + shift, 100 - shift, *[100.0] * (freedom - 1)]
        assert p_value(observed, expected) == pytest.approx(0.05, abs=1e-4)


def test_draws_from_the_distribution_follow_it() -> None:
    assert follows("draws", drawn([math.exp(x) for x in LOGPROBS]), LOGPROBS) > 0.01


def test_draws_from_another_distribution_void_the_bar() -> None:
    warmer = [math.exp(x) ** 0.9 for x in LOGPROBS]
    with pytest.raises(Void, match="draws do not follow"):
        follows("draws", drawn(warmer), LOGPROBS)


def test_rare_ids_share_bins_and_no_draw_is_lost() -> None:
    draws = drawn([math.exp(x) for x in LOGPROBS], 1000)
    observed, expected = binned(draws, LOGPROBS)
    assert sum(observed) == 1000
    assert sum(expected) == pytest.approx(1000)
    assert min(expected) >= 10
    assert len(expected) < len(LOGPROBS)
