"""What /v1/chat/completions accepts, ignores and refuses."""

import copy
import json
import random
import time
from collections.abc import Iterator
from typing import Any

import pytest

from training.serving.chat_request import ChatRequest, read_chat_request
from training.serving.errors import ApiError

HELLO = [{"role": "user", "content": "Where is order 7?"}]
TOOL = {
    "type": "function",
    "function": {"name": "find_order", "parameters": {"type": "object", "properties": {}}},
}


def read(**fields: Any) -> ChatRequest:
    return read_chat_request(json.dumps({"model": "desk", "messages": HELLO, **fields}).encode())


def refusal(**fields: Any) -> ApiError:
    with pytest.raises(ApiError) as caught:
        read(**fields)
    assert caught.value.status == 400
    return caught.value


def test_the_smallest_request_gets_openais_defaults() -> None:
    asked = read()
    assert (asked.temperature, asked.top_p, asked.n, asked.max_tokens) == (1.0, 1.0, 1, None)
    assert not asked.stream and not asked.logprobs and asked.tools is None and asked.tools_allowed
    assert asked.seed != read().seed


def test_null_is_the_same_as_leaving_out() -> None:
    asked = read(temperature=None, stop=None, tools=None, seed=None, unheard_of=None)
    assert asked.temperature == 1.0 and asked.stop == ()


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("temperature", 2.1, "from 0 to 2"),
        ("temperature", -0.1, "from 0 to 2"),
        ("temperature", "1", "number"),
        ("temperature", True, "number"),
        ("top_p", 0, "above 0"),
        ("top_p", 1.5, "from 0 to 1"),
        ("n", 0, "from 1 to 16"),
        ("n", 17, "from 1 to 16"),
        ("n", 1.5, "whole number"),
        ("seed", 2**63, "whole number"),
        ("seed", "7", "whole number"),
        ("max_tokens", 0, "from 1"),
        ("stop", ["a"] * 5, "at most 4"),
        ("stop", "", "1 to 200"),
        ("stop", [1], "text"),
        ("stream", "yes", "true or false"),
        ("logprobs", 1, "true or false"),
        ("model", "", "name"),
        ("model", 7, "name"),
        ("model", "desk\0", "name"),
        ("messages", [], "1 to 512"),
        ("messages", "hello", "1 to 512"),
        ("messages", HELLO * 513, "1 to 512"),
        ("tools", "find", "at most 64"),
        ("tools", [TOOL] * 65, "at most 64"),
        ("stream_options", {"include_usage": True}, "'stream': true"),
    ],
)
def test_a_value_out_of_range_names_the_field_and_the_range(field: str, value: Any, says: str) -> None:
    error = refusal(**{field: value})
    assert error.param == field
    assert f"'{field}'" in error.message and says in error.message


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("frequency_penalty", 0.5),
        ("presence_penalty", -1),
        ("logit_bias", {"50": 1}),
        ("top_logprobs", 5),
        ("top_logprobs", False),
        ("parallel_tool_calls", False),
        ("response_format", {"type": "json_object"}),
        ("modalities", ["audio"]),
        ("functions", [{}]),
        ("audio", {"voice": "x"}),
        ("reasoning_effort", "high"),
        ("tool_choice", "required"),
        ("tool_choice", {"type": "function", "function": {"name": "find_order"}}),
    ],
)
def test_a_field_that_would_change_the_answer_is_refused_by_name(field: str, value: Any) -> None:
    error = refusal(**{field: value})
    assert error.param == field and error.code is not None and error.code.startswith("unsupported")


@pytest.mark.parametrize("field", ["top_k", "guided_json", "x" * 5000])
def test_an_unknown_field_is_refused(field: str) -> None:
    error = refusal(**{field: 1})
    assert error.code == "unknown_parameter" and len(error.message) < 200


