"""Agreement between ways of scoring: against sums by hand, and against a second way of computing it."""

import random
from collections.abc import Sequence
from math import isclose, sqrt

import pytest

from training.judges.lab import agreement
from training.judges.lab.agreement import Shown, kendall_tau_b


def by_correlation(x: Sequence[float], y: Sequence[float]) -> float | None:
    """τ-b as the correlation of the signs of all differences, both ways round (Kendall's own definition)."""
    count = len(x)
    signs = [
        ((x[a] > x[b]) - (x[a] < x[b]), (y[a] > y[b]) - (y[a] < y[b]))
        for a in range(count)
        for b in range(count)
    ]
    product = sum(p * q for p, q in signs)
    length = sqrt(sum(p * p for p, _ in signs)) * sqrt(sum(q * q for _, q in signs))
    return product / length if length else None


@pytest.mark.parametrize(
    ("x", "y", "told"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 4], 1.0),
        ([1, 2, 3, 4], [4, 3, 2, 1], -1.0),
        ([1, 2, 3, 4], [1, 3, 2, 4], 4 / 6),  # 5 alike, 1 not
        ([1, 2, 2, 3], [1, 2, 3, 3], 0.8),  # 4 alike; one tie on each side: 4 / √(5 · 5)
        ([1, 1, 2, 2], [1, 2, 1, 2], 0.0),  # 1 alike, 1 not
        ([1, 1, 1], [1, 2, 3], None),
        ([1], [1], None),
        ([], [], None),
    ],
)
def test_tau_by_hand(x: list[float], y: list[float], told: float | None) -> None:
    assert kendall_tau_b(x, y) == pytest.approx(told)


def test_tau_agrees_with_a_second_way_of_computing_it() -> None:
    dice = random.Random(7)
    for _ in range(500):
        count, grain = dice.randrange(2, 10), dice.randrange(2, 9)
        x, y = ([dice.randrange(grain) / grain for _ in range(count)] for _ in range(2))
        mine, theirs = kendall_tau_b(x, y), by_correlation(x, y)
        assert (mine is None) == (theirs is None)
        assert mine is None or theirs is None or isclose(mine, theirs, abs_tol=1e-12)
        assert mine is None or isclose(mine, kendall_tau_b(y, x) or 0.0, abs_tol=1e-12)


def test_pairs_that_both_tie_are_left_out_and_half_ties_count_half() -> None:
    assert agreement.alike([3, 2, 1], [3, 2, 1]) == (3, 3)
    assert agreement.alike([3, 2, 1], [1, 2, 3]) == (0, 3)
    assert agreement.alike([1, 1, 0], [1, 1, 0]) == (2, 2)
    assert agreement.alike([1, 1, 0], [2, 1, 0]) == (2.5, 3)


def test_only_tries_that_both_scored_are_compared() -> None:
    told = agreement.tau([({0: 1.0, 1: 0.0, 2: 5.0}, {1: 0.2, 0: 0.9, 7: 1.0})])
    assert (told.value, told.n) == (1.0, 1)


def test_groups_without_an_order_say_nothing_and_few_groups_too_little() -> None:
    tied, ordered = {0: 1.0, 1: 1.0}, {0: 1.0, 1: 0.0}
    told = agreement.tau([(tied, ordered)] * 9 + [(ordered, ordered)] * 4)
    assert (told.value, told.n, told.enough) == (1.0, 4, False)
    assert agreement.tau([(ordered, ordered)] * 5).enough
    nothing = agreement.tau([(tied, tied)])
    assert (nothing.value, nothing.low, nothing.high, nothing.n) == (None, None, None, 0)


def test_pairwise_agreement_weighs_pairs_not_groups() -> None:
    big = ({0: 3.0, 1: 2.0, 2: 1.0}, {0: 3.0, 1: 2.0, 2: 1.0})
    small = ({0: 1.0, 1: 0.0}, {0: 0.0, 1: 1.0})
    assert agreement.pairwise([big, small]).value == 3 / 4


def test_same_best_counts_what_both_put_first_of_what_either_does() -> None:
    groups = [({0: 1.0, 1: 1.0}, {0: 1.0, 1: 1.0}), ({0: 1.0, 1: 1.0}, {0: 1.0, 1: 0.5})]
    assert agreement.same_best(groups).value == 0.75


