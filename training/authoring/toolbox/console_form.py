"""The form a tool is called with by hand: fields made from its JSON schema, and arguments read from them.

Pure functions. What a field holds is text as typed, so a form that is refused comes back as it was sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from django.utils.translation import gettext as _

from training.authoring.toolbox.schema_check import BadJSON, Schema, read, written
from training.authoring.toolbox.schema_rows import Problem

Widget = Literal["select", "number", "checkbox", "text", "json"]
PREFIX = "argument-"
MAX_CHARACTERS = 20_000


@dataclass(frozen=True)
class Choice:
    value: str
    label: str
    chosen: bool


@dataclass(frozen=True)
class Field:
    """One input, sent as `key`. `value` is what stands in it; of a checkbox, "on" or nothing."""

    id: str
    key: str
    name: str
    widget: Widget
    value: str
    required: bool
    description: str
    whole: bool = False
    choices: tuple[Choice, ...] = ()


def fields_of(schema: Schema, typed: Mapping[str, str] | None = None) -> list[Field]:
    """The fields of a checked schema, holding what was typed, or each parameter's default."""
    required = schema.get("required", ())
    properties = schema.get("properties", {}).items()
    return [
        _field(f"{PREFIX}{at}", name, inner, name in required, typed)
        for at, (name, inner) in enumerate(properties)
    ]


def arguments_of(schema: Schema, typed: Mapping[str, str]) -> tuple[dict[str, Any], list[Problem]]:
    """The arguments a form holds, and what is wrong with it. What is empty and optional is left out."""
    arguments: dict[str, Any] = {}
    problems: list[Problem] = []
    for field in fields_of(schema, typed):
        inner = schema["properties"][field.name]
        try:
            arguments |= _read(field, inner)
        except ValueError as error:
            problems.append(Problem(field.id, str(error)))
    return arguments, problems


def _field(place: str, name: str, schema: Schema, required: bool, typed: Mapping[str, str] | None) -> Field:
    widget = _widget(schema)
    key = PREFIX + name
    value = _told(schema, widget) if typed is None else typed.get(key, "")
    choices: tuple[Choice, ...] = ()
    if widget == "select":
        options = [written(choice) for choice in schema["enum"]]
        choices = tuple(Choice(option, _label(option), option == value) for option in options)
    whole = schema.get("type") == "integer"
    return Field(place, key, name, widget, value, required, _description(schema), whole, choices)


def _widget(schema: Schema) -> Widget:
    if schema.get("enum"):
        return "select"
    kind = schema.get("type")
    if not isinstance(kind, str):
        return "json"
    widgets: dict[str, Widget] = {
        "string": "text",
        "integer": "number",
        "number": "number",
        "boolean": "checkbox",
    }
    return widgets.get(kind, "json")


def _told(schema: Schema, widget: Widget) -> str:
    """The default of a parameter as its field holds it."""
    default = schema.get("default")
    if default is None:
        return ""
    if widget == "checkbox":
        return "on" if default is True else ""
    return default if widget == "text" and isinstance(default, str) else written(default)


def _label(option: str) -> str:
    value = read(option)
    return value if isinstance(value, str) else option


def _description(schema: Schema) -> str:
    told = schema.get("description")
    return told if isinstance(told, str) else ""


def _read(field: Field, schema: Schema) -> dict[str, Any]:
    """{name: value}, or nothing where nothing was said. Raises ValueError with a sentence."""
    if field.widget == "checkbox":
        said = bool(field.value) or field.required or "default" in schema
        return {field.name: bool(field.value)} if said else {}
    if not field.value.strip() and not (field.required and field.widget == "text"):
        if field.required:
            raise ValueError(_("“%(name)s” is required.") % {"name": field.name})
        return {}
    if len(field.value) > MAX_CHARACTERS:
        limit = {"name": field.name, "limit": MAX_CHARACTERS}
        raise ValueError(_("“%(name)s” is longer than %(limit)d characters.") % limit)
    return {field.name: _value(field)}


def _value(field: Field) -> Any:
    if field.widget == "text":
        return field.value.replace("\r\n", "\n")
    if field.widget == "select" and field.value not in [choice.value for choice in field.choices]:
        raise ValueError(_("Choose one of the values of “%(name)s”.") % {"name": field.name})
    try:
        value = read(field.value)
    except BadJSON as error:
        if field.widget == "number":
            raise ValueError(_number_wanted(field)) from None
        raise ValueError(f"{field.name}: {error}") from None
    if field.widget == "number" and not _is_number(value, field.whole):
        raise ValueError(_number_wanted(field))
    return value


def _is_number(value: Any, whole: bool) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int) if whole else isinstance(value, int | float) and abs(value) < float("inf")


def _number_wanted(field: Field) -> str:
    if field.whole:
        return _("“%(name)s” must be a whole number.") % {"name": field.name}
    return _("“%(name)s” must be a number.") % {"name": field.name}
