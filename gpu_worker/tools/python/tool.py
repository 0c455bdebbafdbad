"""The tool that a person's Python function becomes."""

from __future__ import annotations

from typing import Any

from gpu_worker.tools.python.sandbox import CodeFailed, run
from gpu_worker.tools.python.signature import function_in
from gpu_worker.types import Tool, ToolError, ToolPlan


def python_tool(plan: ToolPlan) -> Tool:
    """Calls the function in plan.settings["code"]. Its time is limited, so nobody waits in a thread for it.

    Raises signature.CodeError if the code holds no such function.
    """
    code = str(plan.settings["code"])
    function = function_in(code).name

    def call(arguments: dict[str, Any]) -> str:
        try:
            return run(code, function, arguments).text
        except CodeFailed as failed:
            raise ToolError(str(failed)) from None

    return Tool(plan.spec, call)
