"""Requests to copy and paste: a curl line and Python, with the right address, name, key and a real question.

Everything is quoted for where it is pasted, so that no question can break out of its quotes.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import Any

KEY_VARIABLE = "ARTWEB_API_KEY"


@dataclass(frozen=True)
class Snippets:
    curl: str
    python: str
    with_tools: str


def snippets(*, base_url: str, model: str, messages: list[dict[str, Any]], key: str | None) -> Snippets:
    """Without a key they read it from the environment variable ARTWEB_API_KEY."""
    return Snippets(
        curl=_curl(base_url, model, messages, key),
        python=_python(base_url, model, messages, key),
        with_tools=_with_tools(base_url, model, messages, key),
    )


def _curl(base_url: str, model: str, messages: list[dict[str, Any]], key: str | None) -> str:
    body = json.dumps({"model": model, "messages": messages}, ensure_ascii=False)
    authorization = f"'Authorization: Bearer {key}'" if key else f'"Authorization: Bearer ${KEY_VARIABLE}"'
    return (
        f"curl -sS {shlex.quote(base_url + '/chat/completions')} \\\n"
        f"  -H {authorization} \\\n"
        f"  -H 'Content-Type: application/json' \\\n"
        f"  -d {shlex.quote(body)}"
    )


def _client(base_url: str, key: str | None) -> str:
    return f"client = OpenAI(\n    base_url={base_url!r},\n    api_key={_key(key)},\n)"


def _key(key: str | None) -> str:
    return repr(key) if key else f"os.environ[{KEY_VARIABLE!r}]"


def _python(base_url: str, model: str, messages: list[dict[str, Any]], key: str | None) -> str:
    return (
        ("" if key else "import os\n\n") + "from openai import OpenAI\n\n"
        f"{_client(base_url, key)}\n"
        "answer = client.chat.completions.create(\n"
        f"    model={model!r},\n"
        f"    messages={messages!r},\n"
        ")\n"
        "print(answer.choices[0].message)"
    )


def _with_tools(base_url: str, model: str, messages: list[dict[str, Any]], key: str | None) -> str:
    return (
        "import json\n" + ("" if key else "import os\n") + "\nfrom openai import OpenAI\n\n\n"
        "def run_tool(name, arguments):\n"
        '    return "no rows"  # your program looks it up here\n\n\n'
        f"{_client(base_url, key)}\n"
        f"messages = {messages!r}\n"
        "for turn in range(6):\n"
        f"    answer = client.chat.completions.create(model={model!r}, messages=messages)\n"
        "    message = answer.choices[0].message\n"
        "    messages.append(message)\n"
        "    for call in message.tool_calls or []:\n"
        "        result = run_tool(call.function.name, json.loads(call.function.arguments))\n"
        '        messages.append({"role": "tool", "tool_call_id": call.id, "content": result})\n'
        "    if not message.tool_calls:\n"
        "        print(message.content)\n"
        "        break"
    )
