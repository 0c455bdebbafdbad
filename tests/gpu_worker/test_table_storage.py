"""Stored tables: written once, found in by whole values and words, and changed by each try on its own."""

import os
import random
import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from gpu_worker.tools.tables import LiveTable, Sheet, StoredTable, TableError, open_table, save
from gpu_worker.tools.tables.delimited import read_delimited
from gpu_worker.tools.tables.words import contains, folded, phrases

CITIES = """id,city,note
1,Oslo,Red iPhone 15 case
2,北京,红色手机壳 iPhone
3,OSLO ,Rotes Telefon; café
4,東京都,赤いスマートフォンケース
5,Straße 5,ÅNGSTRÖM un-der_score
6,,
"""


def sheet_of(text: str, name: str = "cities") -> Sheet:
    return read_delimited(name, text.encode(), {})


@pytest.fixture
def stored(tmp_path: Path) -> StoredTable:
    return open_table(save(sheet_of(CITIES), tmp_path)[1])


def found(stored: StoredTable, column: str, value: str) -> list[int]:
    return list(stored.numbers(column, value))


# The file


def test_the_same_content_is_the_same_file(tmp_path: Path) -> None:
    sha256, path = save(sheet_of(CITIES), tmp_path)
    written = path.stat().st_mtime_ns
    assert save(sheet_of(CITIES), tmp_path) == (sha256, tmp_path / f"{sha256}.sqlite")
    assert path.stat().st_mtime_ns == written
    others = [replace(sheet_of(CITIES), name="x"), sheet_of(CITIES.replace("Red", "Rad"))]
    assert len({sha256, *(save(other, tmp_path)[0] for other in others)}) == 3
    assert sorted(each.suffix for each in tmp_path.iterdir()) == [".sqlite"] * 3


def test_rows_and_columns_come_back_as_they_were(stored: StoredTable) -> None:
    sheet = sheet_of(CITIES)
    assert tuple(stored.rows()) == sheet.rows
    assert stored.columns == sheet.columns and stored.name == "cities" and stored.count_rows == 6
    assert stored.row(2) == ("2", "北京", "红色手机壳 iPhone")
    with pytest.raises(LookupError):
        stored.row(7)


def test_a_table_that_fails_to_be_written_leaves_nothing(tmp_path: Path) -> None:
    broken = replace(sheet_of(CITIES), rows=(("\ud800", "", ""),))
    with pytest.raises(UnicodeEncodeError):
        save(broken, tmp_path)
    assert not list(tmp_path.iterdir())


def test_what_is_no_stored_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.sqlite").write_bytes(b"x" * 5000)
    sqlite3.connect(tmp_path / "b.sqlite").execute("CREATE TABLE about (layout, name, columns, rows)")
    for name in ("a", "b", "missing"):
        with pytest.raises(TableError, match=f"{name}.sqlite"):
            open_table(tmp_path / f"{name}.sqlite")


def test_a_stored_table_cannot_be_written_to(stored: StoredTable) -> None:
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        stored._one("DELETE FROM rows")


# Looking up


def test_values_are_found_whatever_their_case_in_the_order_of_the_file(stored: StoredTable) -> None:
    assert found(stored, "city", " oslo") == [1, 3]
    assert found(stored, "city", "STRASSE 5") == [5]
    assert found(stored, "city", "") == [6]
    assert found(stored, "id", "2") == [2] and found(stored, "id", "2.0") == []
    assert stored.count("city", "Oslo") == 2 and stored.count("city", "Rome") == 0


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        ("iphone", {1, 2}),
        ("iph", {1, 2}),
        ("iphone case", {1}),
        ("15", {1}),
        ("1", {1}),
        ("手机", {2}),
        ("机壳", {2}),
        ("手壳", set()),
        ("东京", set()),
        ("京", {2, 4}),
        ("東京", {4}),
        ("スマート", {4}),
        ("ｉＰｈｏｎｅ", {1, 2}),
        ("cafe", {3}),
        ("angstrom", {5}),
        ("strasse", {5}),
        ("un-der", {5}),
        ("telefon; café", {3}),
        ('" OR id:* NEAR(', set()),
        ("¦", set()),
        ("", set()),
    ],
)
def test_words_are_found_in_any_script(stored: StoredTable, words: str, rows: set[int]) -> None:
    numbers, total = stored.search(words)
    assert (set(numbers), total) == (rows, len(rows))


