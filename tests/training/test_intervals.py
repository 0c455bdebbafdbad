"""Intervals against published numbers."""

import pytest

from training.runs import intervals


def test_wilson_gives_newcombes_example() -> None:
    """81 of 263: Newcombe, Statistics in Medicine 17 (1998), p. 857, table I, method 3."""
    assert intervals.wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert intervals.wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)


def test_wilson_knows_nothing_of_no_tries() -> None:
    assert intervals.wilson(0, 0) == (0.0, 1.0)


def table(both: int, gained: int, lost: int, neither: int) -> list[tuple[bool, bool]]:
    return (
        [(True, True)] * both + [(False, True)] * gained + [(True, False)] * lost + [(False, False)] * neither
    )


def test_a_paired_difference_gives_newcombes_example() -> None:
    """20, 12, 2, 16: Newcombe, Statistics in Medicine 17 (1998), p. 2635, method 10."""
    found = intervals.paired_difference(table(20, 12, 2, 16))
    assert found == pytest.approx((0.0562, 0.3292), abs=5e-5)


def test_a_paired_difference_lies_around_the_observed_one() -> None:
    low, high = intervals.paired_difference(table(70, 110, 4, 16))
    assert -1 <= low < (110 - 4) / 200 < high <= 1
    assert intervals.paired_difference(table(50, 0, 0, 50)) == pytest.approx((0, 0), abs=0.06)
    assert intervals.paired_difference([]) == (-1.0, 1.0)
