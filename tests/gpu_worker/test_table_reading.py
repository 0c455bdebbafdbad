"""Uploaded files are read as people mean them; what is mended is told with its row and column."""

import datetime
from pathlib import Path
from typing import Any

import pytest

from gpu_worker.tools.tables import Sheet, TableError
from gpu_worker.tools.tables.reading import read
from tests.gpu_worker.table_files import SHEET, sheet_xml, with_parts, workbook


@pytest.fixture
def reading(tmp_path: Path) -> Any:
    def read_it(content: bytes | str, filename: str = "t.csv", **hints: Any) -> Sheet:
        path = tmp_path / "upload"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read(path, filename, hints=hints)

    return read_it


def names(sheet: Sheet) -> list[str]:
    return [column.name for column in sheet.columns]


# Delimited text


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(reading: Any, delimiter: str) -> None:
    rows = [
        ["id", "name", "note"],
        ["1", "Ann", "x, y; z" if delimiter not in ",;" else "x"],
        ["2", "Bo", ""],
    ]
    sheet = reading("\n".join(delimiter.join(row) for row in rows))
    assert sheet.reading["delimiter"] == delimiter
    assert names(sheet) == ["id", "name", "note"] and len(sheet.rows) == 2


def test_decimal_commas_do_not_pass_for_delimiters(reading: Any) -> None:
    sheet = reading("Preis;Menge\n1,50;3\n2,75;4\n10,00;5\n")
    assert sheet.reading["delimiter"] == ";"
    assert [column.type for column in sheet.columns] == ["number", "whole number"]


def test_the_line_that_names_the_delimiter_is_no_row(reading: Any) -> None:
    sheet = reading("sep=;\r\na;b\r\n1,5;2,5\r\n3\r\n")
    assert sheet.rows == (("1,5", "2,5"), ("3", ""))
    assert sheet.problems[0].startswith("Row 4, column “b”")


def test_one_column_is_a_table_too(reading: Any) -> None:
    assert reading("name\nAnn\nBo\n").rows == (("Ann",), ("Bo",))


def test_quotes_line_breaks_and_spaces_are_read(reading: Any) -> None:
    sheet = reading('id,text\r\n1,"a ""b"", c\r\nd"\r\n 2 , e \r\n')
    assert sheet.rows == (("1", 'a "b", c\r\nd'), ("2", "e"))


POEMS = {
    "utf-8": "Größe,Straße,Łódź,編號",
    "utf-8-sig": "Größe,Straße,編號",
    "utf-16": "Größe,編號",
    "utf-16-le": "name,city,Größe",
    "utf-16-be": "name,city,Größe",
    "utf-32": "Größe,編號",
    "gb18030": "订单编号,客户姓名,城市,状态",
    "cp932": "注文番号,顧客の名前,都市,状態",
    "cp949": "주문번호,고객이름,도시,상태",
    "cp1252": "Größe,Straße,Überweisung,Kündigung",
    "cp1251": "Заказ,Клиент,Город,Состояние",
}
ROWS = {
    "gb18030": "甲零零一,王小明,北京,已经完成",
    "cp932": "カ零零一,山田さんの注文です,東京,完了しました",
    "cp949": "가나다라,김철수입니다,서울특별시,완료되었습니다",
    "cp1252": "groß,Hauptstraße 5 für Jörg Müller,müde,schön",
    "cp1251": "первый заказ,Иван Иванов,Москва,готово уже",
}


@pytest.mark.parametrize("encoding", POEMS)
def test_the_encoding_is_found(reading: Any, encoding: str) -> None:
    header = POEMS[encoding]
    row = ROWS.get(encoding, ",".join("x" * (at + 1) for at in range(header.count(",") + 1)))
    sheet = reading("\n".join([header, *[row] * 5]).encode(encoding))
    assert names(sheet) == header.split(",")
    assert sheet.rows[0] == tuple(row.split(","))


@pytest.mark.parametrize(
    ("encoding", "header", "row"),
    [
        ("cp1250", "numer;imię;miasto", "{0};Łukasz {0};Łódź Śródmieście"),
        ("cp1251", "номер;клиент;город", "З-{0};Иванов {0};Москва"),
        ("cp1252", "Nr;Größe;Raum", "{0};groß {0};Küche, schön"),
        ("cp1253", "αριθμός;όνομα;πόλη", "{0};Γιώργος {0};Αθήνα"),
        ("cp1254", "sipariş;müşteri;şehir", "{0};Ayşe Yılmaz {0};İstanbul"),
        ("cp1256", "رقم;اسم;مدينة", "{0};محمد {0};القاهرة"),
        ("big5", "訂單;客戶;城市", "{0};陳先生{0};臺北市"),
        ("gb18030", "订单号;客户;城市", "D{0};客户{0};北京"),
    ],
)
def test_rows_that_say_the_same_over_and_over_are_decoded(
    reading: Any, encoding: str, header: str, row: str
) -> None:
    sheet = reading("\n".join([header, *map(row.format, range(2000))]).encode(encoding))
    assert names(sheet) == header.split(";")
    assert sheet.rows[7] == tuple(row.format(7).split(";"))