def test_fields_that_ask_for_nothing_are_ignored() -> None:
    asked = read(
        user="u",
        metadata={"a": "b"},
        store=False,
        service_tier="auto",
        frequency_penalty=0,
        presence_penalty=0.0,
        logit_bias={},
        top_logprobs=0,
        parallel_tool_calls=True,
        response_format={"type": "text"},
        tool_choice="auto",
    )
    assert asked.tools_allowed


def test_either_name_of_max_tokens_counts_but_not_two_different_ones() -> None:
    assert read(max_tokens=5).max_tokens == 5
    assert read(max_completion_tokens=6).max_tokens == 6
    assert read(max_completion_tokens=6, max_tokens=6).max_tokens == 6
    assert refusal(max_completion_tokens=6, max_tokens=5).param == "max_tokens"


def test_tool_choice_none_offers_no_tools() -> None:
    assert not read(tools=[TOOL], tool_choice="none").tools_allowed


def test_tools_are_brought_into_the_engines_form() -> None:
    tools = read(tools=[{"type": "function", "function": {"name": "a"}}]).tools
    assert tools == ({"name": "a", "description": "", "parameters": {"type": "object", "properties": {}}},)


@pytest.mark.parametrize(
    ("function", "param"),
    [
        ({"name": "a b"}, "tools[0].function.name"),
        ({"name": "a\n"}, "tools[0].function.name"),
        ({"name": "a", "strict": True}, "tools[0].function.strict"),
        ({"name": "a", "parameters": {"type": "array"}}, "tools[0].function.parameters"),
        ({"name": "a", "parameters": []}, "tools[0].function.parameters"),
        ({"name": "a", "description": 1}, "tools[0].function.description"),
        ({"name": "a", "secret": 1}, "tools[0].function.secret"),
    ],
)
def test_a_malformed_tool_is_named(function: dict[str, Any], param: str) -> None:
    assert refusal(tools=[{"type": "function", "function": function}]).param == param


def test_two_tools_of_one_name_are_refused() -> None:
    assert "same name" in refusal(tools=[TOOL, TOOL]).message


def call(arguments: Any, id: str = "c1") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": "find_order", "arguments": arguments}}


def test_a_conversation_with_a_tool_call_as_the_client_echoes_it_is_read() -> None:
    echoed = {
        "role": "assistant",
        "content": None,
        "tool_calls": [call('{"id": 7}')],
        "refusal": None,
        "annotations": [],
        "audio": None,
        "function_call": None,
    }
    answer = {"role": "tool", "tool_call_id": "c1", "content": "shipped"}
    parts = {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
    developer = {"role": "developer", "content": "Be kind."}
    asked = read(messages=[developer, *HELLO, echoed, answer, parts])
    roles = [message["role"] for message in asked.messages]
    assert roles == ["system", "user", "assistant", "tool", "user"]
    assert asked.messages[2] == {
        "role": "assistant",
        "content": "",
        "tool_calls": [call('{"id": 7}')],
    }
    assert asked.messages[4]["content"] == "ab"


@pytest.mark.parametrize(
    ("message", "param"),
    [
        ("hi", "messages[0]"),
        ({"content": "hi"}, "messages[0].role"),
        ({"role": "robot", "content": "hi"}, "messages[0].role"),
        ({"role": ["user"], "content": "hi"}, "messages[0].role"),
        ({"role": "user"}, "messages[0].content"),
        ({"role": "user", "content": []}, "messages[0].content"),
        ({"role": "user", "content": [{"type": "image_url"}]}, "messages[0].content[0]"),
        ({"role": "user", "content": "x", "tool_calls": [call("{}")]}, "messages[0].tool_calls"),
        ({"role": "assistant"}, "messages[0].content"),
        ({"role": "assistant", "audio": {"id": "a"}, "content": ""}, "messages[0].audio"),
        ({"role": "assistant", "tool_calls": [call("{")]}, "messages[0].tool_calls[0].function.arguments"),
        ({"role": "assistant", "tool_calls": [call("[]")]}, "messages[0].tool_calls[0].function.arguments"),
        ({"role": "assistant", "tool_calls": [call({})]}, "messages[0].tool_calls[0].function.arguments"),
        (
            {"role": "assistant", "tool_calls": [call("[" * 9999)]},
            "messages[0].tool_calls[0].function.arguments",
        ),
        ({"role": "assistant", "tool_calls": [{"id": "x"}]}, "messages[0].tool_calls[0]"),
        ({"role": "assistant", "tool_calls": {"a": 1}}, "messages[0].tool_calls"),
        ({"role": "tool", "content": "x"}, "messages[0].tool_call_id"),
        ({"role": "tool", "content": "x", "tool_call_id": "zz"}, "messages[0].tool_call_id"),
    ],
)
def test_a_malformed_message_is_named(message: Any, param: str) -> None:
    assert refusal(messages=[message]).param == param


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"text"',
        b"\xff\xfe",
        b'{"temperature": NaN}',
        b'{"temperature": Infinity}',
        b'{"temperature": 1e999}',
        b'{"model": "\\ud800"}',
        b'{"\\ud800": 1}',
        b'{"seed": ' + b"9" * 5000 + b"}",
        b"[" * 200_000,
        b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
        b'{"a":' * 40 + b"1" + b"}" * 40,
    ],
)
def test_what_is_not_sane_json_is_refused(raw: bytes) -> None:
    with pytest.raises(ApiError) as caught:
        read_chat_request(raw)
    assert caught.value.status == 400 and caught.value.code == "invalid_json"
    assert "sys." not in caught.value.message


