"""Reading tables and looking rows up in them."""

from pathlib import Path

import pytest

from gpu_worker.tools.table import TableError, load_table, look_up_tool, parse_table
from gpu_worker.types import ToolError

PARCELS = "id,owner\n1,Ann\n2,Bo\n3,ann\n"


def test_a_table_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "parcels.csv"
    path.write_bytes("\ufeffid, owner\n1,Ann\n\n2,Bo\n".encode())
    table = load_table(path)
    assert table.name == "parcels"
    assert table.columns == ("id", "owner")
    assert table.rows == (("1", "Ann"), ("2", "Bo"))


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"", ["t.csv", "empty"]),
        (b"id,owner\n", ["t.csv", "no row"]),
        (b"id,owner\n1,Ann\n2\n", ["t.csv", "row 3", "owner"]),
        (b"id,owner\n1,Ann,x\n", ["t.csv", "row 2", "column 3"]),
        (b"id,,owner\n1,2,3\n", ["t.csv", "row 1", "column 2"]),
        (b"id,owner,id\n1,2,3\n", ["t.csv", "row 1", "column 3", "id"]),
        (b"id,owner\n1,Ann\n2,B\xff\n", ["t.csv", "row 3", "column 2", "0xff"]),
        (b'id,owner\n1,"Ann\n', ["t.csv", "row 2"]),
    ],
)
def test_a_bad_table_is_refused_with_file_row_and_column(content: bytes, named: list[str]) -> None:
    with pytest.raises(TableError) as refused:
        parse_table("t", content, source="t.csv")
    assert all(name in str(refused.value) for name in named), str(refused.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="nowhere.csv"):
        load_table(tmp_path / "nowhere.csv")


def test_the_tool_lists_the_columns_in_its_schema() -> None:
    spec = look_up_tool(parse_table("parcels", PARCELS)).spec
    assert spec.name == "find_parcels"
    assert spec.parameters["properties"]["column"]["enum"] == ["id", "owner"]
    assert spec.parameters["required"] == ["column", "value"]


def test_rows_are_found_whatever_their_case() -> None:
    call = look_up_tool(parse_table("parcels", PARCELS)).call
    assert call({"column": "owner", "value": " ANN "}) == "id: 1; owner: Ann\nid: 3; owner: ann"
    assert call({"column": "id", "value": 2}) == "id: 2; owner: Bo"
    assert call({"column": "id", "value": "9"}) == "no rows"


def test_at_most_five_rows_come_back() -> None:
    call = look_up_tool(parse_table("t", "id,kind\n" + "".join(f"{n},x\n" for n in range(8)))).call
    lines = call({"column": "kind", "value": "x"}).splitlines()
    assert len(lines) == 6
    assert lines[-1] == "3 more rows"


def test_a_cell_cannot_pass_for_another_row() -> None:
    call = look_up_tool(parse_table("t", 'id,note\n1,"a\nid: 2; note: b"\n')).call
    assert len(call({"column": "id", "value": "1"}).splitlines()) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"column": "id"},
        {"column": "nope", "value": "1"},
        {"column": ["id"], "value": "1"},
        {"column": "id", "value": {"x": 1}},
        {"column": "id", "value": True},
        {"column": "id", "value": None},
        {"column": "id", "value": "1" * 1000},
        {"column": "id", "value": "1", "limit": 99},
    ],
)
def test_bad_arguments_are_refused_in_words(arguments: dict) -> None:
    call = look_up_tool(parse_table("parcels", PARCELS)).call
    with pytest.raises(ToolError, match=r"\w+ \w+"):
        call(arguments)
