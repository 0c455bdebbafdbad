"""Drafts of tools: read from the form of one tool's page, and the ones a new tool begins with."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext as _

from gpu_worker.tools.filling import argument_names
from gpu_worker.tools.python.examples import EXAMPLES
from gpu_worker.tools.python.signature import CodeError, spec_of
from gpu_worker.tools.tables.plans import parameters_of
from gpu_worker.types import ToolSpec
from training.authoring.toolbox import schema_rows, tool_settings
from training.authoring.toolbox.schema_check import Schema
from training.authoring.toolbox.schema_rows import Problem
from training.authoring.toolbox.tool_saving import free_name
from training.authoring.toolbox.tools import FAULTS, Draft, draft_of
from training.models import Agent, Tool

OWN_PARAMETERS = (Tool.Kind.HTTP, Tool.Kind.SIMULATED)
"""Kinds whose parameters a person writes; those of the others follow from what the tool is made of."""
BLANK_CODE = '''\
def answer(question: str) -> str:
    """What the function does, for the agent to read.

    Args:
        question: what to write here
    """
    return question
'''


def draft_in(data: Mapping[str, str], tool: Tool) -> tuple[Draft, list[Problem]]:
    """The tool as the form of its page wants it, and what could not be read of the form."""
    before = draft_of(tool)
    settings, problems = tool_settings.read_form(tool.kind, data, before.settings)
    faults, wrong_shares = _faults_in(data)
    draft = replace(
        before,
        name=data.get("name", before.name).strip(),
        description=data.get("description", before.description).replace("\r\n", "\n").strip(),
        settings=settings,
        faults=faults,
    )
    if tool.kind in OWN_PARAMETERS:
        parameters, wrong = schema_rows.schema_in(data)
        return replace(draft, parameters=parameters), [*wrong, *problems, *wrong_shares]
    if tool.kind == Tool.Kind.PYTHON:
        draft = _from_code(draft)
    if tool.kind == Tool.Kind.TABLE:
        draft = replace(draft, parameters=parameters_of(settings))
    return draft, [*problems, *wrong_shares]


def _faults_in(data: Mapping[str, str]) -> tuple[dict[str, float], list[Problem]]:
    """Shares of calls that go wrong on purpose, which the form has as per cent."""
    faults: dict[str, float] = {}
    problems: list[Problem] = []
    for name in FAULTS:
        typed = data.get(f"fault-{name}", "").strip().removesuffix("%").strip()
        try:
            share = float(typed or 0) / 100
        except ValueError:
            share = math.nan
        if not math.isfinite(share):
            problems.append(Problem(f"fault-{name}", _("A share is a number of per cent, such as 5.")))
            continue
        if share:
            faults[name] = round(share, 4)
    return faults, problems


def _from_code(draft: Draft) -> Draft:
    """Name, description and parameters as the code has them; as before where it cannot be read."""
    try:
        spec = spec_of(draft.settings["code"])
    except CodeError:
        return draft
    return replace(draft, name=spec.name, description=spec.description, parameters=spec.parameters)


# What a new tool begins with


def simulated(agent: Agent, name: str) -> Draft:
    parameters = {
        "type": "object",
        "properties": {"question": {"type": "string"}},
        "required": ["question"],
    }
    settings: dict[str, Any] = {"description": "", "examples": [], "model": "", "otherwise": ""}
    return Draft(Tool.Kind.SIMULATED, free_name(agent, name or "ask"), "", parameters, settings)


def http(agent: Agent, name: str, url: str) -> Draft:
    """A GET of the address; what stands in braces in it becomes a parameter."""
    names = sorted(argument_names(url), key=lambda name: url.index(f"{{{name}}}"))
    properties: Schema = {found: {"type": "string"} for found in names}
    parameters: Schema = {"type": "object", "properties": properties}
    settings: dict[str, Any] = {
        "method": "GET",
        "url": url.strip(),
        "headers": {},
        "body": "",
        "body_as": "json",
        "keep": "",
        "per_minute": None,
        "mode": "live",
        "recorded": [],
    }
    parameters |= {"required": names} if names else {}
    return Draft(Tool.Kind.HTTP, free_name(agent, name or "fetch"), "", parameters, settings)


def python(agent: Agent, example: str) -> Draft:
    """One of the worked examples, or a blank function."""
    found = {one.name: one.code for one in EXAMPLES}
    code = found.get(example, BLANK_CODE)
    spec = spec_of(code)
    free = free_name(agent, spec.name)
    if free != spec.name:
        code = re.sub(rf"\b{spec.name}\b", free, code)
    spec = spec_of(code)
    return Draft(Tool.Kind.PYTHON, spec.name, spec.description, spec.parameters, {"code": code})


def mcp(agent: Agent, source: Mapping[str, Any], spec: ToolSpec) -> Draft:
    """One tool of a server. `source` is {url, headers} or {program}."""
    settings = {**source, "tool": spec.name}
    return Draft(Tool.Kind.MCP, free_name(agent, spec.name), spec.description, spec.parameters, settings)
