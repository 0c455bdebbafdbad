"""An authored agent's environment: fresh tools for every try, tables nobody shares, the end state checked."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from gpu_worker.environments.authored import Authored
from gpu_worker.tools.python.signature import spec_of
from gpu_worker.tools.tables import save, standard_plans
from gpu_worker.tools.tables.reading import read
from gpu_worker.types import Outside, Scenario, Tool, ToolError, ToolPlan, ToolSpec, Trajectory

SHOP = "order_id,status,city\n1001,open,Lima\n1002,open,Oslo\n1003,sent,Lima\n"


def nothing(*asked: object) -> Any:
    raise ToolError("nothing is outside")


OUTSIDE = Outside(nothing, nothing, nothing)


@pytest.fixture
def plans(tmp_path: Path) -> list[ToolPlan]:
    """The standard tools of a small table, those that write with them."""
    file = tmp_path / "orders.csv"
    file.write_text(SHOP)
    sheet = read(file, "orders.csv")
    sha256, path = save(sheet, tmp_path)
    found = standard_plans(sheet.name, sheet.columns, sha256=sha256, writes=True)
    return [ToolPlan(plan.spec, plan.kind, {**plan.settings, "path": str(path)}) for plan in found]


def named(tools: list[Tool], prefix: str) -> Tool:
    return next(tool for tool in tools if tool.spec.name.startswith(prefix))


def scenario(**expect: Any) -> Scenario:
    return Scenario("s1", "train", ({"role": "user", "content": "?"},), expect)


def tried(*calls: tuple[str, dict[str, Any]]) -> Trajectory:
    made = [
        {"id": str(at), "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for at, (name, arguments) in enumerate(calls)
    ]
    turn = {"role": "assistant", "content": "", "tool_calls": made}
    answers = [{"role": "tool", "tool_call_id": call["id"], "content": "…"} for call in made]
    return Trajectory("s1", 0, (turn, *answers), (), "answered")


def sent(environment: Authored) -> tuple[str, dict[str, Any]]:
    """The call that marks order 1001 as sent."""
    update = named(environment.tools(scenario()), "update_").spec
    columns = list(update.parameters["properties"])
    given = {"column": "order_id", "value": "1001", "change": "status", "to": "sent"}
    return update.name, dict(zip(columns, given.values(), strict=True))


def test_tries_never_see_each_others_writes(plans: list[ToolPlan]) -> None:
    environment = Authored(plans, OUTSIDE)
    first, second = environment.tools(scenario()), environment.tools(scenario())
    name, arguments = sent(environment)
    named(first, name).call(arguments)
    asked = {"column": "order_id", "value": "1001"}
    assert "status: sent" in named(first, "find_").call(asked)
    assert "status: open" in named(second, "find_").call(asked)


def test_a_try_must_leave_the_tables_as_expected(plans: list[ToolPlan]) -> None:
    environment = Authored(plans, OUTSIDE)
    call = sent(environment)
    change = {"table": "orders", "row": 1, "column": "status", "before": "open", "after": "sent"}
    right, nothing_to_do = scenario(changes=[change]), scenario(changes=[])
    done = environment.reward(right, tried(call))
    idle, meddled = environment.reward(right, tried()), environment.reward(nothing_to_do, tried(call))
    assert done and done.value == 1.0
    assert idle and idle.value == 0.0 and "1 are missing" in idle.explanation
    assert meddled and meddled.value == 0.0 and "1 too many" in meddled.explanation
    assert environment.reward(scenario(), tried(call)) is None


def test_a_refused_call_counts_for_nothing_when_it_is_made_again(plans: list[ToolPlan]) -> None:
    environment = Authored(plans, OUTSIDE)
    name, arguments = sent(environment)
    hopeless = (name, {**arguments, next(iter(arguments)): "no such column"})
    score = environment.reward(scenario(changes=[]), tried(hopeless, ("unknown_tool", {})))
    assert score and score.value == 1.0


def test_a_write_that_a_fault_stopped_does_not_count(plans: list[ToolPlan]) -> None:
    failing = [ToolPlan(plan.spec, plan.kind, plan.settings, {"error": 1.0}) for plan in plans]
    environment = Authored(failing, OUTSIDE)
    score = environment.reward(scenario(changes=[]), tried(sent(environment)))
    assert score and score.value == 1.0


def test_a_call_of_the_turn_that_ended_the_try_was_not_made(plans: list[ToolPlan]) -> None:
    environment = Authored(plans, OUTSIDE)
    made = tried(sent(environment))
    unanswered = dataclasses.replace(made, messages=made.messages[:1])
    score = environment.reward(scenario(changes=[]), unanswered)
    assert score and score.value == 1.0


def test_faults_are_the_same_for_all_tries_at_one_scenario(plans: list[ToolPlan]) -> None:
    find = next(plan for plan in plans if plan.spec.name.startswith("find_"))
    faulty = ToolPlan(find.spec, find.kind, find.settings, {"empty": 0.5})
    environment = Authored([faulty], OUTSIDE, seed=7)

    def heard() -> list[str]:
        tool = environment.tools(scenario())[0]
        return [tool.call({"column": "order_id", "value": "1002"}) for _ in range(12)]

    said = heard()
    assert said == heard()
    assert 0 < said.count("") < 12


def test_kinds_stand_side_by_side_in_the_order_of_their_plans(plans: list[ToolPlan]) -> None:
    code = "def shout(text: str) -> str:\n    '''Shout.'''\n    return text.upper()\n"
    spec = ToolSpec("weather", "", {"type": "object", "properties": {"city": {"type": "string"}}})
    played = {"examples": [{"arguments": {"city": "Oslo"}, "result": "rain"}]}
    more = [ToolPlan(spec_of(code), "python", {"code": code}), ToolPlan(spec, "simulated", played)]
    tools = Authored([*more, *plans], OUTSIDE).tools(scenario())
    assert [tool.spec.name for tool in tools][:2] == ["shout", "weather"]
    assert tools[0].call({"text": "hi"}) == "HI"
    assert tools[1].call({"city": "Oslo"}) == "rain"
    with pytest.raises(ToolError, match="the argument text is missing"):
        tools[0].call({})
