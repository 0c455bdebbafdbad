"""Python tools: the schema is made from the signature, errors say the line, ten examples run."""

import os
from typing import Any

import pytest

from gpu_worker.tools.arguments import checked, complaint
from gpu_worker.tools.python.examples import EXAMPLES, Example
from gpu_worker.tools.python.lint import errors, lint
from gpu_worker.tools.python.sandbox import run
from gpu_worker.tools.python.signature import CodeError, spec_of
from gpu_worker.tools.python.tool import python_tool
from gpu_worker.types import Tool, ToolError, ToolPlan

GREET = '''
from typing import Literal

def greet(name: str, times: int = 1, mood: Literal["glad", "sad"] = "glad", tags: list[str] = None) -> str:
    """Greet somebody.
    Politely.

    Args:
        name: who it is
        times: how often
    """
    return f"{mood} hello {name} " * times
'''


def tool_of(code: str) -> Tool:
    return checked(python_tool(ToolPlan(spec_of(code), "python", {"code": code})))


def test_the_schema_comes_from_signature_and_docstring() -> None:
    spec = spec_of(GREET)
    assert (spec.name, spec.description) == ("greet", "Greet somebody. Politely.")
    assert spec.parameters["required"] == ["name"]
    assert spec.parameters["properties"] == {
        "name": {"type": "string", "description": "who it is"},
        "times": {"type": "integer", "description": "how often", "default": 1},
        "mood": {"type": "string", "enum": ["glad", "sad"], "default": "glad"},
        "tags": {"type": "array", "items": {"type": "string"}, "default": None},
    }


@pytest.mark.parametrize(
    ("code", "line", "part"),
    [
        ("", 1, "there is no function"),
        ("def f(:\n", 1, ""),
        ("def a(): pass\ndef b(): pass\n", 2, "several functions"),
        ("\nasync def f(): pass\n", 2, "async"),
        ("def F(): pass\n", 1, "small letters"),
        ("def f(x): pass\n", 1, "say what x is"),
        ("def f(*x: int): pass\n", 1, "cannot be described"),
        ("def f(x: bytes): pass\n", 1, "bytes cannot be described"),
        ("def f(x: int = len('a')): pass\n", 1, "written out"),
        ("x" * 20_001, 1, "20000 at most"),
        ("def f():\n  x = '\0'\n", 1, ""),
        ("def f(x: int = " + "(" * 300 + ")" * 300 + "): pass", 1, ""),
    ],
)
def test_code_that_is_no_tool_is_refused_with_the_line(code: str, line: int, part: str) -> None:
    with pytest.raises(CodeError) as raised:
        spec_of(code)
    assert raised.value.problem.line == line
    assert part in raised.value.problem.text


def test_lint_names_the_line_of_types_imports_and_what_the_sandbox_lacks() -> None:
    assert [
        (p.line, p.severity)
        for p in lint("import socket\ndef f(x: int) -> str:\n    '''D.'''\n    return x\n")
    ] == [
        (1, "error"),
        (4, "error"),
    ]
    unsupported = lint("def f():\n    '''Doc.'''\n    yield 1\n")
    assert [problem.line for problem in unsupported] == [3]
    assert "sandbox does not know yield" in unsupported[0].text
    undescribed = "def f() -> int:\n    return 1\n"
    assert [p.severity for p in lint(undescribed)] == ["warning"] and errors(undescribed) == []


def test_an_error_tells_the_agent_what_and_where() -> None:
    tool = tool_of("def f(x: int) -> int:\n    y = x - 1\n    return 1 // y\n")
    assert tool.call({"x": 2}) == "1"
    with pytest.raises(ToolError, match=r"ZeroDivisionError.*\(line 3\)"):
        tool.call({"x": 1})


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({}, "the argument name is missing"),
        ({"name": 1}, "name must be a text"),
        ({"name": "a", "times": True}, "times must be a whole number"),
        ({"name": "a", "mood": "mad"}, "mood must be one of glad, sad"),
        ({"name": "a", "tags": ["a", 1]}, "each of tags must be a text"),
        ({"name": "a", "color\n": 1}, "there is no argument color"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_in_a_sentence(
    arguments: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ToolError, match=complaint):
        tool_of(GREET).call(arguments)


def test_defaults_are_filled_in_and_whole_floats_are_whole_numbers() -> None:
    assert tool_of(GREET).call({"name": "Ada"}) == "glad hello Ada "
    assert complaint(spec_of(GREET).parameters, {"name": "Ada", "times": 2.0}) is None


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_an_example_is_clean_and_gives_its_answer(example: Example) -> None:
    assert lint(example.code) == []
    assert spec_of(example.code).name == example.name
    assert tool_of(example.code).call(example.arguments) == example.answer


def test_there_are_ten_examples() -> None:
    assert len({example.name for example in EXAMPLES}) == 10


def test_a_forked_process_has_a_sandbox_of_its_own() -> None:
    code = "def f():\n    return 7\n"
    assert run(code, "f", {}).text == "7"
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, run(code, "f", {}).text.encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 10) == b"7"
    assert run(code, "f", {}).text == "7", "the parent's workers went with the child"


def test_chance_repeats() -> None:
    code = "import random\ndef f():\n    return [random.random() for _ in range(3)]\n"
    assert run(code, "f", {}).text == run(code, "f", {}).text
