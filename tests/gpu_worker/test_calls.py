"""Tool calls are read strictly; whatever is wrong with one becomes a sentence."""

from __future__ import annotations

import pytest

from gpu_worker.engines.embedded.calls import MAX_CALLS, MAX_DEPTH, read_calls


def call(body: str) -> str:
    return f"<tool_call>\n{body}\n</tool_call>"


GOOD = '{"name": "look_up", "arguments": {"order": "1042", "depth": {"a": [1, 2.5, null]}}}'


def test_content_and_calls_are_told_apart() -> None:
    reading = read_calls(f"Let me see. \n{call(GOOD)}\n{call(GOOD)}", "call_7")
    assert reading.content == "Let me see."
    assert [c.id for c in reading.calls] == ["call_7_0", "call_7_1"]
    assert reading.calls[0].name == "look_up"
    assert reading.calls[0].arguments == {"order": "1042", "depth": {"a": [1, 2.5, None]}}
    assert reading.problem is None


def test_compact_spacing_and_empty_arguments_are_fine() -> None:
    reading = read_calls('<tool_call>{"name":"now","arguments":{}}</tool_call>', "call_0")
    assert (reading.content, reading.calls[0].arguments) == ("", {})


def test_plain_text_has_no_calls() -> None:
    reading = read_calls("  It was shipped. <tool> {} \n", "call_0")
    assert (reading.content, reading.calls, reading.problem) == ("It was shipped. <tool> {}", (), None)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("<tool_call>", "not closed"),
        (f"<tool_call>\n{GOOD}", "not closed"),
        (f"{call(GOOD)}<tool_call>{{", "not closed"),
        (f"{GOOD}</tool_call>", "without its <tool_call>"),
        (f"{call(GOOD)}</tool_call>", "without its <tool_call>"),
        (call(f"<tool_call>{GOOD}"), "not valid JSON"),
        (call(""), "not valid JSON"),
        (call("{'name': 'a'}"), "not valid JSON"),
        (call(GOOD + GOOD), "not valid JSON"),
        (call(GOOD[:-1]), "not valid JSON"),
        (call('{"name": "a\x01", "arguments": {}}'), "not valid JSON"),
        (call("[]"), "not a JSON object"),
        (call('"look_up"'), "not a JSON object"),
        (call("null"), "not a JSON object"),
        (call("1e9999"), "too large"),
        (call('{"arguments": {}}'), "no usable name"),
        (call('{"name": "  ", "arguments": {}}'), "no usable name"),
        (call('{"name": 3, "arguments": {}}'), "no usable name"),
        (call('{"name": "%s", "arguments": {}}' % ("a" * 999)), "no usable name"),
        (call('{"name": "a"}'), "arguments are not a JSON object"),
        (call('{"name": "a", "arguments": []}'), "arguments are not a JSON object"),
        (call('{"name": "a", "arguments": "{}"}'), "arguments are not a JSON object"),
        (call('{"name": "a", "arguments": {"x": NaN}}'), "NaN"),
        (call('{"name": "a", "arguments": {"x": -Infinity}}'), "-Infinity"),
        (call('{"name": "a", "arguments": {"x": 1e400}}'), "too large"),
        (call('{"name": "a", "arguments": {"x": %s}}' % ("9" * 5000)), "integer"),
        (call('{"name": "a", "name": "b", "arguments": {}}'), "twice"),
        (call('{"name": "a", "arguments": {"x": {"y": 1, "y": 2}}}'), "twice"),
        (call('{"name": "a", "arguments": {"x": "\\ud800"}}'), "half of a character"),
        (call('{"name": "a", "arguments": {"\\udfff": 1}}'), "half of a character"),
        (
            call('{"name": "a", "arguments": {"x": %s}}' % ("[" * MAX_DEPTH + "]" * MAX_DEPTH)),
            "nested deeper",
        ),
        (call("[" * 100_000), "nested deeper"),
        (call('{"a":' * 50_000), "nested deeper"),
        (call(GOOD) * (MAX_CALLS + 1), "More than"),
    ],
)
def test_malformed_calls_become_a_sentence(text: str, says: str) -> None:
    reading = read_calls(text, "call_0")
    assert reading.calls == ()
    assert reading.content == text
    assert reading.problem is not None and says in reading.problem and len(reading.problem) < 300
