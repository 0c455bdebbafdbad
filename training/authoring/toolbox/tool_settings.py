"""What the settings of each kind of tool may be, and how they are read from its form.

Reading never throws anything away: what cannot be read is named, by the id of its input. What the settings
mean is said where they are used, in `gpu_worker.tools`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from gpu_worker.tools.http import http_tool
from gpu_worker.tools.plans import PlanError
from gpu_worker.tools.python.signature import CodeError, spec_of
from gpu_worker.types import Outside, ToolError, ToolPlan, ToolSpec
from training.authoring.toolbox.schema_check import BadJSON, Schema, read, written
from training.authoring.toolbox.schema_rows import Problem
from training.models import Tool
from training.phrasebook import said

Settings = dict[str, Any]

MODES = ("live", "replay")
MAX_EXAMPLES = 200
MAX_EXAMPLE = 8000
MAX_BODY = 20_000
MAX_HEADERS = 20
DOES = ("find", "count", "search", "update", "insert")
HOST_ALONE = re.compile(r"https?://[^/?#{}\s]+([/?#]|\Z)")


def _nothing(*asked: object) -> Any:
    raise ToolError("nothing outside can be reached here")


NOTHING_OUTSIDE = Outside(_nothing, _nothing, _nothing)


def check(kind: str, settings: Settings, parameters: Schema) -> list[Problem]:
    """What keeps a tool of this kind from being saved."""
    return list(CHECKS[kind](settings, parameters))


def read_form(kind: str, data: Mapping[str, str], before: Settings) -> tuple[Settings, list[Problem]]:
    """The settings in a form, over those the tool had, and what could not be read."""
    return READERS[kind](data, before)


# Examples: what was asked and answered


def examples_in(data: Mapping[str, str], stem: str = "example") -> tuple[list[Settings], list[Problem]]:
    """Calls with their answers, in the order of the form. Empty rows are left out."""
    found: list[Settings] = []
    problems: list[Problem] = []
    for number in numbers_in(data, stem, "arguments"):
        asked, answered = data[f"{stem}-{number}-arguments"], data.get(f"{stem}-{number}-result", "")
        if not asked.strip() and not answered.strip():
            continue
        try:
            arguments = read(asked or "{}")
        except BadJSON as error:
            problems.append(Problem(f"{stem}-{number}-arguments", str(error)))
            continue
        outcome = "error" if f"{stem}-{number}-error" in data else "result"
        found.append({"arguments": arguments, outcome: _text(answered)})
        if not isinstance(arguments, dict):
            text = _("The arguments must be an object such as {“city”: “Oslo”}.")
            problems.append(Problem(f"{stem}-{number}-arguments", text))
    return found, problems


def numbers_in(data: Mapping[str, str], stem: str, field: str) -> list[str]:
    """The numbers of the rows `stem-<number>-<field>` of a form, in its order."""
    pattern = re.compile(rf"{stem}-(\d{{1,6}})-{field}\Z")
    return [found[1] for key in data if (found := pattern.match(key))][: MAX_EXAMPLES + 1]


def _check_examples(examples: Any, field: str) -> list[Problem]:
    if not isinstance(examples, list) or len(examples) > MAX_EXAMPLES:
        return [Problem(field, _("At most %(limit)d examples can be kept.") % {"limit": MAX_EXAMPLES})]
    if any(len(written(example)) > MAX_EXAMPLE for example in examples):
        limit = {"limit": MAX_EXAMPLE}
        return [Problem(field, _("An example is longer than %(limit)d characters.") % limit)]
    seen = [written(example["arguments"]) for example in examples]
    for at, asked in enumerate(seen):
        if asked in seen[:at]:
            text = _("Two examples have the same arguments: %(arguments)s") % {"arguments": asked[:80]}
            return [Problem(field, text)]
    return []


# Kinds


def _simulated_in(data: Mapping[str, str], before: Settings) -> tuple[Settings, list[Problem]]:
    examples, problems = examples_in(data)
    settings = {
        **before,
        "description": _text(data.get("behaviour", "")).strip(),
        "examples": examples,
        "model": data.get("model", "").strip(),
        "otherwise": _text(data.get("otherwise", "")).strip()[:MAX_EXAMPLE],
    }
    return settings, problems


def _check_simulated(settings: Settings, parameters: Schema) -> list[Problem]:
    problems = _check_examples(settings.get("examples", []), "example-list")
    if len(settings.get("description", "")) > MAX_BODY:
        limit = {"limit": MAX_BODY}
        problems.append(Problem("behaviour", _("This is longer than %(limit)d characters.") % limit))
    if len(settings.get("model", "")) > 200:
        problems.append(Problem("model", _("A model's name has at most 200 characters.")))
    return problems


def _python_in(data: Mapping[str, str], before: Settings) -> tuple[Settings, list[Problem]]:
    return {**before, "code": _text(data.get("code", ""))}, []


def _check_python(settings: Settings, parameters: Schema) -> list[Problem]:
    try:
        spec_of(settings.get("code", ""))
    except CodeError as error:
        where = {"line": error.problem.line, "problem": said(error.problem.text)}
        return [Problem("code", _("Line %(line)d: %(problem)s") % where)]
    return []


def _http_in(data: Mapping[str, str], before: Settings) -> tuple[Settings, list[Problem]]:
    recorded, problems = examples_in(data, "recorded")
    rate = data.get("per_minute", "").strip()
    settings = {
        **before,
        "method": data.get("method", "GET"),
        "url": data.get("url", "").strip(),
        "headers": _headers_in(data),
        "body": _text(data.get("body", "")),
        "body_as": data.get("body_as", "json"),
        "keep": data.get("keep", "").strip(),
        "per_minute": int(rate) if rate.isdecimal() and len(rate) < 6 else None,
        "mode": data.get("mode", "live"),
        "recorded": recorded,
    }
    if rate and settings["per_minute"] is None:
        problems.append(Problem("per_minute", _("Calls a minute must be a whole number.")))
    return settings, problems


def _headers_in(data: Mapping[str, str]) -> dict[str, str]:
    pairs = [
        (data[f"header-{number}-name"].strip(), data.get(f"header-{number}-value", "").strip())
        for number in numbers_in(data, "header", "name")
    ]
    return {name: value for name, value in pairs if name or value}


def _check_http(settings: Settings, parameters: Schema) -> list[Problem]:
    problems = []
    if not HOST_ALONE.match(settings.get("url", "")):
        text = _("Begin with https:// and a host; parameters such as {city} may stand only after the host.")
        problems.append(Problem("url", text))
    for field in ("body", "keep", "url"):
        if len(settings.get(field, "")) > MAX_BODY:
            limit = {"limit": MAX_BODY}
            problems.append(Problem(field, _("This is longer than %(limit)d characters.") % limit))
    if len(settings.get("headers", {})) > MAX_HEADERS:
        limit = {"limit": MAX_HEADERS}
        problems.append(Problem("headers", _("At most %(limit)d headers can be sent.") % limit))
    if settings.get("mode") not in MODES:
        problems.append(Problem("mode", _("Choose whether answers come from the server or the recording.")))
    problems += _check_examples(settings.get("recorded", []), "recorded-list")
    return problems or _what_the_tool_says(settings, parameters)


def _what_the_tool_says(settings: Settings, parameters: Schema) -> list[Problem]:
    """The tool itself knows best what it can work with; making one connects nowhere."""
    try:
        http_tool(ToolPlan(ToolSpec("tool", "", parameters), "http", settings), NOTHING_OUTSIDE)
    except PlanError as error:
        return [Problem("url", said(str(error)))]
    return []


def _mcp_in(data: Mapping[str, str], before: Settings) -> tuple[Settings, list[Problem]]:
    """Where a tool came from is not edited: another server is another tool. Only headers are."""
    if "url" not in before:
        return dict(before), []
    return {**before, "headers": _headers_in(data)}, []


def _check_mcp(settings: Settings, parameters: Schema) -> list[Problem]:
    problems = []
    if not settings.get("tool") or ("url" in settings) == ("program" in settings):
        problems.append(Problem("kind", _("Choose an MCP server and one of its tools.")))
    if "url" in settings and not HOST_ALONE.match(settings["url"]):
        problems.append(Problem("url", _("Begin with https:// and a host.")))
    return problems


def _table_in(data: Mapping[str, str], before: Settings) -> tuple[Settings, list[Problem]]:
    """Columns come as boxes numbered like the table's columns, whose names the form lists."""
    try:
        listed = read(data.get("columns_listed", "[]"))
    except BadJSON:
        listed = []
    if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed) or not listed:
        return dict(before), []
    chosen = {
        key: [name for at, name in enumerate(listed) if f"{key}-{at}" in data] for key in column_lists(before)
    }
    return {**before, **chosen}, []


