"""What a person's function looks like from outside: its name, its parameters as a JSON schema, its words.

The code is only parsed here, never run. A file holds one function without a leading underscore, which is
the tool; others, with one, are its own.
"""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import dataclass
from typing import Any

from gpu_worker.types import ToolSpec

MOST_CODE = 20_000
"""Characters of code a tool may have."""
NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
SIMPLE = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "dict": "object"}
ARGUMENT_LINE = re.compile(r"^\s*(?::param\s+)?(\w+)\s*(?:\([^)]*\))?\s*:\s*(.+)$")


@dataclass(frozen=True)
class Problem:
    """Something to mend in the code. Lines and columns count from 1."""

    line: int
    column: int
    text: str
    severity: str = "error"


class CodeError(ValueError):
    """The code is no tool; `problem` says where and why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"line {problem.line}: {problem.text}")
        self.problem = problem


def spec_of(code: str) -> ToolSpec:
    """The tool that `code` defines. Raises CodeError."""
    function = function_in(code)
    docstring = inspect.cleandoc(ast.get_docstring(function) or "")
    told = _told_arguments(docstring)
    properties, required = {}, []
    for argument, default in _arguments(function):
        schema = _schema(argument)
        if argument.arg in told:
            schema["description"] = told[argument.arg]
        if default is None:
            required.append(argument.arg)
        else:
            schema["default"] = _constant(default)
        properties[argument.arg] = schema
    parameters = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    return ToolSpec(function.name, _description(docstring), parameters)


def function_in(code: str) -> ast.FunctionDef:
    """The one function that is the tool. Raises CodeError."""
    found = [node for node in _parsed(code).body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    public = [node for node in found if not node.name.startswith("_")]
    if not public:
        raise _error(None, "there is no function; write one, such as def price(item: str) -> str:")
    if len(public) > 1:
        raise _error(public[1], "there are several functions; let the names of those that help begin with _")
    function = public[0]
    if isinstance(function, ast.AsyncFunctionDef):
        raise _error(function, "the function must be a plain def, not async def")
    if not NAME.fullmatch(function.name):
        raise _error(function, "a tool's name has small letters, digits and underscores, 64 at most")
    return function


def _parsed(code: str) -> ast.Module:
    if len(code) > MOST_CODE:
        raise _error(None, f"the code has {len(code)} characters; {MOST_CODE} at most")
    try:
        return ast.parse(code)
    except SyntaxError as error:
        raise CodeError(Problem(error.lineno or 1, error.offset or 1, error.msg)) from None
    except (ValueError, RecursionError, MemoryError):
        raise _error(None, "the code cannot be read: it holds NUL or is nested too deeply") from None


def _arguments(function: ast.FunctionDef) -> list[tuple[ast.arg, ast.expr | None]]:
    """Each argument with its default, None where it has none."""
    given = function.args
    if given.vararg or given.kwarg or given.posonlyargs:
        raise _error(function, "*args, **kwargs and / cannot be described to an agent; name each argument")
    plain: list[ast.expr | None] = [None] * (len(given.args) - len(given.defaults))
    pairs = list(zip(given.args, [*plain, *given.defaults], strict=True))
    return pairs + list(zip(given.kwonlyargs, given.kw_defaults, strict=True))


def _schema(argument: ast.arg) -> dict[str, Any]:
    if argument.annotation is None:
        raise _error(argument, f"say what {argument.arg} is, such as {argument.arg}: str")
    found = _type(argument.annotation)
    if found is None:
        raise _error(
            argument.annotation,
            f"{ast.unparse(argument.annotation)} cannot be described; use str, int, float, bool, dict, "
            'list[…], Literal["a", "b"] or … | None',
        )
    return found


def _type(node: ast.expr) -> dict[str, Any] | None:
    """The JSON schema of an annotation; None if there is none."""
    match node:
        case ast.Name(id=name) if name in SIMPLE:
            return {"type": SIMPLE[name]}
        case ast.Name(id="list"):
            return {"type": "array"}
        case ast.Subscript(value=ast.Name(id="list"), slice=inner):
            items = _type(inner)
            return items and {"type": "array", "items": items}
        case ast.Subscript(value=ast.Name(id="dict")):
            return {"type": "object"}
        case ast.Subscript(value=ast.Name(id="Literal"), slice=inner):
            return _choices(inner)
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return _type(left)
    return None


def _choices(node: ast.expr) -> dict[str, Any] | None:
    items = node.elts if isinstance(node, ast.Tuple) else [node]
    values = [item.value for item in items if isinstance(item, ast.Constant)]
    if len(values) != len(items) or not all(isinstance(value, str) for value in values):
        return None
    return {"type": "string", "enum": values}


def _constant(node: ast.expr) -> Any:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        raise _error(node, "a default must be written out: a text, a number, True, False or None") from None
    if not isinstance(value, str | int | float | bool | None):
        raise _error(node, "a default must be a text, a number, True, False or None")
    return value


def _description(docstring: str) -> str:
    """What stands before the arguments, on one line."""
    before = re.split(r"\n\s*(?:Args|Arguments|Parameters|Returns|Raises):|\n\s*:param", docstring)[0]
    return " ".join(before.split())


def _told_arguments(docstring: str) -> dict[str, str]:
    """What the docstring says of each argument, in Google's or Sphinx's form."""
    found: dict[str, str] = {}
    section = ""
    for line in docstring.splitlines():
        heading = re.fullmatch(r"\s*(\w+):\s*", line)
        if heading:
            section = heading[1]
        said = ARGUMENT_LINE.match(line)
        if said and (section in ("Args", "Arguments", "Parameters") or ":param" in line):
            found[said[1]] = said[2].strip()
    return found


def _error(node: ast.AST | None, text: str) -> CodeError:
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1
    return CodeError(Problem(line, column, text))
