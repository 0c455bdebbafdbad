"""An expectation written out as lines and read back is the same expectation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_worker.types import Scenario, Trajectory
from judging.checks import check
from training.authoring.studio.expectations import CallLine, Lines, Unreadable, read, told, written

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
values = st.recursive(
    texts | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
)
expectations = st.fixed_dictionaries(
    {},
    optional={
        "answer_has": st.lists(st.lists(texts, min_size=1, max_size=3), min_size=1, max_size=3),
        "answer_lacks": st.lists(texts, min_size=1, max_size=3),
        "evidence": st.lists(texts, min_size=1, max_size=3),
        "calls": st.lists(
            st.fixed_dictionaries(
                {"name": st.from_regex(r"[a-z][a-z0-9_]{0,10}", fullmatch=True)},
                optional={"arguments": st.dictionaries(texts, values, min_size=1, max_size=3)},
            ),
            min_size=1,
            max_size=2,
        ),
        "changes": st.just([{"table": "orders", "row": 3}]),
    },
)


@given(expectations)
def test_nothing_is_lost_between_the_expectation_and_its_lines(expect: dict[str, object]) -> None:
    assert read(written(expect), expect) == expect


@given(texts, texts, texts, texts)
def test_whatever_is_typed_is_read_or_refused_with_a_sentence(
    has: str, lacks: str, name: str, more: str
) -> None:
    lines = Lines(has, lacks, more, (CallLine(name, more),))
    try:
        expect = read(lines, {})
    except Unreadable as unreadable:
        assert str(unreadable) and unreadable.field in Lines.__dataclass_fields__
        return
    assert read(written(expect), {}) == expect


def test_alternatives_stand_on_one_line_and_may_hold_the_bar() -> None:
    lines = Lines(answer_has="shipped | on its way\nDHL\n\na \\| b")
    assert read(lines, {}) == {"answer_has": [["shipped", "on its way"], ["DHL"], ["a | b"]]}


def test_calls_are_read_from_rows_and_numbers_pass_the_checks_either_way() -> None:
    lines = Lines(calls=(CallLine("find_orders", "column: order_id\nvalue: 4128"), CallLine("", " ")))
    expect = read(lines, {})
    assert expect == {
        "calls": [{"name": "find_orders", "arguments": {"column": "order_id", "value": "4128"}}]
    }
    made = {"function": {"name": "find_orders", "arguments": '{"column": "order_id", "value": 4128}'}}
    messages = (
        {"role": "assistant", "content": "", "tool_calls": [made]},
        {"role": "assistant", "content": "ok"},
    )
    tried = Trajectory("s", 0, messages, (), "answered")
    score = check(Scenario("s", "train", (), expect), tried)
    assert score is not None and score.value == 1.0


@pytest.mark.parametrize(
    ("lines", "field"),
    [
        (Lines(calls=(CallLine("", "value: 3"),)), "calls"),
        (Lines(calls=(CallLine("find", "no colon here"),)), "calls"),
        (Lines(calls=(CallLine("find", 'value: {"open'),)), "calls"),
        (Lines(calls=(CallLine("two words", ""),)), "calls"),
        (Lines(evidence="x" * 2001), "evidence"),
        (Lines(answer_lacks="x\n" * 101), "answer_lacks"),
    ],
)
def test_lines_that_mean_nothing_are_refused_with_a_sentence(lines: Lines, field: str) -> None:
    with pytest.raises(Unreadable) as refused:
        read(lines, {})
    assert refused.value.field == field and str(refused.value).endswith(".")


def test_changes_to_tables_are_kept() -> None:
    assert read(Lines(answer_has="x"), {"changes": [], "answer_lacks": ["y"]}) == {
        "answer_has": [["x"]],
        "changes": [],
    }


def test_sentences_say_what_is_expected() -> None:
    expect = {
        "answer_has": [["4,20", "4.20"]],
        "answer_lacks": ["no rows"],
        "evidence": ["price: 4.20"],
        "calls": [{"name": "find", "arguments": {"column": "id", "value": "7"}}],
        "changes": [],
    }
    assert told(expect) == [
        "The answer says “4,20” or the like.",
        "It does not say “no rows”.",
        "A tool shows “price: 4.20”.",
        "It calls find (column = id, value = 7).",
        "No table is changed.",
    ]
    assert told({}) == []
