"""Tools that are played: by examples, the same every time, or by a model that remembers the try."""

import json
from collections.abc import Sequence

import pytest

from gpu_worker.tools.plans import PlanError
from gpu_worker.tools.simulated import NOT_FOUND, simulated_tool
from gpu_worker.types import Message, ToolError, ToolPlan, ToolSpec
from tests.gpu_worker.outsides import outside

SPEC = ToolSpec("weather", "The weather of a city.", {"properties": {"city": {"type": "string"}}})
EXAMPLES = [
    {"arguments": {"city": "Paris", "days": 1}, "result": "rain"},
    {"arguments": {"city": "São Paulo"}, "result": "sun"},
    {"arguments": {"city": "Oz"}, "error": "no such city"},
]


def plan(**settings: object) -> ToolPlan:
    return ToolPlan(SPEC, "simulated", {"examples": EXAMPLES, **settings})


def test_examples_answer_exactly_then_but_for_case_and_space() -> None:
    played = simulated_tool(plan(), outside(), seed=1)
    assert not played.waits
    assert played.call({"days": 1.0, "city": "Paris"}) == "rain"
    assert played.call({"city": " SÃO  paulo "}) == "sun"
    assert played.call({"city": "Paris"}) == NOT_FOUND
    with pytest.raises(ToolError, match="no such city"):
        played.call({"city": "oz"})


def test_what_is_answered_to_anything_else_can_be_said() -> None:
    assert simulated_tool(plan(otherwise="unknown place"), outside(), 1).call({}) == "unknown place"


def test_an_example_without_an_answer_is_refused() -> None:
    with pytest.raises(PlanError, match="call 1 has neither"):
        simulated_tool(plan(examples=[{"arguments": {}}]), outside(), 1)


class Player:
    """A language model that says its lines and remembers what it was shown."""

    def __init__(self, *lines: str) -> None:
        self.lines, self.asked = list(lines), list[list[Message]]()

    def ask(self, model: str, messages: Sequence[Message]) -> str:
        assert model == "some/model"
        self.asked.append(list(messages))
        return self.lines.pop(0)


def test_a_model_is_shown_what_it_said_before_in_this_try() -> None:
    player = Player("rain", "```json\n{}\n```", "sun")
    played = simulated_tool(plan(model="some/model"), outside(ask=player.ask), seed=7)
    other = simulated_tool(plan(model="some/model"), outside(ask=player.ask), seed=7)
    assert played.waits
    assert [played.call({"city": "Rom"}), played.call({"city": "Bonn"})] == ["rain", "{}"]
    assert other.call({"city": "Bonn"}) == "sun"
    first, second, fresh = player.asked
    assert [message["role"] for message in second] == ["system", "user", "assistant", "user"]
    assert second[1:3] == [
        {"role": "user", "content": '{"city":"Rom"}'},
        {"role": "assistant", "content": "rain"},
    ]
    assert fresh[0] == first[0] and len(fresh) == 2
    told = first[0]["content"]
    assert all(
        text in told for text in ("weather", "São Paulo", "no such city", json.dumps(SPEC.parameters), "7")
    )


def test_a_model_can_refuse_a_call() -> None:
    player = Player("ERROR: no such city")
    with pytest.raises(ToolError, match="^no such city$"):
        simulated_tool(plan(model="some/model"), outside(ask=player.ask), 1).call({"city": "Oz"})


def test_a_model_that_does_not_answer_is_not_remembered() -> None:
    played = simulated_tool(plan(model="some/model"), outside(), 1)
    for _ in range(2):
        with pytest.raises(ToolError, match="no language model"):
            played.call({"city": "Oz"})
