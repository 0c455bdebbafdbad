"""Chat templates: found in a model directory, compiled in a sandbox, and what templates may call.

What is rendered with them is left to `chat.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from gpu_worker.engines.embedded.directory import ModelError

REFUSALS = (
    jinja2.TemplateError,
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    AttributeError,
    RecursionError,
)
"""What a template may raise over a conversation it was not written for."""

CLOCK = "strftime_now"
"""What templates call to write the date; such a rendering is not kept."""


class Generation(Extension):
    """The {% generation %} tag of training templates: its body, as it is."""

    tags = {"generation"}

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return list(parser.parse_statements(("name:endgeneration",), drop_needle=True))


def sources_in(directory: Path, settings: Mapping[str, Any]) -> dict[str, str]:
    """The chat template's text, or several by name; "default" is always among them."""
    file = directory / "chat_template.jinja"
    given = file.read_text(encoding="utf-8") if file.exists() else settings.get("chat_template")
    if isinstance(given, str):
        given = [{"name": "default", "template": given}]
    try:
        sources = {str(entry["name"]): str(entry["template"]) for entry in given or []}
    except (LookupError, TypeError) as error:
        raise ModelError(f"The chat template in {directory} cannot be used: {error}.") from error
    if "default" not in sources:
        raise ModelError(
            f"The model in {directory} has no chat template; use an instruction-tuned model, or add "
            "a chat_template.jinja."
        )
    return sources


def compiled(sources: Mapping[str, str], directory: Path) -> dict[str, jinja2.Template]:
    try:
        return {name: _environment().from_string(source) for name, source in sources.items()}
    except (jinja2.TemplateError, TypeError) as error:
        raise ModelError(f"The chat template in {directory} cannot be used: {error}.") from error


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols]
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _refuse
    environment.globals[CLOCK] = lambda form: datetime.now().strftime(form)
    return environment


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def _refuse(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)
