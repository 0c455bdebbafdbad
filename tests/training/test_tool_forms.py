"""Whatever a form holds, it becomes a draft or sentences about it, and a draft that may be saved is sound."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from training.authoring.toolbox import schema_check, tool_forms, tool_settings
from training.models import Tool

STARTS: dict[str, dict[str, Any]] = {
    "simulated": {"description": "", "examples": [], "model": ""},
    "http": {"method": "GET", "url": "https://example.com/", "headers": {}, "mode": "live", "recorded": []},
    "python": {"code": tool_forms.BLANK_CODE},
    "mcp": {"url": "https://example.com/mcp", "headers": {}, "tool": "t"},
    "table": {"does": "find", "table": "0" * 64, "columns": ["a"], "shown": ["a"]},
}
FIELDS = "name|value|type|choices|arguments|result|error"
ROWS = st.from_regex(rf"(row|example|recorded|header)-[0-9]{{1,2}}-({FIELDS})", fullmatch=True)
NAMES = st.sampled_from(
    (
        *("name", "description", "parameters", "parameters_as", "parameters_rest", "behaviour", "model"),
        *("otherwise", "code", "method", "url", "body", "body_as", "keep", "per_minute", "mode"),
        *("columns_listed", "columns-0", "shown-0", "fault-timeout", "fault-error", "fault-empty"),
    )
)
TYPED = st.sampled_from(
    (
        *("json", "form", "live", "replay", "POST", "https://a.example/{b}", "{", '{"a": 1}', '["a"]'),
        *("{{secret:KEY}}", "a[?b==`1`]", "`", "a" * 3000, "NaN", "-1", "9" * 400, "[[", "1e9", "5"),
        "def f(a: int) -> int:\n    return a",
    )
)


@pytest.mark.parametrize("examples", [60, pytest.param(2_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", STARTS)
def test_any_form_becomes_a_draft_or_sentences(kind: str, examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(st.dictionaries(NAMES | ROWS, st.text(max_size=30) | TYPED, max_size=14))
    def becomes(data: dict[str, str]) -> None:
        a_draft_or_sentences(kind, data)

    becomes()


def a_draft_or_sentences(kind: str, data: dict[str, str]) -> None:
    parameters = {"type": "object", "properties": {"a": {"type": "string"}}}
    tool = Tool(name="t", kind=kind, settings=STARTS[kind], parameters=parameters, faults={})
    draft, problems = tool_forms.draft_in(data, tool)
    found = [*problems, *tool_settings.check(kind, draft.settings, draft.parameters)]
    assert all(problem.text for problem in found)
    json.dumps([draft.settings, draft.parameters, draft.faults], allow_nan=False)
    if not found:
        assert schema_check.check(draft.parameters) == []
