from typing import Any

import pytest

from gpu_worker.types import Ended
from judging.checks import PASSED, check
from tests.judging.tries import good, lookup, scenario, trajectory

CASES: list[tuple[dict[str, Any], float]] = [
    ({"answer_has": [["shipped"]]}, 1),
    ({"answer_has": [["lost", "shipped"]]}, 1),
    ({"answer_has": [["shipped"], ["lost"]]}, 0.5),
    ({"answer_has": [["412"]]}, 0),
    ({"answer_lacks": ["delivered"]}, 1),
    ({"answer_lacks": ["4128"]}, 0),
    ({"evidence": ["4128", "shipped"]}, 1),
    ({"evidence": ["4129"]}, 0),
    ({"calls": [{"name": "find_orders"}]}, 1),
    ({"calls": [{"name": "find_orders", "arguments": {"value": 4128}}]}, 1),
    ({"calls": [{"name": "find_orders", "arguments": {"value": "4128", "column": "Order_ID "}}]}, 1),
    ({"calls": [{"name": "find_orders", "arguments": {"value": "9"}}]}, 0),
    ({"calls": [{"name": "find_orders", "arguments": {"limit": 5}}]}, 0),
    ({"calls": [{"name": "find_customers"}]}, 0),
    (
        {"answer_has": [["shipped"]], "evidence": ["4129"], "calls": [{"name": "no"}], "answer_lacks": ["x"]},
        1 / 3,
    ),
    ({"answer_has": [["shipped"], ["4128"]], "answer_lacks": ["order"], "evidence": ["4128"]}, 1 / 3),
    ({"answer_has": [["lost"]], "answer_lacks": ["a", "b", "c", "d"], "evidence": ["4128"]}, 0.5),
]


@pytest.mark.parametrize(("expect", "share"), CASES)
def test_the_score_is_the_share_of_passed_checks(expect: dict[str, Any], share: float) -> None:
    score = check(scenario(expect), good())
    assert score is not None
    assert (score.source, score.value) == ("checks", pytest.approx(share))
    assert ("passed" in score.explanation) == (share == 1)


def test_an_answer_that_hedges_is_not_the_right_one() -> None:
    score = check(scenario(), good("Order 4128 is shipped or delivered."))
    assert score is not None
    assert score.explanation == "1 of 3 checks failed: the answer must not say “delivered”"


def test_without_expectations_there_is_no_score() -> None:
    assert check(scenario({}), good()) is None


def test_the_explanation_names_what_failed() -> None:
    score = check(scenario(), good("It was delivered."))
    assert score is not None
    assert score.explanation == ("1 of 3 checks failed: the answer does not say “shipped” or “on its way”")


@pytest.mark.parametrize(
    "ended", ["malformed_call", "unknown_tool", "too_many_turns", "context_overflow", "cut_off"]
)
def test_a_try_without_an_answer_gets_little_and_never_succeeds(ended: Ended) -> None:
    found = trajectory(*lookup("4128", "order_id: 4128; shipped"), "shipped", ended=ended)
    score = check(scenario(), found)
    assert score is not None
    assert 0 < score.value <= 0.25 < PASSED
    assert "ended without an answer" in score.explanation


def test_silence_does_not_pass_for_leaving_something_out() -> None:
    score = check(scenario({"answer_lacks": ["delivered"]}), trajectory(ended="cut_off"))
    assert score is not None and score.value == 0


def test_arguments_that_are_not_json_match_nothing() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "find_orders", "arguments": "{broken"}}
    broken = trajectory({"role": "assistant", "content": None, "tool_calls": [call]}, "done")
    score = check(scenario({"calls": [{"name": "find_orders", "arguments": {"value": "1"}}]}), broken)
    assert score is not None and score.value == 0
