"""Makes a proposal checkable by running its calls: the answer is what the tools return, never what was said.

Only tools that change nothing outside are run: tables (on a copy), Python, and HTTP that only reads. What
cannot be verified is None here, and the scenario is left to the judge.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError

from gpu_worker.tools.plans import PlanError
from gpu_worker.tools.python.signature import CodeError
from gpu_worker.tools.table import NO_ROWS
from gpu_worker.tools.tables import LiveTable, TableError
from gpu_worker.types import Tool, ToolError, ToolPlan
from judging.matching import stands_in
from training.authoring.studio.proposals.reading import Proposal
from training.authoring.studio.questions.expectations import Expect, absent, holds
from training.authoring.studio.questions.tables import View
from training.authoring.studio.questions.values import ABSENT, hedges, telling

Fresh = Callable[[Sequence[ToolPlan]], tuple[list[Tool], list[LiveTable]]]
"""Makes tools for one try and tells the tables they may change."""
Calls = tuple[tuple[str, dict[str, Any]], ...]
READS = ("find", "count", "search")
MOST_ROWS = 5
_TAKEN = re.compile(r"\{\{\s*(\d)\.([^{}]{1,100})\}\}")
_CONVERTED = {"integer": int, "number": float}


class Unverified(Exception):
    """The proposal cannot be checked; the text says why, for the tests and the curious."""


@dataclass(frozen=True)
class Verified:
    """What a proposal expects, the kind of question it is, and the rows it rests on."""

    expect: Expect
    kind: str
    rows: tuple[str, ...]
    calls: Calls


class Verifier:
    """Runs plans. `views` are the tables of the agent, by the names of their find tools."""

    def __init__(self, plans: Sequence[ToolPlan], views: Sequence[View], fresh: Fresh) -> None:
        self._fresh, self._views = fresh, {view.table.sha256: view for view in views}
        self._plans = {plan.spec.name: plan for plan in plans if _harmless(plan) and _works(plan, fresh)}

    def verified(self, proposal: Proposal) -> Verified:
        """Raises Unverified."""
        if not proposal.calls:
            raise Unverified("it names no calls")
        tools, tables = self._fresh(list(self._plans.values()))
        calls, results = self._run(proposal, {tool.spec.name: tool for tool in tools})
        expect = self._expected(proposal, calls, results)
        changes = [change for table in tables for change in table.changes()]
        if changes:
            expect["changes"] = changes
        kind = _kind(calls, results, self._plans)
        return Verified(expect, kind, self._rows(calls), calls)

    def _run(self, proposal: Proposal, tools: Mapping[str, Tool]) -> tuple[Calls, list[str]]:
        made: list[tuple[str, dict[str, Any]]] = []
        results: list[str] = []
        for name, told in proposal.calls:
            plan, tool = self._plans.get(name), tools.get(name)
            if plan is None or tool is None:
                raise Unverified(f"{name[:64]} is not run here")
            arguments = {key: self._given(value, made, results) for key, value in told.items()}
            arguments = _as_schema(plan.spec.parameters, arguments)
            try:
                result = tool.call(arguments)
            except ToolError as refused:
                raise Unverified(f"{name} refused: {refused}") from None
            made.append((name, arguments))
            results.append(result)
        return tuple(made), results

    def _given(self, value: str, made: Sequence[tuple[str, Any]], results: Sequence[str]) -> str:
        """The value, with what it takes from earlier results in its place."""

        def taken(place: re.Match[str]) -> str:
            at = int(place[1]) - 1
            if not 0 <= at < len(results):
                raise Unverified("it takes a value from a call that was not made yet")
            return self.taken(made[at][0], results[at], place[2])[0]

        return _TAKEN.sub(taken, value)

    def taken(self, tool: str, result: str, field: str) -> tuple[str, str]:
        """A field of a tool's result, and the text that shows it. Raises Unverified."""
        plan = self._plans[tool]
        does = plan.settings.get("does") if plan.kind == "table" else ""
        if does == "count":
            return result.removeprefix("count: "), result
        if does:
            return _cell(result, field, plan.settings["shown"]), result
        return _field(result, field), ""

    def _expected(self, proposal: Proposal, calls: Calls, results: list[str]) -> Expect:
        if not proposal.answerable:
            return self._absence(proposal, calls, results)
        at = proposal.answer_call - 1
        if not 0 <= at < len(results):
            raise Unverified("it does not say which call holds the answer")
        answer, shown = self.taken(calls[at][0], results[at], proposal.answer_field)
        if not telling(answer) or stands_in(answer, proposal.question):
            raise Unverified("its answer says nothing, or stands in the question")
        heard = f"{proposal.question} ; {proposal.answer_field}"
        lacks = hedges(self._candidates(calls[at][0], proposal.answer_field, answer), [answer], heard)
        expect: Expect = {
            "answer_has": [[answer]],
            "answer_lacks": [*lacks, *(one for one in ABSENT if not stands_in(one, f"{heard} ; {answer}"))],
            "evidence": [shown or answer],
        }
        if not holds(expect, proposal.question, proposal.answer_field or "answer", calls, results):
            raise Unverified("the checks would not accept its own answer")
        return expect

    def _absence(self, proposal: Proposal, calls: Calls, results: list[str]) -> Expect:
        if results[-1] != NO_ROWS:
            raise Unverified("it should find nothing, and found something")
        expect = absent(calls[-1:], proposal.question, ())
        if expect is None or not holds(expect, proposal.question, "answer", calls, results):
            raise Unverified("its question says itself that there is nothing")
        return expect

    def _candidates(self, tool: str, field: str, answer: str) -> list[str]:
        plan = self._plans[tool]
        view = self._views.get(plan.settings.get("table", "")) if plan.kind == "table" else None
        if plan.settings.get("does") == "count" and answer.isdigit():
            return [str(int(answer) + step) for step in (1, 2, 3)]
        return [value for value, _ in view.values(field).most_common(12)] if view and field in view.at else []

    def _rows(self, calls: Calls) -> tuple[str, ...]:
        """The rows and values of tables that these calls look at."""
        found: dict[str, None] = {}
        for name, arguments in calls:
            plan = self._plans[name]
            view = self._views.get(plan.settings.get("table", "")) if plan.kind == "table" else None
            if view is not None:
                found |= dict.fromkeys(_looked_at(view, plan.settings["does"], arguments))
        return tuple(found)


