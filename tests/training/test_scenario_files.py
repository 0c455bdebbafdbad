"""Scenario files: read with a mapping, refused in sentences, exported without formulas, read back whole."""

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gpu_worker.types import Scenario
from training.authoring.studio.questions import Question, leaks
from training.authoring.studio.scenario_files import Imported, exported, guessed, imported, preview
from training.authoring.studio.scenario_records import FORMATS, Records, Refused, defused, read, undone

SPARE = settings(deadline=None, suppress_health_check=list(HealthCheck))
FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "'=1", "''+1", "＝1", '=HYPERLINK("x")')


def records(content: str | bytes, filename: str = "file.csv") -> Records:
    return read(content.encode() if isinstance(content, str) else content, filename)


def brought(content: str | bytes, filename: str = "file.csv") -> Imported:
    found = records(content, filename)
    return imported(found, guessed(found))


def question(text: str, **more: Any) -> Question:
    rows, kind = more.pop("rows", ()), more.pop("kind", "")
    facts = {"id": "a", "split": "train", "messages": ({"role": "user", "content": text},)} | more
    return Question(Scenario(**facts), kind, rows)


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        ("Question,Answer,Tags,Split", ("Question", "Answer", "Tags", "Split")),
        ("prompt,expected output,note", ("prompt", "expected output", "", "")),
        ("问题,答案,标签", ("问题", "答案", "标签", "")),
        ("number,remark", ("remark", "", "", "")),
    ],
)
def test_columns_are_guessed_from_their_names(header: str, columns: tuple[str, ...]) -> None:
    cells = ",".join(["1", *["a longer text"] * header.count(",")])
    assert tuple(guessed(records(f"{header}\n{cells}\n")).values()) == columns


def test_a_csv_becomes_questions_with_answers_tags_and_splits() -> None:
    found = brought(
        "question;answers;tags;split\n"
        "Where is Oslo?;Norway | Norge;maps, easy;Validation\n"
        '"Two lines\nof it";"first\nsecond";;test\n'
    )
    one, two = found.questions
    assert one.scenario.expect == {"answer_has": [["Norway", "Norge"]]}
    assert (one.scenario.tags, one.scenario.split) == (("maps", "easy"), "val")
    assert two.text == "Two lines\nof it" and two.scenario.split == "test"
    assert two.scenario.expect["answer_has"] == [["first"], ["second"]]
    assert found.problems == ()


def test_json_lines_take_lists_chats_and_plain_values() -> None:
    lines = [
        {"question": "A capital?", "answers": ["Oslo", "Paris"]},
        {"input": "no question", "question": "Both?", "answers": [["a"], ["b", "c"]]},
        {"question": "How many?", "answers": 12},
        {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]},
    ]
    text = "\n".join(map(json.dumps, lines))
    found = brought(text, "chat.jsonl")
    expects = [question.scenario.expect for question in found.questions]
    assert expects[:3] == [
        {"answer_has": [["Oslo", "Paris"]]},
        {"answer_has": [["a"], ["b", "c"]]},
        {"answer_has": [["12"]]},
    ]
    assert found.questions[3].text == "Hi" and expects[3] == {"answer_has": [["Hello"]]}
    assert brought(json.dumps(lines), "list.json").questions[0].text == "A capital?"


def test_rows_that_mean_nothing_are_left_out_and_named() -> None:
    found = brought("question,split\nGood?,train\n,train\nOdd?,holiday\nLong,train,more,cells\n")
    assert [question.text for question in found.questions] == ["Good?"]
    assert "Row 5" in found.problems[0]
    assert [problem.split(":")[0] for problem in found.problems[1:]] == ["Row 3", "Row 4"]


def test_many_problems_are_counted() -> None:
    found = brought("question,answers\n" + ",x\n" * 80 + "Good?,x\n")
    assert len(found.problems) == 51 and "30" in found.problems[-1]


def test_a_preview_shows_what_would_be_read() -> None:
    found = records("a,b\n" + "".join(f"Question {n}?,{n}\n" for n in range(30)) + ",x\n")
    shown = preview(found, {"question": "a", "answers": "b", "tags": "", "split": ""})
    assert (shown.total, shown.good, len(shown.rows)) == (31, 30, 10)
    assert (shown.rows[3].number, shown.rows[3].question, shown.rows[3].answers) == (5, "Question 3?", "3")


