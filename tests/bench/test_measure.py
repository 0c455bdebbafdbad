"""What a bar's figures are made into: scores, the pair that counts, verdicts; what becomes of failures."""

import sys
from collections.abc import Callable
from typing import Any

import pytest

from bench import measure
from bench.bar import Bar, Command, NotRun, Pair, Setting, Void, Work


def printing(**told: Any) -> Command:
    """A side that prints that and ends."""
    return Command("tests.bench.saying", (repr(told),))


def bar(**changes: Any) -> Bar:
    facts: dict[str, Any] = {
        "id": "X1",
        "title": "a bar",
        "unit": "s",
        "must": 3.0,
        "aim": 6.0,
        "ours": lambda work, pair: printing(figure=1.0),
        "theirs": lambda work, pair, setting: printing(figure=setting.get("figure", 4.0)),
    }
    return Bar(**facts | changes)


def pairs(*figures: tuple[float, float | None]) -> list[Pair]:
    return [Pair(ours, theirs, 0.0) for ours, theirs in figures]


def test_seconds_are_better_when_smaller_and_rates_when_larger() -> None:
    seconds, rates = bar(), bar(smaller=False)
    assert measure.scores(seconds, pairs((2.0, 8.0))) == [4.0]
    assert measure.scores(rates, pairs((8.0, 2.0))) == [4.0]


def test_the_worst_pair_decides() -> None:
    assert measure.is_met(bar(), pairs((1, 3), (1, 9), (1, 9)))
    assert not measure.is_met(bar(), pairs((1, 2.9), (1, 9), (1, 9)))


def test_the_median_decides_where_the_bar_says_so() -> None:
    assert measure.is_met(bar(by="median"), pairs((1, 1), (1, 4), (1, 9)))


def test_a_share_of_the_peers_figure_must_stay_below_the_bound() -> None:
    share = bar(score="share", must=0.35)
    assert measure.worst(share, measure.scores(share, pairs((1, 4), (1, 3)))) == pytest.approx(1 / 3)
    assert measure.is_met(share, pairs((1, 4), (1, 3)))
    assert not measure.is_met(share, pairs((1, 4), (2, 5)))


@pytest.mark.parametrize(
    ("smaller", "figure", "met"), [(True, 3, True), (True, 3.1, False), (False, 3, True), (False, 2.9, False)]
)
def test_a_bar_without_a_peer_holds_our_own_figure_against_the_bound(
    smaller: bool, figure: float, met: bool
) -> None:
    assert measure.is_met(bar(theirs=None, score="own", smaller=smaller), pairs((figure, None))) is met


def test_both_sides_run_in_turn_and_the_outcome_keeps_their_figures() -> None:
    outcome = measure.measured(bar(), pairs=2, small=False, options={})
    assert outcome.state == "met"
    assert [(pair.ours, pair.theirs) for pair in outcome.pairs] == [(1.0, 4.0)] * 2


def test_the_peer_runs_at_its_best_setting() -> None:
    settings: tuple[Setting, ...] = ({"figure": 5.0}, {"figure": 2.0}, {"figure": 7.0})
    outcome = measure.measured(bar(settings=settings), pairs=1, small=False, options={})
    assert outcome.setting == {"figure": 2.0}
    assert [one["figure"] for one in outcome.tried] == [5.0, 2.0, 7.0]
    assert outcome.state == "not met"


def refusing(error: Exception) -> Callable[[Work], dict[str, Any]]:
    def gate(work: Work) -> dict[str, Any]:
        raise error

    return gate


def test_sides_that_do_not_agree_are_never_timed() -> None:
    outcome = measure.measured(bar(gate=refusing(Void("they differ"))), pairs=1, small=False, options={})
    assert (outcome.state, outcome.pairs) == ("void: they differ", ())


def test_a_peer_that_cannot_be_had_is_said_and_not_counted() -> None:
    outcome = measure.measured(bar(needs=("nobody",)), pairs=1, small=False, options={})
    assert outcome.state == "not run: requirements-peers.txt has no section [nobody]"


def test_a_setting_at_which_the_peer_fails_is_left_out() -> None:
    settings: tuple[Setting, ...] = ({"figure": "none"}, {"figure": 4.0})
    outcome = measure.measured(bar(settings=settings), pairs=1, small=False, options={})
    assert outcome.setting == {"figure": 4.0}


def test_a_side_that_hangs_is_stopped() -> None:
    with pytest.raises(NotRun, match="took more than 0.05 s"):
        measure.run(Command("tests.bench.saying", ("__import__('time').sleep(60)",), timeout=0.05))


def test_a_side_that_fails_says_so() -> None:
    with pytest.raises(NotRun, match="failed with status 1"):
        measure.run(Command("tests.bench.saying", ("nonsense(",)))


def test_what_others_use_of_the_machine_leaves_our_own_children_out() -> None:
    watch = measure.OthersLoad()
    measure.run(Command("tests.bench.saying", ("dict(figure=sum(range(3_000_000)))",)))
    own = measure._children_seconds() - watch.own
    assert own > 0
    if sys.platform == "linux":
        assert watch.cores() >= 0.0
