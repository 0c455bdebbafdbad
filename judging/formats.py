"""Ways of asking for JSON, strictest first; a provider that refuses one is asked in the next."""

from typing import Any

NAMES = ("json_schema", "json_object", "none")


def of(schema: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """What goes with the question in each: the schema under its name, any JSON object, nothing."""
    named = {"name": name, "schema": schema, "strict": True}
    return [
        {"response_format": {"type": "json_schema", "json_schema": named}},
        {"response_format": {"type": "json_object"}},
        {},
    ]
