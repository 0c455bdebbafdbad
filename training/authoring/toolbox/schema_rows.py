"""A tool's parameters as the rows in which people edit them, and back as a JSON schema. Pure functions.

A row holds what was typed, so that nothing is lost while it is wrong. What rows cannot say (patterns, nested
objects) travels with its row as `rest`, so going from JSON to rows and back changes nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from training.authoring.toolbox.schema_check import (
    MAX_PARAMETERS,
    BadJSON,
    Schema,
    bad_name,
    check,
    is_name,
    no_constant,
    read,
    written,
)

TYPES = ("string", "integer", "number", "boolean", "list", "other")
"""What a row's type may be; `list` is a list of texts, `other` is whatever its `rest` says."""
TEXTS: Schema = {"type": "array", "items": {"type": "string"}}
FIELD = re.compile(r"row-(\d{1,6})-name\Z")


@dataclass(frozen=True)
class Problem:
    """A sentence about what was typed; `field` is the id of the input it is about."""

    field: str
    text: str


@dataclass(frozen=True)
class Row:
    """One parameter as typed. `choices` has one a line; `default` is as in the choices; `rest` is JSON."""

    name: str = ""
    type: str = "string"
    description: str = ""
    required: bool = False
    choices: str = ""
    default: str = ""
    rest: str = ""


# From a schema to rows and back


def rows_of(schema: Schema) -> list[Row]:
    """The rows of a checked schema."""
    required = schema.get("required", ())
    return [_row(name, inner, name in required) for name, inner in schema.get("properties", {}).items()]


def rest_of(schema: Schema) -> Schema:
    """What stands beside the properties, such as additionalProperties."""
    return {key: value for key, value in schema.items() if key not in ("type", "properties", "required")}


def _row(name: str, schema: Schema, required: bool) -> Row:
    rest = dict(schema)
    kind = _type_of(rest)
    if kind == "list":
        del rest["type"], rest["items"]
    elif kind != "other":
        del rest["type"]
    description = rest.pop("description") if _is_prose(rest.get("description")) else ""
    choices = _lines(rest, kind)
    default = _told(rest.pop("default")) if _is_plain(rest.get("default"), kind) else ""
    return Row(name, kind, description, required, choices, default, written(rest) if rest else "")


def _type_of(schema: Schema) -> str:
    kind = schema.get("type")
    if kind == "array":
        return "list" if schema.get("items") == TEXTS["items"] else "other"
    return kind if isinstance(kind, str) and kind in TYPES else "other"


def _lines(rest: Schema, kind: str) -> str:
    """Takes the choices out of `rest` where one a line can say them."""
    choices = rest.get("enum")
    if not choices or not all(_is_plain(choice, kind) for choice in choices):
        return ""
    del rest["enum"]
    return "\n".join(_told(choice) for choice in choices)


def _is_prose(value: Any) -> bool:
    """Whether an input gives the text back as it is."""
    return isinstance(value, str) and value != "" and value == value.strip() and "\r" not in value


def _is_plain(value: Any, kind: str) -> bool:
    """Whether a line of text can say the value, for this type, and is read back as the same value."""
    try:
        return value is not None and _told(value) != "" and _same(_value(_told(value), kind), value)
    except (ValueError, TypeError):
        return False


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other


def _told(value: Any) -> str:
    return value if isinstance(value, str) else written(value)


def _value(text: str, kind: str) -> Any:
    """What a line of text says, for this type. Raises ValueError if it says nothing of the kind."""
    if kind == "string":
        if text != text.strip() or "\n" in text or "\r" in text:
            raise ValueError(text)
        return text
    value = json.loads(text, parse_constant=no_constant)
    fits = {
        "integer": isinstance(value, int) and not isinstance(value, bool),
        "number": isinstance(value, int | float) and not isinstance(value, bool),
        "boolean": isinstance(value, bool),
    }
    if not fits.get(kind, False):
        raise ValueError(text)
    return value


