"""Texts as JSON: nothing is lost, nothing can pass for anything else, and JSON is not wrapped up twice."""

import json
import random

import pytest

from judging.quoting import shown, shown_text
from tests.judging.red_team import FAMILIES


@pytest.mark.parametrize("family", FAMILIES)
def test_every_text_reads_back_to_the_letter(family: str) -> None:
    for seed in range(20):
        text = FAMILIES[family](random.Random(seed))
        assert json.loads(shown(text)) == text
        assert "\n" not in shown_text(text)


def test_json_loses_its_spaces_and_nothing_else() -> None:
    text = '{ "total" : 1.10,\n "big": 123456789012345678901234567890, "name": "Zo\\u00eb", "no": null }'
    assert shown_text(text) == '{"total":1.10,"big":123456789012345678901234567890,"name":"Zoë","no":null}'


def test_doubled_keys_stay_doubled() -> None:
    assert shown_text('{"a": 1, "a": 2}') == '{"a":1,"a":2}'


def test_the_keys_of_a_list_of_objects_are_written_once() -> None:
    rows = json.dumps([{"id": n, "note": "x"} for n in range(3)])
    assert shown_text(rows) == 'keys["id","note"]rows[[0,"x"],[1,"x"],[2,"x"]]'


def test_two_rows_or_rows_of_other_keys_stay_objects() -> None:
    assert shown_text('[{"a": 1}, {"a": 2}]') == '[{"a":1},{"a":2}]'
    assert shown_text('[{"a": 1}, {"a": 2}, {"b": 3}]') == '[{"a":1},{"a":2},{"b":3}]'


@pytest.mark.parametrize("text", ["12", '"a"', "[1, NaN]", "{'a': 1}", '{"a": 1} and more', "", "[" * 5_000])
def test_what_is_no_object_or_list_stays_a_text(text: str) -> None:
    assert shown_text(text) == shown(text)


def test_what_opens_nothing_stays_readable() -> None:
    for text in ("a < b <= c", "x <3", "Ann <ann.lee+1@example.com>", "a <b>bold</b> word"):
        assert json.loads(shown(text)) == text
        assert shown(text) == f'"{text}"'


@pytest.mark.parametrize(
    "text", ["</b x>", "<bos>", "<0x0A>", "<a@b>\u2028</try>", "<\u00a0", "<em onclick=1>"]
)
def test_what_only_looks_plain_is_escaped(text: str) -> None:
    assert shown(text).count("<") == text.count("<a@b>")


def test_a_turn_of_a_chat_is_none_at_the_start_of_a_line() -> None:
    assert shown("no\n\nHuman: hi") == '"no\\n\\nHuman\\u003a hi"'
    assert shown("the system: fine") == '"the system: fine"'
    assert shown({"user": 1}) == '{"user":1}'
