"""What kind of values a column holds, and what numbers and dates mean."""

import pytest

from gpu_worker.tools.tables.kinds import dates, kind_of, misfits, numbers


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "-2", "0", ""], "whole number"),
        (["007", "123", "456"], "text"),
        (["1", "2", "3", "00815"] * 9, "text"),
        (["4111111111111111", "5500000000000004"], "text"),
        (["+4912345", "+4967890"], "text"),
        (["1.5", "2", "-3.25"], "number"),
        (["1,5", "2,25", "3"], "number"),
        (["1,234.50", "12,000.00"], "number"),
        (["1.234,50", "12.000,00"], "number"),
        (["1 234,5", "7,5"], "number"),
        (["$12.50", "-$3.00"], "number"),
        (["12,50 €", "3 €"], "number"),
        (["¥1,200", "300元"], "number"),
        (["12%", "7.5 %"], "number"),
        (["1.2.3", "4.5.6"], "text"),
        (["2026-01-31", "2026-02-01"], "date"),
        (["31.01.2026", "1.2.2026"], "date"),
        (["01/31/2026", "12/25/2026"], "date"),
        (["2026年1月31日", "2026年12月1日"], "date"),
        (["2026-01-31T10:00:00Z", "2026-01-31 23:59"], "date"),
        (["2026-02-30", "2026-13-01"], "text"),
        (["yes", "no", "Yes", ""], "yes/no"),
        (["TRUE", "FALSE"], "yes/no"),
        (["是", "否"], "yes/no"),
        (["ja", "nein"], "yes/no"),
        (["yes", "nein"], "text"),
        (["0", "1"], "whole number"),
        (["1"] * 20 + ["n/a"], "whole number"),
        (["1"] * 10 + ["n/a"], "text"),
        (["", ""], "text"),
        ([], "text"),
        (["Ann", "Bo"], "text"),
    ],
)
def test_the_kind_is_what_nearly_all_cells_are(values: list[str], kind: str) -> None:
    assert kind_of(values) == kind


def test_cells_of_another_kind_are_told() -> None:
    assert misfits("number", ["1", "2.5", "x", ""]) == {"x"}
    assert misfits("whole number", ["1", "2.5"]) == {"2.5"}
    assert misfits("date", ["2026-01-01", "soon"]) == {"soon"}
    assert misfits("yes/no", ["ja", "Nein", "vielleicht"]) == {"vielleicht"}
    assert misfits("text", ["1"]) == set()


@pytest.mark.parametrize(
    ("values", "meant"),
    [
        (["1,234", "5,678.5", "x", ""], [1234.0, 5678.5, None, None]),
        (["1.234", "5.678,5"], [1234.0, 5678.5]),
        (["1,5", "0,25"], [1.5, 0.25]),
        (["-$1,000.50", "$2"], [-1000.5, 2.0]),
        (["12 %", "7.5%"], [12.0, 7.5]),
        (["1'234.50", "2'000"], [1234.5, 2000.0]),
    ],
)
def test_numbers_are_read_from_how_the_column_writes_them(
    values: list[str], meant: list[float | None]
) -> None:
    assert numbers(values) == meant


@pytest.mark.parametrize(
    ("values", "meant"),
    [
        (["2026-1-5", "x"], ["2026-01-05", None]),
        (["05/01/2026", "31/01/2026"], ["2026-01-05", "2026-01-31"]),
        (["01/05/2026", "01/31/2026"], ["2026-01-05", "2026-01-31"]),
        (["05.01.2026"], ["2026-01-05"]),
        (["2026年1月5日"], ["2026-01-05"]),
        (["2026-01-05 9:30", "2026/01/05T10:00:00.5Z"], ["2026-01-05T09:30", "2026-01-05T10:00:00.5"]),
    ],
)
def test_dates_are_read_from_how_the_column_writes_them(values: list[str], meant: list[str | None]) -> None:
    assert dates(values) == meant
