"""Tools of MCP servers, over HTTP or from a program that the operator allows.

settings:
  url      the server's address (streamable HTTP); called through the guard
  headers  {name: text}; {{secret:NAME}} stands for a secret
  program  instead of url: the name of a program in the operator's file, which alone says how it is run
  tool     the tool's name on the server

The texts of a server are a stranger's: they are bounded here and must be escaped where they are shown. Its
output schemas are not checked, since a pattern in them could run for hours.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import httpx2
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp.types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    EmbeddedResource,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from pydantic import ValidationError

from gpu_worker.rollout import MAX_RESULT, bounded
from gpu_worker.tools import aside
from gpu_worker.tools.fetching import MAX_COMPLAINT
from gpu_worker.tools.filling import Filling
from gpu_worker.tools.guard import PUBLIC_ONLY, Guard, NotAllowed
from gpu_worker.tools.http import checked_headers, checked_url
from gpu_worker.tools.mcp_sessions import Source, asked
from gpu_worker.tools.plans import PlanError, record_of, text_of
from gpu_worker.types import Outside, Tool, ToolError, ToolPlan, ToolSpec

T = TypeVar("T")

DEADLINE = 30.0
"""Seconds for a call, the opening of the session included."""
TIMED_OUT = f"no answer within {DEADLINE:.0f} seconds"
MAX_TOOLS = 200
MAX_PAGES = 20
MAX_DESCRIPTION = 2000
MAX_SCHEMA = 20_000
"""Characters of a tool's schema as JSON; a tool with a larger one is left out."""


def mcp_tool(plan: ToolPlan, outside: Outside, guard: Guard = PUBLIC_ONLY) -> Tool:
    """One tool of a server. It always waits. Raises PlanError."""
    name = text_of(plan.settings, "tool")
    if not name:
        raise PlanError("Choose one of the server's tools.")
    _check(plan.settings)

    def call(arguments: dict[str, Any]) -> str:
        text = _asked(plan.settings, outside, guard, lambda client: _called(client, name, arguments))
        return bounded(text, MAX_RESULT)

    return Tool(plan.spec, call, waits=True)


def list_mcp_tools(
    settings: Mapping[str, Any], outside: Outside, guard: Guard | None = None
) -> list[ToolSpec]:
    """The tools a server offers, at most MAX_TOOLS. Raises PlanError, or ToolError if it cannot be asked."""
    _check(settings)
    found = json.loads(_asked(settings, outside, guard or Guard(hosts=outside.hosts), _listed))
    return [
        ToolSpec(one["name"], bounded(one["description"], MAX_DESCRIPTION), one["parameters"])
        for one in found
    ]


def _asked(
    settings: Mapping[str, Any],
    outside: Outside,
    guard: Guard,
    request: Callable[[Client], Awaitable[str]],
) -> str:
    """What the server says, without the secrets it was told. Raises ToolError."""
    filling = Filling({}, outside.secret)
    source = _source(settings, outside, filling, guard)
    try:
        return filling.blanked(aside.wait_for(asked(source, request), DEADLINE))
    except ToolError as error:
        raise ToolError(bounded(filling.blanked(str(error)), MAX_RESULT)) from None
    except NotAllowed as refusal:
        raise ToolError(str(refusal)) from None
    except (TimeoutError, httpx2.TimeoutException):
        raise ToolError(TIMED_OUT) from None
    except (MCPError, httpx2.HTTPError, OSError) as error:
        said = filling.blanked(" ".join(str(error).split()))
        raise ToolError(bounded(f"the MCP server could not be asked: {said}", MAX_COMPLAINT)) from None
    except ValidationError:
        raise ToolError("the MCP server's answer is not what the protocol asks for") from None


def _check(settings: Mapping[str, Any]) -> None:
    url, program = text_of(settings, "url"), text_of(settings, "program")
    if bool(url) == bool(program):
        raise PlanError("An MCP server is either a web address or a program the operator allows.")
    if url:
        checked_url(url)
        if "{" in url:
            raise PlanError("The address of an MCP server is fixed; put secrets into headers.")
        checked_headers(record_of(settings, "headers"))


def _source(settings: Mapping[str, Any], outside: Outside, filling: Filling, guard: Guard) -> Source:
    program = text_of(settings, "program")
    if program:
        return Source(guard, command=outside.programs(program))
    headers = {name: filling.header(text) for name, text in record_of(settings, "headers").items()}
    return Source(guard, url=text_of(settings, "url"), headers=tuple(sorted(headers.items())))


async def _called(client: Client, name: str, arguments: dict[str, Any]) -> str:
    """The text of the result. Raises ToolError for one that the server calls an error."""
    request = CallToolRequest(params=CallToolRequestParams(name=name, arguments=arguments))
    result = await client.session.send_request(request, CallToolResult)
    text = _text(result)
    if result.is_error:
        raise ToolError(text or "the tool failed and does not say why")
    return text


def _text(result: CallToolResult) -> str:
    parts = [_part(content) for content in result.content]
    if not parts and result.structured_content is not None:
        return json.dumps(result.structured_content, ensure_ascii=False)
    return "\n".join(parts)


def _part(content: Any) -> str:
    if isinstance(content, TextContent):
        return content.text
    if isinstance(content, EmbeddedResource) and isinstance(content.resource, TextResourceContents):
        return content.resource.text
    if isinstance(content, ResourceLink):
        return f"[{content.name}: {content.uri}]"
    return f"[{content.type}]"


async def _listed(client: Client) -> str:
    """Name, description and parameters of all tools, as JSON: so secrets are blanked in it as in any text."""
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            told = {"name": tool.name, "description": tool.description or "", "parameters": tool.input_schema}
            if len(json.dumps(tool.input_schema)) <= MAX_SCHEMA:
                found.append(told)
        cursor = page.next_cursor
        if cursor is None:
            break
    return json.dumps(found[:MAX_TOOLS])