@pytest.mark.parametrize(
    "mapping", [{}, {"question": ""}, {"question": "nope"}, {"question": "a", "tags": "z"}]
)
def test_a_mapping_that_cannot_be_is_refused(mapping: dict[str, str]) -> None:
    with pytest.raises(Refused):
        imported(records("a,b\n1,2\n"), mapping)


def test_more_than_an_agent_can_have_are_refused() -> None:
    with pytest.raises(Refused, match="10000"):
        brought("question\n" + "a\n" * 10_001)


def test_rows_without_a_split_leak_into_no_other() -> None:
    there = [question("Where is order 12?", id="there", split="test")]
    found = records("question\n" + "Where is order 12, please?\n" + "".join(f"Q {n}?\n" for n in range(100)))
    brought_in = imported(found, guessed(found), fixed=there).questions
    assert brought_in[0].scenario.split == "test"
    assert not leaks([*there, *brought_in])
    splits = [question.scenario.split for question in brought_in]
    assert 50 <= splits.count("train") <= 70 and splits.count("val") >= 5


@pytest.mark.parametrize("cell", FORMULAS)
def test_formulas_are_defused_in_a_csv_and_come_back(cell: str) -> None:
    assert defused(cell)[0] == "'" and undone(defused(cell)) == cell
    raw = exported([question(f"{cell}?", tags=(cell.strip(),))], "csv")
    for row in list(csv.reader(io.StringIO(raw.decode("utf-8-sig"), newline="")))[1:]:
        assert all(not value.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝")) for value in row)
    assert brought(raw).questions[0].text == f"{cell}?".strip()


FULL = question(
    "What is the total of order 12?",
    id="single-1",
    split="val",
    expect={
        "answer_has": [["12.50", "twelve | fifty"], ["-5"]],
        "answer_lacks": ["=1", "no\nrows"],
        "evidence": ["order: 12; total: 12.50"],
        "calls": [{"name": "find_orders", "arguments": {"column": "id", "value": "12", "n": 1.5}}],
        "changes": [],
    },
    tags=("easy", "single"),
    rows=("orders:17", "orders:city=a,b"),
    kind="single",
)
CHAT = question(
    "",
    id="chat",
    messages=tuple({"role": r, "content": f"{r} says"} for r in ("system", "user", "assistant", "user")),
)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_what_is_exported_is_read_back_whole(kind: Any) -> None:
    questions = [FULL, CHAT, question("Plain?", id="plain", split="test")]
    assert list(brought(exported(questions, kind), f"file.{kind}").questions) == questions


def test_an_answer_that_was_edited_in_a_spreadsheet_counts() -> None:
    raw = exported([FULL], "csv").decode("utf-8-sig").replace("12.50 | twelve \\| fifty\n-5", "13")
    expect = brought(raw).questions[0].scenario.expect
    assert expect["answer_has"] == [["13"]] and expect["evidence"] == FULL.scenario.expect["evidence"]


@st.composite
def any_question(draw: st.DrawFn) -> Question:
    text = st.text(st.characters(exclude_categories=("C",)), min_size=1, max_size=30)
    said = text.map(str.strip).filter(bool)
    texts = st.lists(said, min_size=1, max_size=3)
    expect = {
        "answer_has": draw(st.lists(texts, max_size=3)),
        "answer_lacks": draw(st.lists(said, max_size=3)),
        "evidence": draw(st.lists(text, max_size=2)),
    }
    return question(
        draw(said),
        id=draw(st.uuids()).hex,
        split=draw(st.sampled_from(["train", "val", "test"])),
        expect={key: value for key, value in expect.items() if value},
        tags=tuple(draw(st.lists(st.text("abcß订单-=+", min_size=1, max_size=9), max_size=3, unique=True))),
        rows=tuple(draw(st.lists(said, max_size=2))),
        kind=draw(st.sampled_from(["", "single", "count"])),
    )


@given(st.lists(any_question(), min_size=1, max_size=5), st.sampled_from(["csv", "jsonl"]))
@settings(SPARE, max_examples=100)
def test_any_questions_come_back(questions: list[Question], kind: Any) -> None:
    assert list(brought(exported(questions, kind), f"x.{kind}").questions) == questions


@given(st.text())
@settings(SPARE)
def test_any_cell_comes_back(cell: str) -> None:
    assert undone(defused(cell)) == cell


def hostile_bytes() -> st.SearchStrategy[bytes]:
    """Raw bytes, texts of both formats with something wrong in them, and pieces of such."""
    signs = list(",;\t\n\r\"'={}[]:") + ["\\ud800", "\x00", "ï»¿", "1e999", "NaN", "null", "-" * 70]
    words = ["question", "answers", "messages", "expect", '{"question": "a"}', '"split"']
    objects = ['{"messages": [{"role": "user", "content": 5}]}', '"expect": {"answer_has": [[]]}']
    fragments = signs + words + objects
    broken = st.lists(st.sampled_from(fragments), max_size=40).map("".join)
    value = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
        max_leaves=20,
    )
    lines = st.lists(st.dictionaries(KEYS, value, max_size=6), max_size=4)
    table = st.lists(st.lists(st.text(max_size=10), max_size=6), max_size=6)
    return st.one_of(
        st.binary(max_size=200),
        broken.map(lambda text: text.encode("utf-8", "surrogatepass")),
        lines.map(lambda rows: "\n".join(map(json.dumps, rows)).encode()),
        table.map(lambda rows: _csv([["question", "answers", "split", "expect", "messages", "rows"], *rows])),
    )