def test_the_person_can_say_which_encoding_it_is(reading: Any) -> None:
    sheet = reading("naïve,é\nà,ç\n".encode("cp1252"), encoding="cp1252")
    assert names(sheet) == ["naïve", "é"]
    assert sheet.reading["encoding"] == "cp1252"
    with pytest.raises(TableError, match="encoding zip is not known"):
        reading("a,b\n1,2\n", encoding="zip")


def test_a_byte_that_is_no_text_is_named_and_shown(reading: Any) -> None:
    sheet = reading("id,city\n1,Zürich\n2,Genève\n".encode() * 20 + b"3,B\xffle\n")
    assert (
        "Row 61, column “city”: a byte is no text in this encoding and shows as “\ufffd”." in sheet.problems
    )


def test_control_characters_become_spaces(reading: Any) -> None:
    sheet = reading("a,b\n1\x0b2,x\x01\n")
    assert sheet.rows == (("1 2", "x"),)
    assert "2 control characters" in sheet.problems[0]


# What is mended, and what is not


@pytest.mark.parametrize(
    ("content", "rows", "problem"),
    [
        ("a,b,c\n1,2,3\n4\n", (("1", "2", "3"), ("4", "", "")), "Row 3, column “b”: the row has 1 cells"),
        ("a,b\n1,2,,\n3,4\n", (("1", "2"), ("3", "4")), ""),
        ("a,b,\n1,2,\n", (("1", "2"),), ""),
        ("\n\na,b\n\n1,2\n,\n", (("1", "2"),), ""),
        ('a\tb\n1\t"x\n2\ty\n', (("1", '"x'), ("2", "y")), "quotes do not pair up"),
        ("a,b\n=1+1,@x\n", (("=1+1", "@x"),), ""),
    ],
)
def test_small_things_are_mended(reading: Any, content: str, rows: Any, problem: str) -> None:
    sheet = reading(content)
    assert sheet.rows == rows
    assert [problem in told for told in sheet.problems] == [True] * bool(problem)


def test_names_that_stand_twice_or_are_missing_are_told_apart(reading: Any) -> None:
    sheet = reading("id,id,,a  b,id\n1,2,3,4,5\n")
    assert names(sheet) == ["id", "id (2)", "column 3", "a b", "id (3)"]
    told = " ".join(sheet.problems)
    assert "Row 1, column 2: the name “id” stands twice" in told
    assert "Row 1, column 3: the column has no name; it is called “column 3”." in told


def test_a_column_without_name_and_cells_is_left_out(reading: Any) -> None:
    sheet = reading("a,,b\n1,,2\n")
    assert names(sheet) == ["a", "b"] and sheet.rows == (("1", "2"),)
    assert "left out" in sheet.problems[0]


def test_a_row_with_too_many_cells_is_left_out_and_named(reading: Any) -> None:
    sheet = reading("a,b\n" + "1,2\n" * 30 + "1,2,3\n" + "4,5\n" * 30)
    assert len(sheet.rows) == 60
    assert (
        sheet.problems[0] == "Row 32, column 3: the row has 3 cells, the header only 2; the row was left out."
    )


def test_after_twenty_problems_of_a_kind_the_rest_are_counted(reading: Any) -> None:
    sheet = reading("a,b\n" + "1\n" * 50)
    assert len(sheet.problems) == 21
    assert sheet.problems[-1] == "And 30 more short rows."


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"\n\n", "empty"),
        (b"a,b\n", "no row below"),
        (b"a,b\n1,2,3\n", "Row 2, column 3: the row has 3 cells, the header only 2"),
        (b'a,b\n"1",2\n3,"4\n', "Row 3: a quote is opened and never closed"),
        (b'a,b\n1,"2"x,"y"z\n', "Row 2: text follows a closing quote"),
    ],
)
def test_what_cannot_be_mended_is_refused(reading: Any, content: bytes, said: str) -> None:
    with pytest.raises(TableError, match=said):
        reading(content)


# Types


