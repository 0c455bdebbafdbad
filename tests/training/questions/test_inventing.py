"""Invented questions: they expect what the tools return; only right, looked-up answers pass."""

import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpu_worker.environments.order_desk import customers_csv, orders_csv
from gpu_worker.tools.table import parse_table
from gpu_worker.tools.tables.words import folded
from judging.checks import PASSED
from judging.matching import stands_in
from tests.training.questions.agents import Asked, looked_up, stored, tools_of, worth
from training.authoring.studio.questions import KINDS, Question, invent, leaks
from training.authoring.studio.questions.values import flat

LANGUAGES = ("en", "zh-hans")
SPARE = settings(deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> list[Asked]:
    """Customers, and orders that hold their numbers."""
    directory = tmp_path_factory.mktemp("shop")
    tables = [parse_table("customers", customers_csv()), parse_table("orders", orders_csv())]
    return [stored(table.name, table.columns, table.rows, directory) for table in tables]


def asked_of(agents: Sequence[Asked], **how: object) -> list[Question]:
    tables, plans = [table for table, _ in agents], [plan for _, plans in agents for plan in plans]
    return invent(tables, plans, **({"count": 60, "seed": 1} | how))  # type: ignore[arg-type]


@pytest.mark.parametrize("language", LANGUAGES)
def test_all_kinds_are_asked_in_their_shares(shop: list[Asked], language: str) -> None:
    questions = asked_of(shop, count=200, language=language)
    kinds = Counter(question.kind for question in questions)
    assert len(questions) == 200
    assert all(abs(kinds[kind] - 2 * share) <= 3 for kind, share in KINDS.items())
    splits = Counter(question.scenario.split for question in questions)
    wanted = {"train": 120, "val": 20, "test": 60}
    assert all(abs(splits[name] - count) <= 3 for name, count in wanted.items())


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("seed", range(4))
def test_a_shop_s_questions_hold(shop: list[Asked], language: str, seed: int) -> None:
    questions = asked_of(shop, count=150, seed=seed, language=language)
    assert_all_hold(questions, shop)
    assert not leaks(questions)
    assert len({question.scenario.id for question in questions}) == 150


def test_the_same_seed_asks_the_same(shop: list[Asked]) -> None:
    assert asked_of(shop) == asked_of(shop)
    assert asked_of(shop, seed=2) != asked_of(shop)


def test_the_caller_chooses_kinds_splits_and_columns(shop: list[Asked]) -> None:
    assert {q.kind for q in asked_of(shop, kinds=["single", "count"])} == {"single", "count"}
    only = asked_of(shop, kinds={"single": 1.0}, shares=(0, 0, 1), columns=["orders.status"])
    assert {q.scenario.split for q in only} == {"test"}
    assert Counter(q.columns for q in only)["orders.status",] > 15


def test_what_is_there_is_not_asked_again_and_rows_stay_in_their_split(shop: list[Asked]) -> None:
    known = asked_of(shop, count=100)
    more = asked_of(shop, count=100, seed=2, avoid=known)
    assert not leaks([*known, *more])
    assert {q.text for q in known}.isdisjoint({q.text for q in more})


def test_a_row_that_is_listed_whole_is_no_answer(shop: list[Asked]) -> None:
    tools = tools_of(*shop)
    for question in asked_of(shop, count=100, kinds=["single", "two_hop"]):
        looks = looked_up(question, tools)
        assert worth(question, looks, looks[-1]["content"]) < PASSED


def test_a_tiny_table_has_few_questions_and_no_leaks(tmp_path: Path) -> None:
    rows = [("A1", "Oslo", "12"), ("A2", "Lima", "30"), ("A3", "Oslo", "7"), ("A4", "Kyoto", "19")]
    agent = stored("parcels", ("code", "city", "weight"), rows, tmp_path)
    questions = asked_of([agent])
    assert 10 <= len(questions) <= 60
    assert_all_hold(questions, [agent])
    assert not leaks(questions)
    assert {"train", "test"} <= {question.scenario.split for question in questions}


def test_a_table_without_rows_or_tools_has_none(tmp_path: Path) -> None:
    table, plans = stored("parcels", ("code",), [("A1",)], tmp_path)
    assert asked_of([(table, [])]) == []
    assert asked_of([]) == []
    assert all(question.kind == "missing" for question in asked_of([(table, plans)]))


def word() -> st.SearchStrategy[str]:
    """Cells as people write them in any language, and as nobody should."""
    signs = st.characters(exclude_categories=("C", "Z"))
    return st.one_of(
        st.sampled_from(
            ["", "", "yes", "no", "A", "is", "not found", "5", "5.0", "-5", "1,5", "a; b: c", "无"]
        ),
        st.integers(-20, 2000).map(str),
        st.decimals(-5, 500, places=2).map(str),
        st.dates().map(str),
        st.text(signs, min_size=1, max_size=12),
        st.text("abc 订单店ñß,.;:'\"|*`", max_size=20).map(flat),
        st.text("xyz", min_size=61, max_size=63),
    )


@st.composite
def tables(draw: st.DrawFn) -> tuple[str, list[str], list[list[str]]]:
    width = draw(st.one_of(st.integers(1, 8), st.sampled_from([40, 200])))
    count = draw(st.integers(1, 30))
    rng = draw(st.randoms(use_true_random=False))
    names = [f"{draw(word())[:20]}{at}" if at > 3 else draw(word())[:20] for at in range(width)]
    columns = [name if name and names.index(name) == at else f"c{at}" for at, name in enumerate(names)]
    pools = [draw(st.lists(word(), min_size=1, max_size=12)) for _ in range(min(width, 6))]
    key = draw(st.sampled_from(["", "K-", "客", "№"]))
    rows = [[rng.choice(pools[at % len(pools)]) for at in range(width)] for _ in range(count)]
    for number, row in enumerate(rows):
        row[0] = f"{key}{number * 7 % 101}" if key else row[0]
    name = draw(st.sampled_from(["orders", "Kunden_2024", "订单表", "sheet", "a b", "status", "x"]))
    return name, columns, rows


@given(tables(), st.integers(0, 99), st.sampled_from(LANGUAGES))
@settings(SPARE, max_examples=60)
def test_questions_about_any_table_hold(
    table: tuple[str, list[str], list[list[str]]], seed: int, language: str
) -> None:
    any_table_holds(table, seed, language)


@pytest.mark.slow
@given(tables(), st.integers(0, 99), st.sampled_from(LANGUAGES))
@settings(SPARE, max_examples=1000)
def test_questions_about_any_table_hold_often(
    table: tuple[str, list[str], list[list[str]]], seed: int, language: str
) -> None:
    any_table_holds(table, seed, language)


def any_table_holds(table: tuple[str, list[str], list[list[str]]], seed: int, language: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        agent = stored(*table, Path(directory))
        questions = asked_of([agent], count=30, seed=seed, language=language)
        assert_all_hold(questions, [agent])
        assert not leaks(questions)


def assert_all_hold(questions: Sequence[Question], agents: Sequence[Asked]) -> None:
    """What every question promises, held against the tools and against the raw rows."""
    tools = tools_of(*agents)
    rows = {table.name: table for table, _ in agents}
    for question in questions:
        looks = looked_up(question, tools)
        results = [message["content"] for message in looks if message["role"] == "tool"]
        answers = question.scenario.expect["answer_has"][0]
        table_name, column = next(
            (name, asked[len(name) + 1 :])
            for name in rows
            for asked in question.columns[-1:]
            if asked.startswith(name + ".")
        )
        table = rows[table_name]
        at = list(table.stored.names).index(column)
        values = {flat(row[at]) for row in table.rows}
        said = [answers[0], f"The {column} is {answers[0]}.", f"{column}是{answers[0]}。"]
        assert all(worth(question, looks, answer) == 1.0 for answer in said), question
        assert worth(question, [], said[1]) < PASSED
        assert worth(question, looks, "") < PASSED
        if question.kind == "missing":
            assert results == ["no rows"]
            listed = ", ".join(sorted(values))
            assert worth(question, looks, f"{answers[0]}, or {listed}") < PASSED
            continue
        assert set(question.scenario.expect["evidence"]) <= {
            line for text in results for line in text.split("\n")
        }
        heard = f"{question.text} {' '.join(table.stored.names)} {table.name}"
        if not stands_in("not find", f"{heard} {answers[0]}"):
            assert worth(question, looks, f"I could not find it. {answers[0]}") < PASSED
        listed = ", ".join(
            [answers[0], *map(str, range(int(answers[0]) + 20))] if question.kind == "count" else values
        )
        if question.kind in ("single", "two_hop", "count"):
            assert worth(question, looks, listed) < PASSED
        assert_true(question, results, table.rows, at)
        assert len(results[-1].split("\n")) <= 5
        assert "more rows" not in results[-1].rpartition("\n")[2]


def assert_true(question: Question, results: list[str], rows: Sequence[Sequence[str]], at: int) -> None:
    """The answer, worked out from the raw rows by other means."""
    answer = question.scenario.expect["answer_has"][0][0]
    arguments = question.calls[-1][1]
    if question.kind == "count":
        assert sum(folded(row[at]) == folded(arguments["value"]) for row in rows) == int(answer)
    if question.kind in ("single", "two_hop"):
        own = {int(token.rpartition(":")[2]) for token in question.rows if token.rpartition(":")[2].isdigit()}
        assert any(flat(rows[number - 1][at]) == answer for number in own if number <= len(rows))
        assert f": {answer}" in results[-1]
    if question.kind == "compare":
        assert answer in question.text
        assert sum(f": {answer}" in line for text in results for line in text.split("\n")) >= 1