def test_no_search_reaches_across_cells(tmp_path: Path) -> None:
    stored = open_table(save(sheet_of("a,b\n红,色\nx-y,z\n"), tmp_path)[1])
    assert stored.search("红色") == ([], 0)
    assert stored.search("y-z") == ([], 0)


def test_words_that_stand_everywhere_are_found_in_the_order_of_the_file(tmp_path: Path) -> None:
    rows = "".join(f"{number},common {'word ' * (number % 3)}\n" for number in range(1500))
    stored = open_table(save(sheet_of("id,text\n" + rows), tmp_path)[1])
    assert stored.search("common", 5) == ([1, 2, 3, 4, 5], 1500)


TEXTS = st.text(alphabet="ab1 -é红色ßカ", max_size=8)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(rows=st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=8), value=TEXTS)
def test_look_ups_are_what_reading_every_row_would_find(
    rows: list[tuple[str, str]], value: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    sheet = replace(sheet_of("a,b\n1,2\n"), rows=tuple((a.strip(), b.strip()) for a, b in rows))
    stored = open_table(save(sheet, tmp_path_factory.mktemp("t"))[1])
    numbered = list(enumerate(sheet.rows, start=1))
    assert found(stored, "b", value) == [
        number for number, row in numbered if folded(row[1]) == folded(value)
    ]
    sought = phrases(value)
    held = [number for number, row in numbered if sought and all(contains(row, phrase) for phrase in sought)]
    assert sorted(stored.search(value)[0]) == held


# Threads and processes


def test_many_threads_share_a_table(stored: StoredTable) -> None:
    wrong: list[object] = []

    def look() -> None:
        for _ in range(200):
            if found(stored, "city", "oslo") != [1, 3] or stored.search("iphone")[1] != 2:
                wrong.append(1)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_a_forked_process_opens_the_table_itself(stored: StoredTable) -> None:
    mine = stored._connection()
    child = os.fork()
    if child == 0:
        fine = stored._connection() is not mine and found(stored, "city", "oslo") == [1, 3]
        os._exit(0 if fine and open_table(stored.path) is not stored else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert open_table(stored.path) is stored and found(stored, "id", "2") == [2]


# One try's own view


@pytest.fixture
def live(stored: StoredTable) -> LiveTable:
    return stored.for_one_try()


def test_what_a_try_changes_nobody_else_sees(stored: StoredTable, live: LiveTable) -> None:
    before = stored.path.read_bytes()
    live.update(1, "city", "Rome")
    live.insert({"id": "7", "city": "Oslo"})
    assert [number for number, _ in live.find("city", "oslo", 9).rows] == [3, 7]
    assert live.count("city", "oslo") == 2 and live.count("city", "rome") == 1
    other = stored.for_one_try()
    assert other.count("city", "oslo") == 2 and other.count("city", "rome") == 0 and other.changes() == []
    assert stored.path.read_bytes() == before


def test_changes_are_told_whatever_their_order(stored: StoredTable) -> None:
    one, two = stored.for_one_try(), stored.for_one_try()
    one.update(1, "city", "Rome")
    one.insert({"id": "8"})
    one.insert({"id": "7", "note": "x"})
    two.insert({"id": "7"})
    two.update(7, "note", "x")
    two.update(2, "city", "Rome")
    two.update(1, "city", "Rom")
    two.insert({"id": "8"})
    two.update(1, "city", "Rome")
    two.update(2, "city", "北京")
    assert one.changes() == two.changes()
    assert {"table": "cities", "insert": {"id": "7", "city": "", "note": "x"}} in one.changes()
    change = {"table": "cities", "row": 1, "column": "city", "before": "Oslo", "after": "Rome"}
    assert change in one.changes() and len(one.changes()) == 3


def test_a_search_finds_what_a_try_wrote_last(live: LiveTable) -> None:
    live.update(1, "note", "nothing")
    live.insert({"id": "7", "note": "another iPhone"})
    live.update(4, "note", "iPhone 手机")
    assert [number for number, _ in live.search("iphone", 9).rows] == [2, 4, 7]
    assert live.search("手机", 1).total == 2


class SameAsAList(RuleBasedStateMachine):
    """A live table behaves as a list of rows that everybody copies."""

    directory: Path

    def __init__(self) -> None:
        super().__init__()
        self.live = open_table(save(sheet_of(CITIES), self.directory)[1]).for_one_try()
        self.rows = [list(row) for row in sheet_of(CITIES).rows]

    values = st.sampled_from(["Oslo", "oslo ", "北京", "iPhone 15", "", "x"])

    @rule(at=st.integers(0, 8), column=st.integers(0, 2), value=values)
    def update(self, at: int, column: int, value: str) -> None:
        if at < len(self.rows):
            self.rows[at][column] = value
            assert self.live.update(at + 1, self.live.columns[column], value) == tuple(self.rows[at])

    @precondition(lambda self: len(self.rows) < 9)
    @rule(values=st.dictionaries(st.sampled_from(["id", "city", "note"]), values))
    def insert(self, values: dict[str, str]) -> None:
        self.rows.append([values.get(name, "") for name in ("id", "city", "note")])
        self.live.insert(values)

    @rule(column=st.integers(0, 2), value=values, most=st.integers(0, 4))
    def find(self, column: int, value: str, most: int) -> None:
        numbers = [n for n, row in enumerate(self.rows, 1) if folded(row[column]) == folded(value)]
        seen = self.live.find(self.live.columns[column], value, most)
        assert [number for number, _ in seen.rows] == numbers[:most] and seen.total == len(numbers)

    @rule(words=st.sampled_from(["iphone", "京", "oslo", "15 iphone", "x"]))
    def search(self, words: str) -> None:
        sought = phrases(words)
        held = {n for n, row in enumerate(self.rows, 1) if all(contains(row, phrase) for phrase in sought)}
        seen = self.live.search(words, 99)
        assert {number for number, _ in seen.rows} == held and seen.total == len(held)

    @invariant()
    def changes(self) -> None:
        told = self.live.changes()
        assert sum("insert" in change for change in told) == len(self.rows) - 6
        before = sheet_of(CITIES).rows
        differ = sum(
            a != b for old, new in zip(before, self.rows, strict=False) for a, b in zip(old, new, strict=True)
        )
        assert sum("row" in change for change in told) == differ


def test_a_live_table_is_a_list_of_rows_of_ones_own(tmp_path: Path) -> None:
    SameAsAList.directory = tmp_path
    run_state_machine_as_test(
        SameAsAList,
        settings=settings(max_examples=60, stateful_step_count=25, deadline=None, derandomize=True),
    )


def test_many_tries_cost_nothing_until_they_write(tmp_path: Path) -> None:
    rows = "".join(f"{n},{random.Random(n).random()}\n" for n in range(2000))
    stored = open_table(save(sheet_of("id,x\n" + rows), tmp_path)[1])
    tries = [stored.for_one_try() for _ in range(1000)]
    assert all(len(each._mine) == 0 and each.stored is stored for each in tries)


FORKING = """
import gc, os, sys
from pathlib import Path
from gpu_worker.tools.tables import open_table
table = open_table(Path(sys.argv[1]))
table.row(1)
child = os.fork()
if child == 0:
    os.closerange(3, 64)
    own = [os.open(os.devnull, os.O_RDONLY) for _ in range(61)]
    table.row(2)
    gc.collect()
    for number in own:
        os.fstat(number)
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_process_that_closed_its_parents_files_loses_none_of_its_own(stored: StoredTable) -> None:
    """As samplers do: what they open next gets the number of the parent's connection."""
    assert subprocess.run([sys.executable, "-c", FORKING, str(stored.path)], check=False).returncode == 0