def test_types_are_found_and_misfits_named(reading: Any) -> None:
    rows = "".join(f"{n},{n}.5,2026-01-{n:02},{'yes' if n % 2 else 'no'},00{n}\n" for n in range(1, 29))
    sheet = reading("n,x,day,ok,code\n" + rows + "many,,n/a,,\n")
    assert [column.type for column in sheet.columns] == ["whole number", "number", "date", "yes/no", "text"]
    assert "Row 30, column “n”: “many” is not a whole number like the column's other cells; it stays." in (
        sheet.problems
    )
    assert sheet.columns[1].empty == 1 and sheet.columns[0].distinct == 29


def test_the_person_can_say_what_type_a_column_has(reading: Any) -> None:
    sheet = reading("zip,n\n12345,1\nB-7,2\n", types={"zip": "number", "n": "text"})
    assert [column.type for column in sheet.columns] == ["number", "text"]
    assert "Row 3, column “zip”: “B-7” is not a number" in sheet.problems[0]
    with pytest.raises(TableError, match="no column “x”"):
        reading("a,b\n1,2\n", types={"x": "text"})
    with pytest.raises(TableError, match="“colour” is no type"):
        reading("a,b\n1,2\n", types={"a": "colour"})


# JSON lines


def test_json_lines_keep_what_is_written(reading: Any) -> None:
    lines = '{"id": 1, "price": 1.50, "big": 12345678901234567890, "ok": true, "x": null}\n\n{"y": "ü"}\n'
    sheet = reading(lines, "t.jsonl")
    assert names(sheet) == ["id", "price", "big", "ok", "x", "y"]
    assert sheet.rows[0] == ("1", "1.50", "12345678901234567890", "true", "", "")
    assert "Row 3, column “id”: there is no value; it is empty." in sheet.problems


def test_nested_json_stays_json(reading: Any) -> None:
    sheet = reading('{"a": {"b": [1.50, null, "x\\u00fc"]}, "c": "\\ud800"}', "t.jsonl")
    assert sheet.rows == (('{"b": [1.50, null, "xü"]}', ""),)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"a": 1}\n{"a": }\n', "Row 2: character 7 is not JSON"),
        ("[1, 2]\n", "Row 1: this is no JSON object"),
        ("{}\n{}\n", "objects in the file are empty"),
        ('{"a": 1}\n"x"\n', "Row 2: this is no JSON object"),
    ],
)
def test_json_that_is_none_is_refused_with_its_line(reading: Any, content: str, said: str) -> None:
    with pytest.raises(TableError, match=said):
        reading(content, "t.jsonl")


# Workbooks


def test_a_workbook_is_read_as_it_looks(reading: Any) -> None:
    day = datetime.datetime(2026, 1, 31)
    rows = [
        ["id", "day", "at", "price", "ok"],
        [1, day, day.replace(hour=9, minute=5), 0.1 + 0.2, True],
        [2.0],
    ]
    sheet = reading(workbook(rows), "t.xlsx")
    assert sheet.rows == (("1", "2026-01-31", "2026-01-31 09:05:00", "0.3", "true"), ("2", "", "", "", ""))
    assert sheet.reading == {"format": "xlsx", "sheet": "Sheet", "sheets": ["Sheet"]}


def test_another_sheet_can_be_chosen(reading: Any) -> None:
    book = workbook([], Empty=[], Data=[["a"], ["x"]], More=[["b"], ["y"]])
    assert reading(book, "t.xlsx").reading["sheet"] == "Data"
    assert reading(book, "t.xlsx", sheet="More").rows == (("y",),)
    with pytest.raises(TableError, match="no sheet “Z”. The sheets are Sheet, Empty, Data, More"):
        reading(book, "t.xlsx", sheet="Z")


def test_a_title_above_the_table_is_left_out(reading: Any) -> None:
    sheet = reading(workbook([["Report 2026"], [], ["a", "b", "c"], [1, 2, 3]]), "t.xlsx")
    assert names(sheet) == ["a", "b", "c"]
    assert sheet.problems[0].startswith("Row 1: “Report 2026” stands alone")


def test_a_workbook_without_cells_is_refused(reading: Any) -> None:
    with pytest.raises(TableError, match="no sheet with cells"):
        reading(workbook([]), "t.xlsx")


def test_cells_beyond_the_size_a_sheet_claims_are_read(reading: Any) -> None:
    row = b'<row r="%d"><c r="A%d"><v>1</v></c><c r="E%d"><v>2</v></c></row>'
    sheet = reading(with_parts({SHEET: sheet_xml(row % (1, 1, 1) + row % (2, 2, 2), b"A1:B1")}), "t.xlsx")
    assert sheet.rows == (("1", "2"),)
