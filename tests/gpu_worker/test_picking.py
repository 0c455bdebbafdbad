"""Picking from answers: what is found, and expressions that would make much out of little."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_worker.tools.picking import LONGEST, Picker
from gpu_worker.tools.plans import PlanError
from gpu_worker.types import ToolError

ORDERS = json.dumps({"orders": [{"id": 1, "lines": [{"sku": "a", "n": 2}]}, {"id": 2, "lines": []}]})


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("", ORDERS),
        ("orders[].id", "[1, 2]"),
        ("orders[?id==`2`] | [0].id", "2"),
        ("orders[0:1].id", "[1]"),
        (
            "orders[].{id: id, lines: lines[].{sku: sku, n: n}}",
            '[{"id": 1, "lines": [{"sku": "a", "n": 2}]}, {"id": 2, "lines": []}]',
        ),
        ("join(', ', orders[].lines[].sku)", "a"),
        ("length(orders)", "2"),
        ("nothing", "null"),
    ],
)
def test_what_is_asked_for_is_found(expression: str, found: str) -> None:
    assert Picker(expression).pick(ORDERS) == found


BOMBS = {
    "choices": "|".join(["[@,@]"] * 40),
    "flattened": "|".join(["[@,@][]"] * 40),
    "objects": "|".join(["{a:@,b:@}"] * 40),
    "nested": "[@,[@,[@,[@,[@,[@,[@,[@]]]]]]]]",
    "strings": "|".join(["join('',[@,@])"] * 40),
    "separators": "join(a, b)",
    "in a function": "map(&[@,@,@,@,@,@,@,@,@,@,@], map(&[@,@,@,@,@,@,@,@,@,@,@], @))",
    "long": "a" * (LONGEST + 1),
    "deep": "!" * 990 + "a",
    "nothing": "a[",
}


@pytest.mark.parametrize("kind", BOMBS)
def test_an_expression_that_makes_much_of_little_is_refused(kind: str) -> None:
    began = time.monotonic()
    with pytest.raises(PlanError):
        Picker(BOMBS[kind])
    assert time.monotonic() - began < 20


def test_what_is_no_json_cannot_be_an_answer() -> None:
    with pytest.raises(ToolError, match="nothing can be picked"):
        Picker("&a").pick(ORDERS)


EXPRESSIONS = st.text(alphabet="ab[]{}@*|&?!<=`'\".,:()01 ", max_size=40)


def something_or_refused(expression: str, text: str) -> None:
    try:
        assert isinstance(Picker(expression).pick(text or '{"a": [{"b": 1}, "x"]}'), str)
    except (PlanError, ToolError):
        return


@given(EXPRESSIONS, st.text(max_size=20))
@settings(max_examples=500, deadline=None)
def test_any_expression_finds_something_or_is_refused(expression: str, text: str) -> None:
    something_or_refused(expression, text)


@pytest.mark.slow
@given(EXPRESSIONS, st.text(max_size=20))
@settings(max_examples=10_000, deadline=None)
def test_ten_thousand_expressions_find_something_or_are_refused(expression: str, text: str) -> None:
    something_or_refused(expression, text)
