"""The environment of an agent that a person described: its tools are made from plans, its scenarios its own.

Tables are opened once and shared; what a try changes in one is its own and gone with it. What an answer
must say is `Scenario.expect`, checked in `judging`; here is only whether the tables end as expected.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from gpu_worker.seeds import seed_for
from gpu_worker.tools.build import tools_for
from gpu_worker.types import AUTHORED, Outside, Scenario, Score, Split, Tool, ToolError, ToolPlan, Trajectory


class Authored:
    """Implements types.Environment with the tools of an authored agent."""

    name = AUTHORED
    title = "Authored"
    system_prompt = ""
    max_turns = 6

    def __init__(self, plans: Sequence[ToolPlan], outside: Outside, seed: int = 0) -> None:
        self._plans, self._outside, self._seed = tuple(plans), outside, seed

    def scenarios(self, split: Split, count: int, seed: int) -> list[Scenario]:
        """Raises ValueError: an authored agent brings its own."""
        raise ValueError("An authored agent's scenarios are made in the scenario studio.")

    def tools(self, scenario: Scenario) -> list[Tool]:
        """Fresh tools for one try; those of the same table share that try's copy of it."""
        return tools_for(self._plans, self._outside, seed=self._chance(scenario))[0]

    def reward(self, scenario: Scenario, trajectory: Trajectory) -> Score | None:
        """Whether the tables end as expected: its calls are made again on a fresh copy (as in tau-bench)."""
        if "changes" not in scenario.expect:
            return None
        made = _canonical(self._changes(scenario, trajectory))
        wanted = _canonical(scenario.expect["changes"])
        if made == wanted:
            return Score("environment", 1.0, "the tables end as expected")
        missing, extra = len(set(wanted) - set(made)), len(set(made) - set(wanted))
        return Score("environment", 0.0, f"of the table changes {missing} are missing and {extra} too many")

    def _changes(self, scenario: Scenario, trajectory: Trajectory) -> list[dict[str, Any]]:
        """Faults on purpose strike the same calls again, so a write that one stopped stays undone."""
        writing = [plan for plan in self._plans if plan.kind == "table"]
        tools, tables = tools_for(writing, self._outside, seed=self._chance(scenario))
        by_name = {tool.spec.name: tool for tool in tools}
        for name, arguments in _answered_calls(trajectory):
            if name in by_name:
                _again(by_name[name], arguments)
        return [change for table in tables for change in table.changes()]

    def _chance(self, scenario: Scenario) -> int:
        return seed_for(self._seed, f"faults {scenario.id}")


def _again(tool: Tool, arguments: dict[str, Any]) -> None:
    """A call that was refused changes nothing the second time either."""
    try:
        tool.call(arguments)
    except ToolError:
        return


def _answered_calls(trajectory: Trajectory) -> list[tuple[str, dict[str, Any]]]:
    """Calls that were made: those of a turn that ended the try got no answer."""
    answered = {message.get("tool_call_id") for message in trajectory.messages if message["role"] == "tool"}
    return [
        (call["function"]["name"], json.loads(call["function"]["arguments"]))
        for message in trajectory.messages
        for call in message.get("tool_calls") or ()
        if call["id"] in answered
    ]


def _canonical(changes: Sequence[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(change, sort_keys=True, ensure_ascii=False) for change in changes)
