"""Plans that anybody may have written: whatever stands in them, a tool is made or the plan is refused."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_worker.tools.faults import with_faults
from gpu_worker.tools.http import http_tool
from gpu_worker.tools.mcp import mcp_tool
from gpu_worker.tools.plans import PlanError
from gpu_worker.tools.simulated import simulated_tool
from gpu_worker.types import Tool, ToolPlan, ToolSpec
from tests.gpu_worker.outsides import outside

KEYS = (
    ["method", "url", "headers", "body", "body_as", "keep", "per_minute", "mode", "recorded"]
    + ["program", "tool", "description", "examples", "model", "otherwise"]
    + ["timeout", "error", "empty", "arguments", "result"]
)
WORDS = [
    "live",
    "replay",
    "json",
    "form",
    "GET",
    "https://example.com/{id}",
    "{{secret:A}}",
    "{",
    "a[",
    "{id}",
]
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10) | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=8,
)
SETTINGS = st.dictionaries(st.sampled_from(KEYS), JSON, max_size=8)
SPEC = ToolSpec("desk", "", {"type": "object", "properties": {"id": {}}})
MADE_BY: dict[str, Callable[[dict[str, Any]], Tool]] = {
    "http": lambda given: http_tool(
        ToolPlan(SPEC, "http", {"url": "https://example.com/{id}", **given}), outside()
    ),
    "mcp": lambda given: mcp_tool(
        ToolPlan(SPEC, "mcp", {"url": "https://example.com/", "tool": "x", **given}), outside()
    ),
    "simulated": lambda given: simulated_tool(ToolPlan(SPEC, "simulated", given), outside(), 1),
    "faults": lambda given: with_faults(Tool(SPEC, str), given, 1),
}


@pytest.mark.parametrize("kind", MADE_BY)
@given(given=SETTINGS)
@settings(max_examples=200, deadline=None)
def test_any_settings_make_a_tool_or_are_refused(kind: str, given: dict[str, Any]) -> None:
    a_tool_or_refused(kind, given)


@pytest.mark.slow
@pytest.mark.parametrize("kind", MADE_BY)
@given(given=SETTINGS)
@settings(max_examples=10_000, deadline=None)
def test_ten_thousand_settings_make_a_tool_or_are_refused(kind: str, given: dict[str, Any]) -> None:
    a_tool_or_refused(kind, given)


def a_tool_or_refused(kind: str, given: dict[str, Any]) -> None:
    try:
        tool = MADE_BY[kind](given)
    except PlanError as refusal:
        assert str(refusal).endswith(".") or ":" in str(refusal)
        return
    assert tool.spec is SPEC