def test_the_interval_holds_the_mean_of_most_samples_and_stays_the_same() -> None:
    dice, held = random.Random(3), 0
    for _ in range(200):
        sample = [dice.gauss(0.4, 0.3) for _ in range(30)]
        told = agreement.mean(sample)
        assert told.low is not None and told.high is not None and told.value is not None
        assert told.low <= told.value <= told.high and told == agreement.mean(sample)
        held += told.low <= 0.4 <= told.high
    assert 178 <= held <= 200  # of 200: 95 % is 190, and a percentile bootstrap of 30 falls a little short


def test_the_interval_matches_a_plain_bootstrap() -> None:
    dice = random.Random(5)
    sample = [dice.random() for _ in range(25)]
    means = sorted(sum(dice.choice(sample) for _ in sample) / 25 for _ in range(4000))
    told = agreement.mean(sample)
    assert told.low == pytest.approx(means[100], abs=0.02) and told.high == pytest.approx(
        means[3899], abs=0.02
    )


@pytest.mark.parametrize("count", [1, 7, 50, 150])
def test_the_interval_is_that_of_drawing_groups_one_by_one(count: int) -> None:
    dice = random.Random(count + 1)
    groups = [(dice.random(), float(dice.randrange(1, 29))) for _ in range(count)]
    drawing = random.Random(count)
    drawn = []
    for _ in range(agreement.DRAWS):
        picked = drawing.choices(groups, k=count)
        drawn.append(sum(top for top, _ in picked) / sum(bottom for _, bottom in picked))
    drawn.sort()
    told = agreement.ratio(groups)
    assert (told.low, told.high) == (drawn[25], drawn[-26])


def test_a_judge_that_favours_early_tries_is_caught_whatever_they_are_worth() -> None:
    dice = random.Random(11)
    groups = []
    for _ in range(12):
        worth = {index: dice.random() * 0.6 for index in range(4)}
        order = dice.sample(range(4), 4)
        favour = {0: 0.2, 1: 0.1, 2: 0.0, 3: 0.0}
        shown = [
            Shown([places], {i: worth[i] + favour[p] for p, i in enumerate(places)})
            for places in (order, order[::-1])
        ]
        groups.append((shown[0], shown[1]))
    told = agreement.position_bias(groups)
    # by hand: (0.2 − 0.1, 0.1 − 0.05, 0 − 0.05, 0 − 0.1) at the four places; 0.075 − (−0.075)
    assert told.value == pytest.approx(0.15) and told.low == pytest.approx(0.15)
    assert agreement.bias_by_position(groups) == pytest.approx([0.1, 0.05, -0.05, -0.1])


def test_a_judge_that_goes_by_content_has_no_bias() -> None:
    values = {0: 0.9, 1: 0.1, 2: 0.4}
    told = agreement.position_bias([(Shown([[0, 1, 2]], values), Shown([[2, 1, 0]], values))] * 6)
    assert told.value == 0 and told.n == 6


def test_places_are_counted_panel_by_panel() -> None:
    first = Shown([[0, 1], [2, 1]], {0: 0.6, 1: 0.4, 2: 0.6})
    second = Shown([[1, 0], [1, 2]], {0: 0.4, 1: 0.6, 2: 0.4})
    assert agreement.bias_by_position([(first, second)]) == pytest.approx([0.1, -0.1])


def test_one_try_or_one_order_shows_no_bias() -> None:
    assert agreement.position_bias([(Shown([[0]], {0: 1.0}), Shown([[0]], {0: 1.0}))]).n == 0


def test_turned_pairs_name_who_was_better() -> None:
    before, after = {0: 0.9, 1: 0.5, 2: 0.5}, {0: 0.2, 1: 0.6, 2: 0.1}
    assert agreement.flipped_pairs(before, after) == [(0, 1)]
    assert agreement.flipped_pairs(before, {0: 0.2, 1: 0.2, 2: 0.2}) == []


def test_places_and_values_are_each_others_reverse() -> None:
    places = [[2], [0, 3], [1]]
    assert agreement.values_of(places) == {2: 3.0, 0: 2.0, 3: 2.0, 1: 1.0}
    assert agreement.places_of(agreement.values_of(places)) == places
    assert agreement.best(agreement.values_of(places)) == {2}
