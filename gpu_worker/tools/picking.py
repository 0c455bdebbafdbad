"""Picking from JSON answers with JMESPath, without letting an expression make much out of little.

`[@, @] | [@, @] | …` doubles what it is given at every step, so how often an expression may repeat its input
is bounded before it is used; what is left cannot do more than walk through the answer.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import jmespath

from gpu_worker.tools.plans import PlanError
from gpu_worker.types import ToolError

LONGEST = 1000
"""Characters of an expression."""
MOST_REPEATS = 100
"""How often an expression may repeat its input; two nested choices of ten fields each reach it."""
LONGEST_SEPARATOR = 20


class Picker:
    """An expression, checked. Raises PlanError."""

    def __init__(self, expression: str) -> None:
        self._expression = _parsed(expression) if expression.strip() else None

    def pick(self, text: str) -> str:
        """What the expression finds in a JSON text, as JSON or, if it is a text, as it is.

        Without an expression all of it. A text that is not JSON stays what it is. Raises ToolError where
        there is nothing to pick from.
        """
        try:
            found = json.loads(text, parse_constant=_no_number)
        except (ValueError, RecursionError):
            if self._expression is not None and text:
                raise ToolError("the answer is not JSON, so nothing can be picked from it") from None
            return text
        try:
            picked = found if self._expression is None else self._expression.search(found)
            return picked if isinstance(picked, str) else json.dumps(picked, ensure_ascii=False)
        except (jmespath.exceptions.JMESPathError, RecursionError, TypeError) as error:
            raise ToolError(f"nothing can be picked from the answer ({type(error).__name__})") from None


def _parsed(expression: str) -> Any:
    if len(expression) > LONGEST:
        raise PlanError(f"What to keep may have at most {LONGEST} characters.")
    try:
        parsed = jmespath.compile(expression)
        nodes = list(_nodes(parsed.parsed))
    except (jmespath.exceptions.JMESPathError, RecursionError) as error:
        first = str(error).partition("\n")[0]
        raise PlanError(f"What to keep is not a JMESPath expression: {first}") from None
    choices = [len(node["children"]) for node in nodes if node["type"].startswith("multi_select")]
    if math.prod(choices) > MOST_REPEATS:
        raise PlanError("What to keep repeats too much of the answer; pick fewer fields.")
    if not all(_joins_shortly(node) for node in nodes if node.get("value") == "join"):
        raise PlanError(f"join needs a separator in quotes of at most {LONGEST_SEPARATOR} characters.")
    return parsed


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node["children"]:
        if isinstance(child, dict):  # a slice has numbers
            yield from _nodes(child)


def _joins_shortly(node: dict[str, Any]) -> bool:
    if node["type"] != "function_expression" or not node["children"]:
        return True
    first = node["children"][0]
    return first["type"] == "literal" and len(str(first["value"])) <= LONGEST_SEPARATOR


def _no_number(name: str) -> None:
    """NaN and Infinity are not JSON. Raises ValueError."""
    raise ValueError(f"{name} is not a number")
