"""Splits without leaks, and texts that ask the same."""

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_worker.types import Scenario
from training.authoring.studio.questions import Question, Texts, duplicates, leaks, split


def question(name: str, text: str, *rows: str, kind: str = "single", split: str = "train") -> Question:
    return Question(Scenario(name, split, ({"role": "user", "content": text},)), kind, rows)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is the city of order 4128?", "Tell me the city of order 4128, please."),
        ("How do I reset my password?", "How can I reset my password?"),
        ("Hello! Where is order AB-12?", "where is the order ab-12"),
        ("订单4128的城市是什么？", "请问订单4128的城市是什么？谢谢"),
        ("订单4128的城市是什么？", "帮我查一下订单4128的城市"),
    ],
)
def test_the_same_question_in_other_words_is_a_duplicate(one: str, other: str) -> None:
    assert duplicates([one, "something else", other]) == [(0, 2)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is the city of order 4128?", "What is the city of order 4129?"),
        ("What is the city of order 4128?", "What is the price of order 4128?"),
        ("客户张伟的城市是什么？", "客户李娜的城市是什么？"),
        ("Which order has city Oslo?", "How many orders have city Lima?"),
    ],
)
def test_another_question_is_none(one: str, other: str) -> None:
    assert duplicates([one, other]) == []


def test_one_word_more_in_a_long_text_is_still_a_duplicate() -> None:
    text = " ".join(f"word{chr(97 + n)}" for n in range(20))
    assert duplicates([text, text + " extra"]) == [(0, 1)]
    assert duplicates([text, text + " extra3"]) == []


def test_leaks_name_the_shared_row_or_nearly_the_same_words() -> None:
    one = question("a", "What is the city of order 1?", "orders:1")
    row = question("b", "Who got it?", "orders:2", "orders:1", split="test")
    words = question("c", "Tell me the city of order 1.", "orders:9", split="val")
    found = {(leak.first, leak.second, leak.row) for leak in leaks([one, row, words])}
    assert found == {("a", "b", "orders:1"), ("a", "c", "")}
    assert leaks([one, question("d", "Who?", "orders:1")]) == []


def some_questions(rng: random.Random, count: int, rows: int) -> list[Question]:
    found = []
    for number in range(count):
        chosen = [f"orders:{rng.randrange(rows)}" for _ in range(rng.choice((1, 1, 2, 5)))]
        text = f"What is the {rng.choice('abc')} of {rng.randrange(rows)}?"
        found.append(question(f"q{number}", text, *chosen, kind=rng.choice(("single", "count"))))
    return found


@given(st.integers(0, 10**6), st.integers(1, 120), st.sampled_from([3, 30, 300, 5000]))
@settings(max_examples=150, deadline=None)
def test_no_split_leaks_whatever_the_questions(seed: int, count: int, rows: int) -> None:
    questions = some_questions(random.Random(seed), count, rows)
    placed = split(questions, seed)
    assert not leaks(placed)
    assert [q.scenario.id for q in placed] == [q.scenario.id for q in questions]
    assert split(questions, seed) == placed


@given(st.integers(0, 10**6))
@settings(max_examples=50, deadline=None)
def test_fixed_questions_draw_others_into_their_split(seed: int) -> None:
    rng = random.Random(seed)
    fixed = split(some_questions(rng, 40, 400), seed)
    fresh = [question(f"n{n}", q.text, *q.rows) for n, q in enumerate(some_questions(rng, 40, 400))]
    placed = split(fresh, seed, fixed=fixed)
    tied = {row for q in fixed for row in q.rows}
    across = [leak for leak in leaks([*fixed, *placed]) if leak.row and leak.row not in tied]
    assert not across


def test_shares_are_kept_for_every_kind() -> None:
    questions = [
        question(f"q{n}", f"What is {n}?", f"t:{n}", kind="single" if n % 2 else "count") for n in range(200)
    ]
    counts = Counter((q.kind, q.scenario.split) for q in split(questions, 3))
    for kind in ("single", "count"):
        assert [counts[kind, name] for name in ("train", "val", "test")] == [60, 10, 30]


def test_equal_texts_are_found_in_any_number() -> None:
    texts = ["What is 5?"] * 3000 + [f"What is {n}?" for n in range(3000)]
    assert len(duplicates(texts)) == 3000
    assert Texts(texts[:2]).like("what is 5") == [0]
