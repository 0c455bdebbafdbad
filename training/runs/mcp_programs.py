"""MCP servers that run on this machine: only those that the operator wrote into a file, by name.

The file has the form that MCP clients use: {"mcpServers": {"files": {"command": "uvx", "args": ["…"]}}}.
Nobody can change it through a page; starting the programs is left to gpu_worker.tools.mcp.
"""

import json
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _


class Unreadable(ValueError):
    """The operator's file does not say what it should; the sentence names the file and the place."""


def allowed() -> dict[str, tuple[str, ...]]:
    """Name of a server → its command. Empty without a file. Raises Unreadable."""
    path = Path(settings.MCP_PROGRAMS)
    try:
        servers = json.loads(path.read_text(encoding="utf-8"))["mcpServers"]
        return {str(name): _command(server) for name, server in servers.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        told = {"file": path.name, "problem": f"{type(error).__name__}: {error}"[:200]}
        raise Unreadable(
            _(
                "The file %(file)s in the data directory cannot be used (%(problem)s). It must look like "
                '{"mcpServers": {"name": {"command": "program", "args": []}}}.'
            )
            % told
        ) from None


def _command(server: dict[str, object]) -> tuple[str, ...]:
    command, arguments = server["command"], server.get("args", [])
    if not isinstance(command, str) or not isinstance(arguments, list):
        raise TypeError("command must be a text and args a list")
    return (command, *map(str, arguments))