def test_a_body_full_of_tiny_values_is_refused_quickly() -> None:
    raw = b'{"messages": [' + b"[],[[]]," * 100_000 + b"[]]}"
    start = time.thread_time()
    with pytest.raises(ApiError, match="more than 50000 values"):
        read_chat_request(raw)
    assert time.thread_time() - start < 20


def test_errors_have_openais_shape() -> None:
    assert refusal(n=0).body == {
        "error": {
            "message": "'n' must be a whole number from 1 to 16.",
            "type": "invalid_request_error",
            "param": "n",
            "code": "invalid_value",
        }
    }


def test_whatever_is_sent_the_answer_is_a_request_or_a_refusal() -> None:
    """5,000 valid bodies with values swapped for others, seeded: no other exception ever."""
    rng = random.Random(7)
    accepted = 0
    for _ in range(5000):
        body = full_request()
        for _ in range(rng.randrange(3)):
            holder, place = rng.choice(list(places(body)))
            holder[place] = copy.deepcopy(rng.choice(STRANGE))
        try:
            read_chat_request(json.dumps(body).encode())
            accepted += 1
        except ApiError as error:
            assert error.status == 400 and len(error.message) < 500
            json.dumps(error.body)
    assert 1000 < accepted < 4500


STRANGE: list[Any] = [
    None, True, False, 0, -1, 1.5, 1e308, 2**70, "", "x", "user", "tool", "\0", "{", "[]", "é" * 300, [], {},
    [[]], [None], {"type": "text"}, {"a": {"b": []}}, ["user"], [{}], [{"role": "user"}],
]  # fmt: skip


def full_request() -> dict[str, Any]:
    echoed = {"role": "assistant", "content": None, "tool_calls": [call('{"id": 7}')]}
    answer = {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "shipped"}]}
    return {
        "model": "desk",
        "messages": [{"role": "system", "content": "Be kind."}, *copy.deepcopy(HELLO), echoed, answer],
        "tools": [copy.deepcopy(TOOL)],
        "tool_choice": "auto",
        "temperature": 0.5,
        "top_p": 0.9,
        "n": 2,
        "max_tokens": 7,
        "stop": ["a", "b"],
        "seed": 3,
        "logprobs": True,
        "stream": True,
        "stream_options": {"include_usage": True},
        "response_format": {"type": "text"},
        "logit_bias": {},
        "metadata": {"a": "b"},
    }


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a nest whose value can be swapped, as (holder, key)."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from places(value[key])
