"""Tables for questions, and scripted agents that answer them through the real tools: well, or in bad ways."""

import json
from collections.abc import Sequence
from pathlib import Path

from gpu_worker.tools.tables import Column, Sheet, open_table, save, standard_plans, table_tool
from gpu_worker.tools.tables.kinds import kind_of
from gpu_worker.tools.tables.words import folded
from gpu_worker.types import Message, Tool, ToolPlan, Trajectory
from judging.checks import check
from training.authoring.studio.questions import Question, QuestionTable

Asked = tuple[QuestionTable, list[ToolPlan]]


def stored(name: str, columns: Sequence[str], rows: Sequence[Sequence[str]], directory: Path) -> Asked:
    """A table as an upload would store it, with its standard tools."""
    made = tuple(_column(column, [row[at] for row in rows]) for at, column in enumerate(columns))
    sha256, path = save(Sheet(name, made, tuple(map(tuple, rows))), directory)
    return QuestionTable(name, open_table(path)), standard_plans(name, made, sha256=sha256)


def _column(name: str, cells: Sequence[str]) -> Column:
    filled = [cell for cell in cells if cell]
    distinct = len({folded(cell) for cell in filled})
    longest = max(map(len, cells), default=0)
    return Column(name, kind_of(cells), distinct, len(cells) - len(filled), longest)


def tools_of(*asked: Asked) -> dict[str, Tool]:
    """The agent's tools, on copies of its own."""
    return {
        plan.spec.name: table_tool(plan, table.stored.for_one_try())
        for table, plans in asked
        for plan in plans
    }


def looked_up(question: Question, tools: dict[str, Tool]) -> list[Message]:
    """The look-ups that answer it and what the tools say to them."""
    messages: list[Message] = []
    for name, arguments in question.calls:
        function = {"name": name, "arguments": json.dumps(dict(arguments), ensure_ascii=False)}
        call = {"id": "1", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        shown = tools[name].call(dict(arguments))
        messages.append({"role": "tool", "tool_call_id": "1", "content": shown})
    return messages


def worth(question: Question, looks: Sequence[Message], answer: str) -> float:
    """What the checks give an agent that has looked so and says this."""
    messages = (*question.scenario.messages, *looks, {"role": "assistant", "content": answer})
    score = check(question.scenario, Trajectory("", 0, messages, (), "answered"))
    assert score is not None
    return score.value
