"""The phrasebook: sentences that the engine room makes in English, said in the reader's language.

The engine room knows no languages. Its sentences are found in its source, as templates with a place for each
value, and stand in the catalogue like every other text. A page that shows one recognizes it by its template,
wherever it came from: an exception, another process, a row written long ago. What is not recognized, such as
the words of a library or of a provider, stays as it is.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from string import Formatter
from typing import get_args

from django.conf import settings
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from gpu_worker.tools.tables.sheet import Kind
from gpu_worker.types import Ended

ROOT = Path(__file__).resolve().parent.parent
TOLD_WITH: dict[str, set[str]] = {
    "gpu_worker/algorithms.py": set(),
    "gpu_worker/arena.py": {"Log"},
    "gpu_worker/checkpoints.py": {"Broken", "DiskFull", "append"},
    "gpu_worker/engines/embedded/*.py": {"ModelError"},
    "gpu_worker/environments/*.py": {"Score"},
    "gpu_worker/loop.py": {"Log"},
    "gpu_worker/practice.py": {"TooFewJudged"},
    "gpu_worker/rollout.py": {"ended"},
    "gpu_worker/tools/[f-s]*.py": {"PlanError", "NotAllowed"},
    "gpu_worker/tools/fetching.py": {"ToolError"},
    "gpu_worker/tools/mcp*.py": {"ToolError"},
    "gpu_worker/tools/tables/*.py": {"TableError", "_Unpaired", "add"},
    "gpu_worker/tools/python/*.py": {"Problem", "_error", "__init__"},
    "judging/*.py": {
        "NoAnswer",
        "BadAnswer",
        "JudgeFailed",
        "ControlWon",
        "BudgetSpent",
        "Unpriced",
        "__init__",
    },
    "judging/judge.py": {"ValueError"},
    "training/runs/budget.py": set(),
    "training/runs/worker.py": set(),
}
"""Where sentences for people are made, and the callables they are handed to; `add` is that of `Findings`.

What agents are told with a ToolError stays as they read it; people read it where a server is asked for its
tools.
"""
SAYING = re.compile(
    "place|_there|and_more|_failure|_?complaint|_used_up|_ending|why|_said|any_of|reason|_reasons?"
    "|_[a-z]+_(reasons?|findings)|_findings"
)
"""Functions that return or yield sentences, or parts of them."""
SENTENCES = "_SENTENCES"
"""A module's sentences by kind, with {value}."""
OWN_WORDS = {
    *("place", "there", "kind", "type", "text", "error", "msg", "sentence"),
    *("shown", "complaint", "any_of", "after", "ended", "lost", "problem", "reason"),
}
"""Values that are words of the engine room as well. All others are somebody's data."""
OF_PYTHON = (
    "invalid syntax",
    "invalid syntax. Perhaps you forgot a comma?",
    "expected ':'",
    "unexpected indent",
    "unindent does not match any outer indentation level",
    "expected an indented block after %(statement)s on line %(line)s",
    "'%(bracket)s' was never closed",
    "unmatched '%(bracket)s'",
    "unterminated string literal (detected at line %(line)s)",
    "unterminated triple-quoted string literal (detected at line %(line)s)",
    "Expecting value",
    "Expecting ',' delimiter",
    "Expecting ':' delimiter",
    "Expecting property name enclosed in double quotes",
    "Illegal trailing comma before end of %(what)s",
    "Unterminated string starting at",
    "Invalid control character at",
    "Invalid \\escape",
    "Extra data",
)
"""What Python says most often of code and of JSON."""
OF_TYPES = (
    "Name `%(name)s` used when not defined",
    "Operator `%(operator)s` is not supported between objects of type `%(one)s` and `%(other)s`",
    "Unary operator `%(operator)s` is not supported for object of type `%(found)s`",
    "Return type does not match returned value: expected `%(expected)s`, found `%(found)s`",
    "Function always implicitly returns `None`, which is not assignable to return type `%(expected)s`",
    "Function can implicitly return `None`, which is not assignable to return type `%(expected)s`",
    "Object of type `%(found)s` has no attribute `%(name)s`",
    "Object of type `%(found)s` is not assignable to `%(expected)s`",
    "Object of type `%(found)s` is not callable",
    "Object of type `%(found)s` is not iterable",
    "Cannot subscript object of type `%(found)s` with no `%(name)s` method",
    "Cannot resolve imported module `%(name)s`",
    "Module `%(module)s` has no member `%(name)s`",
    "Argument to function `%(function)s` is incorrect: Expected `%(expected)s`, found `%(found)s`",
    "Argument to bound method `%(function)s` is incorrect: Expected `%(expected)s`, found `%(found)s`",
    "Argument `%(name)s` does not match any known parameter of function `%(function)s`",
    "No argument provided for required parameter `%(name)s` of function `%(function)s`",
    "No arguments provided for required parameters `%(names)s` of function `%(function)s`",
    "Too many positional arguments to function `%(function)s`: expected %(expected)s, got %(found)s",
    "No overload of %(what)s `%(function)s` matches arguments",
    "Default value of type `%(found)s` is not assignable to annotated parameter type `%(expected)s`",
)
"""What the sandbox's type checker says most often of a tool's code."""
LONGEST = 1_000
"""Characters of a text that is looked for."""

