"""From plans to tools: the one place that knows which kind is made by whom.

Everything made here serves one try. Tools of the same table share the try's own view of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from gpu_worker.seeds import seed_for
from gpu_worker.tools.arguments import checked
from gpu_worker.tools.faults import with_faults
from gpu_worker.tools.guard import Guard
from gpu_worker.tools.http import http_tool
from gpu_worker.tools.mcp import mcp_tool
from gpu_worker.tools.python.tool import python_tool
from gpu_worker.tools.simulated import simulated_tool
from gpu_worker.tools.tables import LiveTable, open_table, table_tool
from gpu_worker.types import Outside, Tool, ToolPlan


def tools_for(
    plans: Sequence[ToolPlan], outside: Outside, *, seed: int, faults: bool = True
) -> tuple[list[Tool], list[LiveTable]]:
    """Fresh tools for one try, in the order of their plans, and the tables they may change.

    `seed` decides what simulated tools make up and which calls go wrong on purpose. Raises
    plans.PlanError, tables.TableError or python.signature.CodeError for a plan that cannot work.
    """
    tables: dict[str, LiveTable] = {}
    tools = [_tool(plan, outside, seed_for(seed, plan.spec.name), tables) for plan in plans]
    if faults:
        tools = [with_faults(tool, plan.faults, seed) for tool, plan in zip(tools, plans, strict=True)]
    return tools, list(tables.values())


def _tool(plan: ToolPlan, outside: Outside, seed: int, tables: dict[str, LiveTable]) -> Tool:
    """Table tools check their arguments themselves, in words that name the columns."""
    if plan.kind == "table":
        path = str(plan.settings["path"])
        if path not in tables:
            tables[path] = open_table(Path(path)).for_one_try()
        return table_tool(plan, tables[path])
    guard = Guard(hosts=outside.hosts)
    made: dict[str, Callable[[], Tool]] = {
        "http": lambda: http_tool(plan, outside, guard),
        "python": lambda: python_tool(plan),
        "mcp": lambda: mcp_tool(plan, outside, guard),
        "simulated": lambda: simulated_tool(plan, outside, seed),
    }
    return checked(made[plan.kind]())
