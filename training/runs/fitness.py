"""What keeps an agent from being trained: tables that are gone, programs nobody allowed. In sentences.

Only what would make a run fail for certain; what is merely unwise is left to the preflight page.
"""

from django.utils.translation import gettext as _

from gpu_worker.tools.filling import secret_names
from training.models import LIVING, Agent, Secret, Tool
from training.runs import mcp_programs, versions


def complaint(agent: Agent) -> str | None:
    """The first thing that is missing, in a sentence a person can act on; None if nothing is."""
    for tool in agent.tools.filter(LIVING).select_related("table"):
        found = _table_complaint(tool) or _program_complaint(tool)
        if found:
            return found
    return _secret_complaint(agent)


def _table_complaint(tool: Tool) -> str | None:
    if tool.kind != Tool.Kind.TABLE:
        return None
    if tool.table is None or tool.table.deleted_at:
        told = {"tool": tool.name}
        return _("The tool %(tool)s has no table any more. Give it one, or remove the tool.") % told
    if versions.table_path(tool.table.sha256).is_file():
        return None
    told = {"tool": tool.name, "file": tool.table.filename}
    return _("The table behind %(tool)s is not on this machine. Upload %(file)s again.") % told


def _secret_complaint(agent: Agent) -> str | None:
    names = {name for tool in agent.tools.filter(LIVING) for name in secret_names(tool.settings)}
    known = Secret.objects.filter(owner=agent.owner_id, name__in=names).values_list("name", flat=True)
    missing = sorted(names - set(known))
    if not missing:
        return None
    return _(
        "A tool refers to the secret %(name)s, which you do not have. Add it, or rename it in the tool."
    ) % {"name": missing[0]}


def _program_complaint(tool: Tool) -> str | None:
    program = tool.settings.get("program") if tool.kind == Tool.Kind.MCP else None
    if not program:
        return None
    try:
        if program in mcp_programs.allowed():
            return None
    except mcp_programs.Unreadable as problem:
        return str(problem)
    told = {"tool": tool.name, "program": program}
    return (
        _(
            "The tool %(tool)s needs the MCP program %(program)s, which the operator of this installation "
            "has not allowed. Ask for it to be added to mcp-servers.json, or use a server with an address."
        )
        % told
    )