_VALUE = re.compile(r"%\((\w+)\)s|%%")
_SHAPES = {
    "place": r"Row [\d,]+(?:, column “.*?”)?:",
    "after": r"without looking anything up|after one look-up|after \d+ look-ups",
    "ended": "[a-z ]+",
    **dict.fromkeys(("failed", "failed_calls", "calls", "count", "left", "written", "shortest"), r"[\d,]+"),
    **dict.fromkeys(("step", "step_2", "step_3", "played", "groups", "dropped"), r"\d+"),
}
"""Values that have a shape of their own; all others are any text."""

Known = Mapping[str, Sequence[ast.expr]]
"""What is assigned to a name."""


def said(text: str) -> str:
    """The text in the reader's language if the engine room made it, else as it is."""
    if get_language() == settings.LANGUAGE_CODE or len(text) > LONGEST:
        return text
    found = _recognized(text)
    if found is None:
        return text
    template, values = found
    return _(template) % {name: said(value) if name in OWN_WORDS else value for name, value in values.items()}


def reasons(text: str) -> str:
    """Reasons that were joined by “; ”, each as `said`; as they are where one is torn at a “; ” it quotes."""
    if get_language() == settings.LANGUAGE_CODE or len(text) > LONGEST:
        return text
    ended = text.removesuffix(".")
    pieces = ended.split("; ")
    if any(piece.count("“") != piece.count("”") for piece in pieces):
        return text
    told = [said(piece) for piece in pieces]
    if told == pieces:
        return said(text)
    return _("; ").join(told) + (_(".") if ended != text else "")


@cache
def templates() -> dict[str, str]:
    """Every template with the file it stands in; a value is %(name)s in it."""
    found = dict.fromkeys(get_args(Kind), "gpu_worker/tools/tables/sheet.py")
    found |= dict.fromkeys((*OF_PYTHON, *OF_TYPES), "training/phrasebook.py")
    found |= dict.fromkeys((end.replace("_", " ") for end in get_args(Ended)), "gpu_worker/types.py")
    for pattern, told_with in TOLD_WITH.items():
        for file in sorted(ROOT.glob(pattern)):
            for template in _templates_in(ast.parse(file.read_text()), told_with):
                if " " in template and re.search("[A-Za-z]{2}", _VALUE.sub("", template)):
                    found.setdefault(template, str(file.relative_to(ROOT)))
    return found


@lru_cache(maxsize=4096)
def _recognized(text: str) -> tuple[str, dict[str, str]] | None:
    """The template of a text, and its values."""
    for template, pattern in _patterns():
        if match := pattern.fullmatch(text):
            return template, match.groupdict()
    return None


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    """Each template as a pattern: first those that hold a whole sentence, then those that leave least."""

    def rank(template: str) -> tuple[bool, int]:
        return "%(sentence)s" not in template, -len(_VALUE.sub("", template))

    ordered = sorted(templates(), key=rank)
    return [(template, _pattern(template)) for template in ordered]