def schema_of(rows: Sequence[Row], rest: Schema | None = None) -> tuple[Schema, list[Problem]]:
    """The schema that rows describe, as far as it can be read, and what is wrong with them."""
    problems: list[Problem] = []
    properties: dict[str, Schema] = {}
    for at, row in enumerate(rows):
        if row == Row():
            continue
        if not is_name(row.name) or row.name in properties:
            twice = _("Two parameters are called “%(name)s”.") % {"name": row.name}
            text = twice if row.name in properties else bad_name(row.name)
            problems.append(Problem(f"row-{at}-name", text))
            continue
        properties[row.name] = _property(row, at, problems)
    required = [row.name for row in rows if row.required and row.name in properties]
    schema = {"type": "object", "properties": properties}
    schema |= {"required": required} if required else {}
    schema |= rest or {}
    return schema, problems or [Problem("parameters", text) for text in check(schema)]


def _property(row: Row, at: int, problems: list[Problem]) -> Schema:
    schema: Schema = dict(TEXTS) if row.type == "list" else {}
    if row.type not in ("list", "other"):
        schema["type"] = row.type if row.type in TYPES else "string"
    rest = _rest(row.rest)
    if row.type == "other":
        schema |= rest or {"type": "object"}
    if row.description:
        schema["description"] = row.description
    choices = [_choice(line, row, f"row-{at}-choices", problems) for line in row.choices.split("\n") if line]
    if choices:
        schema["enum"] = choices
    if row.default:
        schema["default"] = _choice(row.default, row, f"row-{at}-default", problems)
    return {**schema, **rest}


def _rest(text: str) -> Schema:
    """What a page keeps for us in a hidden field; nothing if somebody has changed it into nonsense."""
    try:
        value = read(text) if text else {}
    except BadJSON:
        return {}
    return value if isinstance(value, dict) else {}


def _choice(text: str, row: Row, field: str, problems: list[Problem]) -> Any:
    try:
        return _value(text.strip(), row.type if row.type in TYPES else "string")
    except ValueError:
        kinds = {"value": text[:40], "name": row.name, "type": row.type}
        problems.append(
            Problem(field, _("“%(value)s” is not a value of “%(name)s”, which is of type %(type)s.") % kinds)
        )
        return text


# From a form to rows


def rows_in(data: Mapping[str, str]) -> list[Row]:
    """The rows of a form, in the order they stand in it."""
    numbers = [found[1] for key in data if (found := FIELD.match(key))]
    return [
        Row(
            name=data[f"row-{number}-name"].strip(),
            type=data.get(f"row-{number}-type", "string"),
            description=data.get(f"row-{number}-description", "").replace("\r\n", "\n").strip(),
            required=f"row-{number}-required" in data,
            choices=data.get(f"row-{number}-choices", "").replace("\r\n", "\n"),
            default=data.get(f"row-{number}-default", "").strip(),
            rest=data.get(f"row-{number}-rest", ""),
        )
        for number in numbers[: MAX_PARAMETERS + 1]
    ]


def schema_in(data: Mapping[str, str]) -> tuple[Schema, list[Problem]]:
    """The schema of a form that holds rows or, where `parameters_as` is json, a JSON text."""
    if data.get("parameters_as") == "json":
        return schema_in_text(data.get("parameters", ""))
    return schema_of(rows_in(data), _rest(data.get("parameters_rest", "")))


def schema_in_text(text: str) -> tuple[Schema, list[Problem]]:
    """The schema a JSON text holds; an empty object beside the problems if it holds none."""
    try:
        schema = read(text or "{}")
    except BadJSON as error:
        return {"type": "object", "properties": {}}, [Problem("parameters", str(error))]
    schema = {"type": "object", "properties": {}} if schema == {} else schema
    problems = [Problem("parameters", problem) for problem in check(schema)]
    return ({"type": "object", "properties": {}} if problems else schema), problems


def same(one: Schema, other: Schema) -> bool:
    """Whether a model reads the same of both: equal, with the parameters in the same order."""
    return _ordered(one) == _ordered(other)


def _ordered(schema: Schema) -> tuple[Any, ...]:
    others = {key: value for key, value in schema.items() if key not in ("properties", "required")}
    return list(schema.get("properties", {}).items()), sorted(schema.get("required", ())), others
