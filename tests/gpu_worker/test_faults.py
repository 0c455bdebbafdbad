"""Faults on purpose: the planned share, the same every time, and nothing is called."""

from collections import Counter

import pytest

from gpu_worker.tools.faults import suffer, with_faults
from gpu_worker.tools.plans import PlanError
from gpu_worker.types import Tool, ToolError, ToolSpec


def counting(calls: Counter[str]) -> Tool:
    def call(arguments: dict[str, object]) -> str:
        calls["made"] += 1
        return "fine"

    return Tool(ToolSpec("desk", "", {}), call)


def outcomes(shares: dict[str, float], seed: int, count: int = 1) -> list[str]:
    """What `count` calls say, and at the end how many were made."""
    calls: Counter[str] = Counter()
    tool = with_faults(counting(calls), shares, seed)
    said = []
    for _ in range(count):
        try:
            said.append(tool.call({}))
        except ToolError as error:
            said.append(str(error))
    return [*said, str(calls["made"])]


def test_the_planned_share_goes_wrong() -> None:
    said = outcomes({"timeout": 0.2, "error": 0.1, "empty": 0.05}, seed=3, count=4000)
    counted = Counter(said[:-1])
    assert counted["no answer within 10 seconds"] == pytest.approx(800, rel=0.1)
    assert counted["HTTP 500 Internal Server Error"] == pytest.approx(400, rel=0.15)
    assert counted[""] == pytest.approx(200, rel=0.25)
    assert said[-1] == str(counted["fine"])


def test_the_same_seed_makes_the_same_faults() -> None:
    shares = {"timeout": 0.3, "error": 0.3}
    first = [outcomes(shares, seed, count=20) for seed in range(5)]
    assert first == [outcomes(shares, seed, count=20) for seed in range(5)]
    assert len({tuple(said) for said in first}) == 5


def test_all_or_nothing() -> None:
    assert outcomes({"empty": 1.0}, 1, 20) == [""] * 20 + ["0"]
    assert outcomes({"timeout": 0.0}, 1, 20) == ["fine"] * 20 + ["20"]
    tool = counting(Counter())
    assert with_faults(tool, {}, 1) is tool


def test_a_fault_can_be_suffered_by_hand() -> None:
    assert suffer("empty") == ""
    with pytest.raises(ToolError, match="no answer"):
        suffer("timeout")


@pytest.mark.parametrize(
    "shares",
    [{"fire": 0.1}, {"timeout": 1.5}, {"error": -0.1}, {"empty": "x"}, {"timeout": 0.6, "error": 0.6}],
)
def test_shares_that_make_no_sense_are_refused(shares: dict[str, float]) -> None:
    with pytest.raises(PlanError):
        with_faults(counting(Counter()), shares, 1)