def column_lists(settings: Settings) -> list[str]:
    """The lists of columns that a table's tool has: what it looks in, changes, asks for and shows."""
    lists = {
        "search": ["shown"],
        "update": ["by", "columns", "shown"],
        "insert": ["columns", "unique", "shown"],
    }
    return lists.get(settings.get("does", ""), ["columns", "shown"])


def _check_table(settings: Settings, parameters: Schema) -> list[Problem]:
    if settings.get("does") not in DOES:
        return [Problem("kind", _("Upload a table; its tools are made from it."))]
    empty = [key for key in column_lists(settings) if not settings.get(key) and key != "unique"]
    return [Problem(f"{key}-columns", _("Choose at least one column.")) for key in empty]


def _text(value: str) -> str:
    return value.replace("\r\n", "\n")


Reader = Callable[[Mapping[str, str], Settings], tuple[Settings, list[Problem]]]
READERS: Mapping[str, Reader] = {
    Tool.Kind.TABLE: _table_in,
    Tool.Kind.HTTP: _http_in,
    Tool.Kind.PYTHON: _python_in,
    Tool.Kind.MCP: _mcp_in,
    Tool.Kind.SIMULATED: _simulated_in,
}
CHECKS: Mapping[str, Callable[[Settings, Schema], Sequence[Problem]]] = {
    Tool.Kind.TABLE: _check_table,
    Tool.Kind.HTTP: _check_http,
    Tool.Kind.PYTHON: _check_python,
    Tool.Kind.MCP: _check_mcp,
    Tool.Kind.SIMULATED: _check_simulated,
}
