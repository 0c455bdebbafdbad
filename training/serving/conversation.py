"""The messages and tools of a chat request, checked and brought into the one form the engine reads.

Out: system, user, assistant and tool messages with plain text content; tools as name, description,
parameters. Images, sound and files are refused: the models here read text.
"""

from __future__ import annotations

import json
import re
from typing import Any

from training.serving.errors import ApiError, invalid

MAX_MESSAGES = 512
MAX_TOOLS = 64
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
ROLES = ("system", "developer", "user", "assistant", "tool")
ECHOED = {"refusal", "annotations", "name", "reasoning_content"}
"""Fields that clients send back with an earlier answer and that the models here do not read."""


def read_messages(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_MESSAGES:
        raise invalid("messages", f"'messages' must be a list of 1 to {MAX_MESSAGES} messages.")
    messages = [_message(item, f"messages[{place}]") for place, item in enumerate(value)]
    _check_tool_answers(messages)
    return messages


def _message(item: Any, at: str) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise invalid(at, f"'{at}' must be an object with a role and a content.")
    role = item.get("role")
    if role not in ROLES:
        raise invalid(f"{at}.role", f"'{at}.role' must be one of {', '.join(ROLES)}.")
    _refuse_extras(item, {"role", "content", "tool_calls", "tool_call_id"}, at)
    if role == "assistant":
        return _assistant(item, at)
    if item.get("tool_calls"):
        raise invalid(f"{at}.tool_calls", f"'{at}.tool_calls' belongs to assistant messages only.")
    message = {"role": "system" if role == "developer" else role, "content": _text(item.get("content"), at)}
    if role == "tool":
        message["tool_call_id"] = _short_text(item.get("tool_call_id"), f"{at}.tool_call_id")
    return message


def _refuse_extras(item: dict[str, Any], known: set[str], at: str) -> None:
    for name, value in item.items():
        if name in known or name in ECHOED or value is None or value == []:
            continue
        raise invalid(f"{at}.{name}", f"'{at}.{name}' is not supported here.", code="unsupported_parameter")


def _text(content: Any, at: str) -> str:
    """A string, or OpenAI's list of text parts put together."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not content:
        raise invalid(f"{at}.content", f"'{at}.content' must be a text or a list of text parts.")
    return "".join(_part(part, f"{at}.content[{place}]") for place, part in enumerate(content))


def _part(part: Any, at: str) -> str:
    if isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str):
        return str(part["text"])
    raise invalid(at, f'\'{at}\' must be {{"type": "text", "text": …}}; these models read text only.')


def _short_text(value: Any, at: str) -> str:
    if isinstance(value, str) and 1 <= len(value) <= 200:
        return value
    raise invalid(at, f"'{at}' must be a text of 1 to 200 characters.")


def _assistant(item: dict[str, Any], at: str) -> dict[str, Any]:
    calls = item.get("tool_calls") or []
    if not isinstance(calls, list):
        raise invalid(f"{at}.tool_calls", f"'{at}.tool_calls' must be a list.")
    content = item.get("content")
    message: dict[str, Any] = {
        "role": "assistant",
        "content": "" if content is None and calls else _text(content, at),
    }
    if calls:
        message["tool_calls"] = [_call(call, f"{at}.tool_calls[{i}]") for i, call in enumerate(calls)]
    return message


def _call(call: Any, at: str) -> dict[str, Any]:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or call.get("type", "function") != "function":
        raise invalid(at, f'\'{at}\' must be {{"id": …, "type": "function", "function": {{…}}}}.')
    name = _tool_name(function.get("name"), f"{at}.function.name")
    arguments = _arguments(function.get("arguments"), f"{at}.function.arguments")
    return {
        "id": _short_text(call.get("id"), f"{at}.id"),
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def _arguments(value: Any, at: str) -> str:
    refusal = invalid(at, f"'{at}' must be a JSON object written as a text.")
    if not isinstance(value, str):
        raise refusal
    try:
        found = json.loads(value or "{}")
    except (ValueError, RecursionError):
        raise refusal from None
    if not isinstance(found, dict):
        raise refusal
    return value or "{}"


def _tool_name(value: Any, at: str) -> str:
    if isinstance(value, str) and TOOL_NAME.match(value):
        return value
    raise invalid(at, f"'{at}' must be 1 to 64 letters, digits, underscores or dashes.")


def _check_tool_answers(messages: list[dict[str, Any]]) -> None:
    """Every tool message answers a call made before it."""
    open_calls: set[str] = set()
    for place, message in enumerate(messages):
        open_calls |= {call["id"] for call in message.get("tool_calls", ())}
        if message["role"] == "tool" and message["tool_call_id"] not in open_calls:
            at = f"messages[{place}].tool_call_id"
            raise invalid(at, f"'{at}' names no tool call of an assistant message before it.")


def read_tools(value: Any) -> list[dict[str, Any]] | None:
    """The tools of the request; None where it names none, so that the agent's own are offered."""
    if value is None or value == []:
        return None
    if not isinstance(value, list) or len(value) > MAX_TOOLS:
        raise invalid("tools", f"'tools' must be a list of at most {MAX_TOOLS} tools.")
    tools = [_tool(item, f"tools[{place}]") for place, item in enumerate(value)]
    if len({tool["name"] for tool in tools}) < len(tools):
        raise invalid("tools", "'tools' holds two functions of the same name.")
    return tools


def _tool(item: Any, at: str) -> dict[str, Any]:
    if not isinstance(item, dict) or item.get("type") != "function":
        raise _not_a_function(at)
    function = item.get("function")
    if not isinstance(function, dict):
        raise _not_a_function(at)
    if function.get("strict"):
        message = f"'{at}.function.strict' must be false: arguments are not forced into the schema here."
        raise invalid(f"{at}.function.strict", message, code="unsupported_value")
    _refuse_extras(function, {"name", "description", "parameters", "strict"}, f"{at}.function")
    description = function.get("description") or ""
    if not isinstance(description, str):
        raise invalid(f"{at}.function.description", f"'{at}.function.description' must be a text.")
    return {
        "name": _tool_name(function.get("name"), f"{at}.function.name"),
        "description": description,
        "parameters": _schema(function.get("parameters"), f"{at}.function.parameters"),
    }


def _not_a_function(at: str) -> ApiError:
    return invalid(at, f'\'{at}\' must be {{"type": "function", "function": {{"name": …}}}}.')


def _schema(value: Any, at: str) -> dict[str, Any]:
    if value is None or value == {}:
        return {"type": "object", "properties": {}}
    if isinstance(value, dict) and value.get("type") == "object":
        return value
    raise invalid(at, f'\'{at}\' must be a JSON schema with "type": "object".')