def _pattern(template: str) -> re.Pattern[str]:
    parts, at = [], 0
    for value in _VALUE.finditer(template):
        parts.append(re.escape(template[at : value.start()]))
        name, at = value[1], value.end()
        parts.append(f"(?P<{name}>{_SHAPES.get(name, '.*?')})" if name else "%")
    return re.compile("".join(parts) + re.escape(template[at:]), re.DOTALL)


def _templates_in(module: ast.Module, told_with: set[str]) -> Iterator[str]:
    outside = _assigned(module.body)
    for sentence in outside.get(SENTENCES, ()):
        assert isinstance(sentence, ast.Dict)
        for value in sentence.values:
            yield _from_fields(ast.literal_eval(value))
    for function in ast.walk(module):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        nodes, saying = list(ast.walk(function)), SAYING.fullmatch(function.name)
        told: list[ast.expr] = []
        for node in nodes:
            if isinstance(node, ast.Call) and _name(node.func) in told_with:
                told += node.args
            elif saying and isinstance(node, ast.Return | ast.Yield) and node.value:
                told.append(node.value)
        known = {**outside, **_assigned(nodes)} if told else {}
        for expression in told:
            yield from _texts(expression, known)


def _assigned(nodes: Iterable[ast.AST]) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.targets[0].id, []).append(node.value)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            found.setdefault(node.target.id, []).append(node.value)
    return found


def _texts(expression: ast.expr, known: Known) -> Iterator[str]:
    """The templates an expression can be; none if it is no text written here."""
    match expression:
        case ast.Constant(value=str(text)):
            yield text.replace("%", "%%")
        case ast.JoinedStr(values=parts):
            for chosen in product(*(_part(part, known) for part in parts)):
                yield _numbered("".join(chosen))
        case ast.IfExp(body=one, orelse=other):
            yield from _texts(one, known)
            yield from _texts(other, known)
        case ast.Name(id=name):
            others = {each: found for each, found in known.items() if each != name}
            for value in known.get(name, ()):
                yield from _texts(value, others)
        case ast.Tuple(elts=parts):
            for each in parts:
                yield from _texts(each, known)
        case ast.Call(func=ast.Name(id="bounded"), args=[text, *_]):
            yield from _texts(text, known)
        case ast.BinOp(left=ast.Call(func=ast.Name(id="_"), args=[ast.Constant(value=str(template))])):
            yield template


def _part(part: ast.expr, known: Known) -> list[str]:
    """What a part of an f-string can be: text that is written here, or the place of a value."""
    value = part.value if isinstance(part, ast.FormattedValue) else part
    return list(dict.fromkeys(_insertions(value, _called(value), known)))


def _insertions(value: ast.expr, called: str, known: Known) -> Iterator[str]:
    match value:
        case ast.Constant(value=str()) | ast.JoinedStr():
            yield from _texts(value, known)
        case ast.IfExp(body=one, orelse=other):
            yield from _insertions(one, called, known)
            yield from _insertions(other, called, known)
        case ast.Name(id=name) if name in known:
            others = {each: found for each, found in known.items() if each != name}
            for assigned in known[name]:
                yield from _insertions(assigned, called, others)
        case _:
            yield f"%({called})s"


def _called(value: ast.expr) -> str:
    """The name of a value: of what it is made from."""
    if isinstance(value, ast.Call) and SAYING.fullmatch(_name(value.func)):
        return _name(value.func)
    inside: list[ast.expr] = [value]
    if isinstance(value, ast.Call):
        inside = [*value.args, value.func.value if isinstance(value.func, ast.Attribute) else value.func]
    names = [name for each in inside for node in ast.walk(each) if (name := _name(node))]
    return next((name for name in names if not name.isupper()), [*names, ""][0]).strip("_").lower()


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _numbered(template: str) -> str:
    """The template with a name of its own for each value."""
    seen: list[str] = []

    def named(value: re.Match[str]) -> str:
        if not value[1]:
            return value[0]
        seen.append(value[1])
        again = seen.count(value[1])
        return f"%({value[1]}_{again})s" if again > 1 else value[0]

    return _VALUE.sub(named, template)


def _from_fields(sentence: str) -> str:
    """A text for str.format as a template."""
    return "".join(
        text.replace("%", "%%") + (f"%({name})s" if name else "")
        for text, name, _spec, _conversion in Formatter().parse(sentence)
    )
