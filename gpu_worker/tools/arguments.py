"""Do an agent's arguments fit a tool's schema? What does not fit is said in a sentence it can learn from."""

from __future__ import annotations

from typing import Any

from gpu_worker.types import Tool, ToolError

KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
SAID = {"string": "a text", "integer": "a whole number", "boolean": "true or false", "array": "a list"}


def checked(tool: Tool) -> Tool:
    """The same tool, which refuses arguments that do not fit its schema and fills in defaults."""

    def call(arguments: dict[str, Any]) -> str:
        found = complaint(tool.spec.parameters, arguments)
        if found:
            raise ToolError(found)
        return tool.call(_with_defaults(tool.spec.parameters, arguments))

    return Tool(tool.spec, call, tool.waits)


def complaint(schema: dict[str, Any], arguments: dict[str, Any]) -> str | None:
    """What does not fit, or None. Read are properties, required, additionalProperties, type, enum, items."""
    properties = schema.get("properties") or {}
    names = ", ".join(properties) or "none"
    unknown = [name for name in arguments if name not in properties]
    if unknown and schema.get("additionalProperties", False) is False:
        return f"there is no argument {_short(unknown[0])}; the arguments are {names}"
    missing = [name for name in schema.get("required") or () if name not in arguments]
    if missing:
        return f"the argument {missing[0]} is missing"
    found = (_unfit(name, properties.get(name) or {}, value) for name, value in arguments.items())
    return next((text for text in found if text), None)


def _unfit(name: str, schema: dict[str, Any], value: Any) -> str | None:
    kind = schema.get("type")
    if isinstance(kind, str) and kind in KINDS and not _is(kind, value):
        return f"{name} must be {SAID.get(kind, f'a {kind}')}"
    choices = schema.get("enum")
    if isinstance(choices, list) and value not in choices:
        return f"{name} must be one of {', '.join(map(str, choices[:20]))}"
    items = schema.get("items")
    if isinstance(value, list) and isinstance(items, dict):
        return next((text for item in value if (text := _unfit(f"each of {name}", items, item))), None)
    return None


def _is(kind: str, value: Any) -> bool:
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, KINDS[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _with_defaults(schema: dict[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties") or {}
    defaults = {name: one["default"] for name, one in properties.items() if "default" in one}
    return {**defaults, **arguments}


def _short(text: str) -> str:
    return " ".join(text.split())[:40]
