"""JSON that people type, and what a JSON schema of a tool's parameters may be. Pure functions.

A schema is checked before anything walks through it: an object whose names, depth and size a model can read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext as _

from training.phrasebook import said

Schema = dict[str, Any]

SCHEMA_TYPES = frozenset(("string", "integer", "number", "boolean", "array", "object", "null"))
MAX_PARAMETERS = 32
MAX_DEPTH = 6
"""Objects and lists inside each other, the parameters themselves being the first."""
MAX_CHARACTERS = 16_384
"""Of the schema as JSON: the model reads all of it before every try."""
MAX_CHOICES = 300
MAX_NAME = 100
NOT_IN_NAMES = frozenset('"\\<>{}')


class BadJSON(ValueError):
    """A text is not the JSON that was asked for; the sentence names the line."""


def read(text: str) -> Any:
    """The value a JSON text holds. Raises BadJSON with line and column."""
    if len(text) > 4 * MAX_CHARACTERS:
        limit = {"limit": 4 * MAX_CHARACTERS, "length": len(text)}
        raise BadJSON(_("This is %(length)d characters long; %(limit)d are allowed.") % limit)
    try:
        return json.loads(text, parse_constant=no_constant)
    except json.JSONDecodeError as error:
        where = {"line": error.lineno, "column": error.colno, "reason": said(error.msg)}
        raise BadJSON(_("Line %(line)d, character %(column)d: %(reason)s.") % where) from None
    except BadJSON:
        raise
    except ValueError:
        raise BadJSON(_("A number in it has too many digits.")) from None
    except RecursionError:
        raise BadJSON(_("Too many brackets inside each other.")) from None


def no_constant(name: str) -> None:
    raise BadJSON(_("%(name)s is not a number in JSON.") % {"name": name})


def written(value: Any, *, indent: int | None = None) -> str:
    """A value as JSON that people read: no escapes for letters of other scripts."""
    return json.dumps(value, ensure_ascii=False, indent=indent)


def check(schema: Any) -> list[str]:
    """What is wrong with a tool's parameters, in sentences; nothing if the list is empty."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return [_("The parameters must be a JSON object with “type”: “object”.")]
    if depth(schema) > MAX_DEPTH + 2:  # before anything walks through it
        return [_("Objects stand more than %(limit)d deep inside each other.") % {"limit": MAX_DEPTH}]
    if len(written(schema)) > MAX_CHARACTERS:
        limit = {"limit": MAX_CHARACTERS, "length": len(written(schema))}
        return [_("As JSON the parameters are %(length)d characters long; %(limit)d are allowed.") % limit]
    found = [*_faults(schema, "", 1)]
    if len(schema.get("properties") or ()) > MAX_PARAMETERS:
        found.append(_("A tool has at most %(limit)d parameters.") % {"limit": MAX_PARAMETERS})
    return found[:12]


def depth(value: Any) -> int:
    """How many dicts and lists stand inside each other; it needs no recursion, so depth cannot hurt it."""
    deepest, layer = 0, [value]
    while layer and deepest <= 1000:
        inner = [item for item in layer if isinstance(item, dict | list)]
        layer = [below for item in inner for below in (item.values() if isinstance(item, dict) else item)]
        deepest += bool(inner)
        if not inner:
            break
    return deepest


def _faults(schema: Schema, place: str, deep: int) -> Iterator[str]:
    """What is wrong with an object: its properties, their names, and which are required."""
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if deep > MAX_DEPTH:
        yield _("“%(place)s” stands too deep: more than %(limit)d objects inside each other.") % {
            "place": place,
            "limit": MAX_DEPTH,
        }
        return
    if not isinstance(properties, dict):
        yield _("“properties” of %(place)s must be an object.") % {"place": _called(place)}
        return
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        yield _("“required” of %(place)s must be a list of names.") % {"place": _called(place)}
        required = []
    for name in required:
        if name not in properties:
            yield _("“%(name)s” is required but is not among the parameters.") % {"name": name}
    for name, inner in properties.items():
        inside = f"{place}.{name}" if place else name
        if not is_name(name):
            yield bad_name(name)
        yield from _faults_of_one(inner, inside, deep)


def _faults_of_one(schema: Any, place: str, deep: int) -> Iterator[str]:
    if not isinstance(schema, dict):
        yield _("“%(place)s” must be an object such as {“type”: “string”}.") % {"place": place}
        return
    kinds = schema.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if not all(isinstance(kind, str) and kind in SCHEMA_TYPES for kind in kinds):
        known = ", ".join(sorted(SCHEMA_TYPES))
        yield _("“%(place)s” has a type that JSON schema does not know; there are %(known)s.") % {
            "place": place,
            "known": known,
        }
    if "$ref" in schema:
        yield _("“%(place)s” refers to another place ($ref); write it out here.") % {"place": place}
    yield from _faults_of_choices(schema, place)
    if "properties" in schema:
        yield from _faults(schema, place, deep + 1)
    if "items" in schema:
        yield from _faults_of_one(schema["items"], f"{place}[]", deep + 1)


def _faults_of_choices(schema: Schema, place: str) -> Iterator[str]:
    choices = schema.get("enum")
    if choices is None:
        return
    if not isinstance(choices, list) or not 0 < len(choices) <= MAX_CHOICES:
        limits = {"place": place, "limit": MAX_CHOICES}
        yield _("The choices of “%(place)s” must be a list of 1 to %(limit)d values.") % limits
    elif len({written(choice) for choice in choices}) < len(choices):
        yield _("The choices of “%(place)s” name a value twice.") % {"place": place}
    elif "default" in schema and schema["default"] not in choices:
        yield _("The default of “%(place)s” is not one of its choices.") % {"place": place}


def is_name(name: str) -> bool:
    """Whether a parameter may be called so: columns of people's own tables are parameters, too."""
    fits = 0 < len(name) <= MAX_NAME and name == name.strip() and name.isprintable()
    return fits and not NOT_IN_NAMES & set(name)


def bad_name(name: str) -> str:
    """Why `name` cannot be a parameter's."""
    if not name:
        return _("A parameter has no name.")
    limits = {"name": name[:40], "limit": MAX_NAME}
    return (
        _(
            "“%(name)s” cannot be a parameter's name: at most %(limit)d characters on one line, "
            "without quotes and brackets."
        )
        % limits
    )


def _called(place: str) -> str:
    return f"“{place}”" if place else _("the parameters")
