"""A draft by a language model. Its answer is checked piece by piece; what does not fit is left out."""

import asyncio
import json
import re
from collections.abc import Sequence
from typing import Any

from gpu_worker.types import Message
from judging.llm import Model
from judging.spending import Purse
from training.authoring.guide.drafting.everyday_tools import texts_schema
from training.authoring.guide.drafting.proposal import Proposal
from training.authoring.toolbox.tools import Draft
from training.judges import providers
from training.models import LIVING, Agent
from training.runs.rows import clean

MOST_DOLLARS = 0.5
"""What one draft may cost at most."""
LONGEST = 4000
LONGEST_THEME = 120
MOST_TOOLS, MOST_PARAMETERS, MOST_EXAMPLES, MOST_THEMES = 5, 6, 8, 10
NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")

_TEXT = {"type": "string"}
_PAIR = {
    "type": "object",
    "properties": {"name": _TEXT, "description": _TEXT},
    "required": ["name", "description"],
    "additionalProperties": False,
}
_EXAMPLE = {
    "type": "object",
    "properties": {"arguments": {"type": "array", "items": _PAIR}, "result": _TEXT},
    "required": ["arguments", "result"],
    "additionalProperties": False,
}
_TOOL = {
    "type": "object",
    "properties": {
        "name": _TEXT,
        "description": _TEXT,
        "parameters": {"type": "array", "items": _PAIR},
        "examples": {"type": "array", "items": _EXAMPLE},
    },
    "required": ["name", "description", "parameters", "examples"],
    "additionalProperties": False,
}
SCHEMA = {
    "type": "object",
    "properties": {
        "system_prompt": _TEXT,
        "rubric": _TEXT,
        "tools": {"type": "array", "items": _TOOL},
        "themes": {"type": "array", "items": _TEXT},
    },
    "required": ["system_prompt", "rubric", "tools", "themes"],
    "additionalProperties": False,
}
_ASKED = """You help somebody to set up an AI agent that will be trained by practice. Write, in {language}:
- system_prompt: what the agent is told first; at most 80 words, no headings.
- rubric: what a judge who compares its tries should look at; 3 to 6 lines, each beginning with "- ".
- tools: {tools}
- themes: 5 to 8 kinds of situations its practice questions should cover, also awkward and unanswerable ones.
Answer with JSON alone: {{"system_prompt": "…", "rubric": "…", "tools": [{{"name": "small_letters", \
"description": "…", "parameters": [{{"name": "…", "description": "…"}}], "examples": [{{"arguments": \
[{{"name": "…", "description": "the value"}}], "result": "…"}}]}}], "themes": ["…"]}}"""
_NEW_TOOLS = "at most 3 simulated tools it needs, each with 3 example calls and their results as plain text."
_HAS_TOOLS = "none (an empty list): it has the tools {names} already."
LANGUAGES = {"en": "English", "zh": "Simplified Chinese"}


def propose(agent: Agent, model: str) -> Proposal:
    """Ask `model` once.

    Raises llm.NoAnswer, llm.Refused, spending.BudgetSpent or providers.NoProvider; ValueError for no JSON.
    """
    purse, access = Purse(limit=MOST_DOLLARS), providers.access_for(agent.owner, model)
    asked = asyncio.run(Model(access, purse=purse).ask(messages(agent), SCHEMA, name="draft"))
    found = read(asked.text)
    return Proposal(texts=found.texts, tools=found.tools, themes=found.themes, cost=purse.spent, by=model)


def messages(agent: Agent) -> list[Message]:
    """The question. The description is a person's own text and stands apart from what is asked."""
    names = list(agent.tools.filter(LIVING).values_list("name", flat=True))
    tools = _HAS_TOOLS.format(names=", ".join(names)) if names else _NEW_TOOLS
    asked = _ASKED.format(language=LANGUAGES.get(agent.language, "English"), tools=tools)
    return [
        {"role": "system", "content": asked},
        {"role": "user", "content": f"The agent is called “{agent.name}”. Its task:\n\n{agent.description}"},
    ]


def read(answer: str) -> Proposal:
    """The proposal in a model's answer. Raises ValueError if there is none."""
    start, end = answer.find("{"), answer.rfind("}")
    try:
        told = json.loads(answer[start : end + 1]) if start >= 0 else None
    except RecursionError:
        raise ValueError("the answer is nested too deeply") from None
    if not isinstance(told, dict):
        raise ValueError("the answer holds no JSON object")
    texts = {name: text_of(told.get(name), LONGEST) for name in ("system_prompt", "rubric")}
    tools = [tool for tool in map(_tool, _items(told.get("tools"))) if tool]
    themes = [text_of(theme, LONGEST_THEME) for theme in _items(told.get("themes"))]
    return Proposal(
        texts={name: text for name, text in texts.items() if text},
        tools=tuple({tool.name: tool for tool in tools[:MOST_TOOLS]}.values()),
        themes=tuple(dict.fromkeys(filter(None, themes)))[:MOST_THEMES],
    )


def text_of(value: object, longest: int) -> str:
    """A text of a model, clean and not too long; empty for anything else."""
    return clean(value).strip()[:longest] if isinstance(value, str) else ""


def _tool(told: object) -> Draft | None:
    if not isinstance(told, dict) or not NAME.fullmatch(str(told.get("name"))):
        return None
    pairs = _pairs(told.get("parameters"), "description")[:MOST_PARAMETERS]
    parameters = {name: says for name, says in pairs if NAME.fullmatch(name)}
    says = text_of(told.get("description"), LONGEST_THEME * 4)
    examples = [_example(example) for example in _items(told.get("examples"))[:MOST_EXAMPLES]]
    return Draft(
        kind="simulated",
        name=str(told["name"]),
        description=says,
        parameters=texts_schema(parameters, list(parameters)),
        settings={"description": says, "examples": [one for one in examples if one], "model": ""},
    )


def _example(told: object) -> dict[str, Any] | None:
    if not isinstance(told, dict) or not text_of(told.get("result"), LONGEST):
        return None
    return {
        "arguments": dict(_pairs(told.get("arguments"), "description")),
        "result": text_of(told["result"], LONGEST),
    }


def _pairs(told: object, value: str) -> list[tuple[str, str]]:
    rows = [row for row in _items(told) if isinstance(row, dict)]
    return [(text_of(row.get("name"), 64), text_of(row.get(value), LONGEST_THEME * 4)) for row in rows]


def _items(told: object) -> Sequence[Any]:
    return told if isinstance(told, list) else ()
