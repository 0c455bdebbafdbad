"""Large groups: who sits with whom, and how two scales become one."""

from itertools import pairwise

import pytest

from judging.panels import NINE, averaged, close, joined, seated
from judging.prompt import draft
from judging.rubric import DEFAULT
from tests.judging.tries import Score, group, trajectory


def written(count: int):  # type: ignore[no-untyped-def]
    shares = (Score("checks", n / count) for n in range(count))
    return draft(group(*(trajectory(f"try {n}", scores=(s,)) for n, s in enumerate(shares))), DEFAULT)


@pytest.mark.parametrize(("count", "panels"), [(1, 1), (8, 1), (9, 2), (16, 2), (17, 3), (32, 5), (64, 9)])
def test_panels_are_small_share_two_tries_and_miss_none(count: int, panels: int) -> None:
    order = list(range(count))[::-1]
    seats = seated(written(count), order)
    assert len(seats) == panels
    assert all(len(panel) <= NINE for panel in seats)
    assert sorted(set().union(*seats)) == list(range(count))
    if panels > 1:
        assert set.intersection(*map(set, seats)) == {0, count - 1}
        assert sum(map(len, seats)) == count + 2 * (panels - 1)
    assert all(high > low for panel in seats for high, low in pairwise(panel))


def test_one_panel_is_its_own_scale() -> None:
    assert joined([{0: 0.3, 1: 0.9}]) == {0: 0.3, 1: 0.9}


def test_a_harsher_and_a_narrower_panel_are_put_on_one_scale() -> None:
    fair = {0: 0.1, 1: 0.9, 2: 0.5, 3: 0.7}
    harsh = {0: 0.0, 1: 0.6, 4: 0.3, 5: 0.45}
    values = joined([fair, harsh])
    assert values[0] == pytest.approx(0.05)
    assert values[1] == pytest.approx(0.75)
    assert values[2] == pytest.approx(values[4])
    assert values[3] == pytest.approx(values[5])


def test_close_anchors_only_shift_a_scale() -> None:
    values = joined([{0: 0.5, 1: 0.5, 2: 0.9}, {0: 0.3, 1: 0.3, 3: 0.7}])
    assert values == pytest.approx({0: 0.4, 1: 0.4, 2: 0.8, 3: 0.8})


def test_anchors_that_changed_places_do_not_turn_a_scale_around() -> None:
    values = joined([{0: 0.0, 1: 1.0, 2: 0.2, 3: 0.8}, {0: 0.6, 1: 0.4, 4: 0.2, 5: 0.8}])
    assert values[2] < values[3]
    assert values[4] < values[5]


def test_nothing_leaves_the_range_and_order_is_kept() -> None:
    for low in range(11):
        for high in range(11):
            other = {0: low / 10, 1: high / 10, 4: 0.0, 5: 0.3, 6: 1.0}
            values = joined([{0: 0.2, 1: 0.8, 2: 0.0, 3: 1.0}, other])
            assert all(0 <= value <= 1 for value in values.values())
            assert values[4] <= values[5] <= values[6]
            assert values[2] <= values[3]


def test_close_means_all_together_or_two_nearly_the_same() -> None:
    assert close({0: 0.5, 1: 0.5, 2: 0.52}, 0.05)
    assert close({0: 0.1, 1: 0.82, 2: 0.85}, 0.05)
    assert close({0: 0.7, 1: 0.7}, 0.05)
    assert not close({0: 0.1, 1: 0.9, 2: 0.9}, 0.05)
    assert not close({0: 0.85, 1: 0.9, 2: 0.0}, 0.05)
    assert not close({0: 0.5}, 0.05)
    assert not close({0: 0.5, 1: 0.5}, 0.0)


def test_two_passes_are_averaged() -> None:
    assert averaged({0: 0.2, 1: 1.0}, {1: 0.5, 0: 0.4}) == pytest.approx({0: 0.3, 1: 0.75})