def _looked_at(view: View, does: str, arguments: Mapping[str, Any]) -> list[str]:
    name, stored = view.table.name, view.table.stored
    if "words" in arguments:
        return [f"{name}:{row}" for row in stored.search(str(arguments["words"]), MOST_ROWS)]
    column, value = arguments.get("column"), str(arguments.get("value", ""))
    if column not in view.at:
        return []
    rows = [f"{name}:{row + 1}" for row in view.rows_with(column, value)]
    whole = [f"{name}:{column}={value.strip().casefold()}"]
    return rows if does != "count" and 0 < len(rows) <= MOST_ROWS else whole


def _harmless(plan: ToolPlan) -> bool:
    if plan.kind == "http":
        return str(plan.settings.get("method", "GET")).upper() == "GET"
    return plan.kind in ("table", "python")


def _works(plan: ToolPlan, fresh: Fresh) -> bool:
    """Whether a tool can be made of the plan at all: half-finished ones wait until they are finished."""
    try:
        fresh([plan])
    except (PlanError, TableError, CodeError, ToolError):
        return False
    return True


def _as_schema(schema: Mapping[str, Any], arguments: Mapping[str, str]) -> dict[str, Any]:
    """Arguments are told as texts; the schema says which of them are something else."""
    properties = schema.get("properties") or {}
    found: dict[str, Any] = {}
    for name, value in arguments.items():
        kind = (properties.get(name) or {}).get("type", "string")
        try:
            if kind in _CONVERTED:
                found[name] = _CONVERTED[kind](value)
            else:
                found[name] = value if kind == "string" else json.loads(value)
        except (ValueError, OverflowError, RecursionError):
            raise Unverified(f"{name} is no {kind}") from None
    return found


def _cell(result: str, field: str, shown: Sequence[str]) -> str:
    """A column of the one row a result shows."""
    if result == NO_ROWS or "\n" in result:
        raise Unverified("the result is not one row")
    column = next((name for name in shown if name.casefold() == field.strip().casefold()), None)
    if column is None:
        raise Unverified("the result has no such column")
    rest = f"; {result}".partition(f"; {column}: ")[2]
    ends = [rest.find(f"; {name}: ") for name in shown[list(shown).index(column) + 1 :]]
    return rest[: min((end for end in ends if end >= 0), default=len(rest))]


def _field(result: str, field: str) -> str:
    """A field of a result that is JSON or lines of `name: value`; all of it without a field."""
    if not field.strip():
        return result.strip()
    try:
        found = jmespath.search(field, json.loads(result))
    except (JMESPathError, ValueError, RecursionError):
        line = re.search(rf"(?im)^\W*{re.escape(field.strip())}\s*[:=]\s*(.+?)\s*$", result)
        found = line[1] if line else None
    if isinstance(found, bool) or not isinstance(found, str | int | float):
        raise Unverified("the result has no such field")
    return str(found)


def _kind(calls: Calls, results: Sequence[str], plans: Mapping[str, ToolPlan]) -> str:
    if results[-1] == NO_ROWS:
        return "missing"
    if len(calls) > 1:
        return "two_hop"
    return "count" if plans[calls[0][0]].settings.get("does") == "count" else "single"
