"""A try as lines: short, in order, and with its outcome in sight however long it is."""

import json

from gpu_worker.types import Message, ToolSpec
from judging.transcripts import MOST_MESSAGES, TRY_LIMIT, lines, tool_line
from tests.judging.tries import lookup


def said(text: str, role: str = "assistant") -> Message:
    return {"role": role, "content": text}


def test_calls_lose_their_ids_and_empty_texts() -> None:
    assert lines(lookup("4128", '{"status": "shipped"}')) == [
        'call "find_orders" {"column":"order_id","value":"4128"}',
        'result: {"status":"shipped"}',
    ]


def test_results_stand_in_the_order_of_their_calls() -> None:
    calls = [{"id": name, "function": {"name": name, "arguments": "{}"}} for name in ("a", "b")]
    results: list[Message] = [
        {"role": "tool", "tool_call_id": name, "content": f"of {name}"} for name in ("b", "a", "unknown")
    ]
    written = lines([{"role": "assistant", "tool_calls": calls}, *results, said("done")])
    assert written[2:] == ['result: "of a"', 'result: "of b"', 'result: "of unknown"', 'assistant: "done"']


def test_short_messages_are_whole_beside_a_long_one() -> None:
    short = [said(f"word {n} " * 60) for n in range(5)]
    written = lines([*short, said("x" * 90_000, "tool"), said("the end")])
    assert [json.loads(line.partition(": ")[2]) for line in written[:5]] == [m["content"] for m in short]
    assert "characters left out" in written[5]
    assert sum(map(len, written)) < TRY_LIMIT * 1.1


def test_the_last_messages_are_cut_last() -> None:
    written = lines([said("a" * 9_000) for _ in range(30)] + [said("b" * 5_000)])
    assert written[-1] == f'assistant: "{"b" * 5_000}"'
    assert "characters left out" in written[0]
    assert sum(map(len, written)) < TRY_LIMIT * 2


def test_a_try_of_very_many_messages_loses_its_middle() -> None:
    written = lines([said(f"move {n}") for n in range(MOST_MESSAGES + 100)])
    assert len(written) == MOST_MESSAGES + 1
    assert "(100 messages are left out here)" in written
    assert (written[0], written[-1]) == ('assistant: "move 0"', f'assistant: "move {MOST_MESSAGES + 99}"')


def test_the_same_text_is_cut_alike_in_tries_of_different_length() -> None:
    text = said("".join(f"{n} " for n in range(4_000)), "tool")
    one = lines([text, said("a" * 20_000), said("end"), said("end")])
    other = lines([text, said("b" * 21_000), said("more"), said("end"), said("end")])
    assert one[0] == other[0]


def test_a_content_in_parts_is_its_texts() -> None:
    parts = [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "data:" + "A" * 9_000}},
    ]
    assert lines([{"role": "user", "content": parts}]) == ['user: "look\\n(image_url)"']


def test_a_tool_is_one_line() -> None:
    schema = {
        "type": "object",
        "properties": {
            "words": {"type": "array", "items": {"type": "string"}, "description": "to look for"},
            "sort": {"type": "string", "enum": ["up", "down"]},
        },
        "required": ["words"],
    }
    assert tool_line(ToolSpec("find", "Find it.", schema)) == (
        'tool "find" "Find it." takes {"words":"array of string: to look for",'
        '"sort?":{"type":"string","enum":["up","down"]}}'
    )
    assert tool_line(ToolSpec("odd", "", {"$ref": "#/x"})) == 'tool "odd" takes {"$ref":"#/x"}'


def test_escapes_count_where_room_is_short() -> None:
    for hostile in ("<" * 90_000, "\u200b" * 90_000, "<|" * 9_000 + "a" * 90_000, '"' * 300_000):
        written = lines([said(hostile), said("the end")])
        assert len(written[0]) < TRY_LIMIT + 1_000
        assert written[1] == 'assistant: "the end"'


def test_json_that_fits_without_its_spaces_is_shown_whole() -> None:
    table = [{"number": n, "name": "x"} for n in range(1_000)]
    (line,) = lines([said(json.dumps(table, indent=10), "tool")])
    assert line.startswith('result: keys["number","name"]rows[[0,"x"]')
    assert line.endswith('[999,"x"]]')
