"""What is wrong with a tool's code before it is called: syntax, signature, types, what the sandbox lacks."""

from __future__ import annotations

from gpu_worker.tools.python.sandbox import CodeFailed, type_errors
from gpu_worker.tools.python.signature import CodeError, Problem, spec_of

MOST_PROBLEMS = 20
UNSUPPORTED = "The monty syntax parser does not yet support "


def lint(code: str) -> list[Problem]:
    """Problems by line; empty if the code can be used. Warnings do not keep it from being saved."""
    try:
        spec = spec_of(code)
    except CodeError as error:
        return [error.problem]
    warnings = [] if spec.description else [_undescribed(code)]
    try:
        found = [_problem(item) for item in type_errors(code)[:MOST_PROBLEMS]]
    except CodeFailed as error:
        found = [Problem(max(1, error.line), 1, _failure(str(error.args[0])))]
    return sorted(found + warnings, key=lambda problem: (problem.line, problem.column))


def errors(code: str) -> list[Problem]:
    """The problems that keep the code from being used."""
    return [problem for problem in lint(code) if problem.severity == "error"]


def _problem(item: dict[str, dict[str, int] | str]) -> Problem:
    where = item["location"]
    assert isinstance(where, dict)
    return Problem(where["row"], where["column"], str(item["message"]), str(item["severity"]))


def _undescribed(code: str) -> Problem:
    line = next(at for at, text in enumerate(code.splitlines(), start=1) if text.startswith("def "))
    return Problem(
        line, 1, "Say in a docstring what the function does: the agent reads it.", severity="warning"
    )


def _failure(told: str) -> str:
    """What the sandbox says, without the names of its own parts."""
    told = told.removeprefix("NotImplementedError: ")
    if not told.startswith(UNSUPPORTED):
        return told
    return f"The sandbox does not know {told.removeprefix(UNSUPPORTED)}"