KEYS = st.sampled_from(
    ["question", "answers", "tags", "split", "id", "kind", "rows", "messages", "expect", "x"]
)


def _csv(rows: Sequence[Sequence[str]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue().encode("utf-8", "replace")


def survives(raw: bytes, ending: str) -> None:
    """Either it is refused in a sentence or read, and what is read can be stored and written again."""
    try:
        found = read(raw, f"x.{ending}")
        mapping = guessed(found)
        shown = preview(found, mapping)
        result = imported(found, mapping)
    except Refused as refused:
        assert str(refused)[-1] in ".!"
        return
    assert shown.good == len(result.questions)
    for made in result.questions:
        json.dumps([made.scenario.messages, made.scenario.expect, made.rows], allow_nan=False).encode()
        assert made.text.strip() and "\x00" not in made.text
        made.text.encode()
    assert exported(result.questions, "jsonl").count(b"\n") == len(result.questions)
    assert exported(result.questions, "csv")


@given(hostile_bytes(), st.sampled_from(sorted(FORMATS)))
@example(b"", "csv")
@example(b"[" * 100_000, "json")
@example(b'"' * 1001, "csv")
@example(b"question\n" + b"x" * 200_000, "csv")
@example(b'{"question": ' + b"9" * 5000 + b"}", "jsonl")
@example(b'{"question": "a", "expect": {"calls": [{"name": "x", "arguments": {"n": 1e999}}]}}', "jsonl")
@settings(SPARE, max_examples=100)
def test_hostile_files_are_read_or_refused(raw: bytes, ending: str) -> None:
    survives(raw, ending)


@pytest.mark.slow
@given(hostile_bytes(), st.sampled_from(sorted(FORMATS)))
@settings(SPARE, max_examples=10_000)
def test_ten_thousand_hostile_files_are_read_or_refused(raw: bytes, ending: str) -> None:
    survives(raw, ending)


@pytest.mark.parametrize(
    ("raw", "filename", "told"),
    [
        (b"a" * (10 * 2**20 + 1), "x.csv", "MB"),
        (b"question\n" + b"a\n" * 100_001, "x.csv", "100000 rows"),
        (b'{"question":"a"}\n' * 100_001, "x.jsonl", "100000 rows"),
        (b",".join(b"c%d" % n for n in range(300)) + b"\n1\n", "x.csv", "columns"),
        (b"[" + b"{}," * 1_000_001 + b"{}]", "x.json", "lists and objects"),
        (b'{"question": "' + b"x" * 2**20 + b'"}', "x.jsonl", "characters"),
        (b"PK\x03\x04" + b"\x00" * 500, "x.csv", "not a text file"),
        (b"a,b\n", "x.xlsx", "CSV or JSON"),
        (b'question\n"open\n', "x.csv", "quote"),
        (b" \n ", "x.jsonl", "empty"),
    ],
)
def test_files_that_are_too_much_are_refused_with_a_reason(raw: bytes, filename: str, told: str) -> None:
    with pytest.raises(Refused) as refused:
        read(raw, filename)
    assert told in str(refused.value)
