"""The exponent with which one quantity grows with another."""

import pytest

from bench.slope import slope


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0])
def test_a_power_law_has_its_exponent(exponent: float) -> None:
    assert slope([(x, 3 * x**exponent) for x in (1, 2, 4, 8)]) == pytest.approx(exponent)


def test_one_x_has_no_slope() -> None:
    with pytest.raises(ValueError, match="two different x"):
        slope([(2, 1), (2, 3)])
