"""The tools of a table: which there are, what the model reads of them, and what they answer."""

from pathlib import Path
from typing import Any

import pytest

from gpu_worker.tools.table import look_up_tool, parse_table
from gpu_worker.tools.tables import (
    Column,
    LiveTable,
    TableError,
    open_table,
    save,
    standard_plans,
    table_tool,
)
from gpu_worker.tools.tables.delimited import read_delimited
from gpu_worker.tools.tables.plans import look_up_columns, parameters_of, shown_columns, tool_name
from gpu_worker.types import Tool, ToolError, ToolPlan

ORDERS = "order id,customer,status,total\n" + "".join(
    f"A{number},{'Ann' if number % 2 else 'Bo'},{'open' if number < 8 else 'sent'},{number}.50\n"
    for number in range(1, 11)
)


@pytest.fixture
def live(tmp_path: Path) -> LiveTable:
    return open_table(save(read_delimited("orders", ORDERS.encode(), {}), tmp_path)[1]).for_one_try()


@pytest.fixture
def tools(live: LiveTable) -> dict[str, Tool]:
    plans = standard_plans("orders", live.stored.columns, sha256="0" * 64, writes=True)
    return {plan.settings["does"]: table_tool(plan, live) for plan in plans}


def told(tool: Tool, **arguments: Any) -> str:
    try:
        return tool.call(arguments)
    except ToolError as error:
        return f"error: {error}"


# What there is


def test_a_table_gets_three_tools_and_five_where_it_may_change(tools: dict[str, Tool]) -> None:
    assert [tool.spec.name for tool in tools.values()] == [
        "find_orders",
        "count_orders",
        "search_orders",
        "update_orders",
        "insert_orders",
    ]
    assert len(standard_plans("orders", (Column("a"),), sha256="", writes=False)) == 3


def test_the_look_up_reads_like_the_order_desks(live: LiveTable, tools: dict[str, Tool]) -> None:
    theirs = look_up_tool(parse_table("orders", ORDERS))
    assert tools["find"].spec == theirs.spec
    for arguments in (
        {"column": "order id", "value": " a3"},
        {"column": "customer", "value": "ANN"},
        {"column": "status", "value": "lost"},
        {"column": "total", "value": 3.5},
        {"column": "colour", "value": "x"},
        {"column": ["customer"], "value": "x"},
        {"column": "customer"},
        {"value": "x"},
        {"column": "customer", "value": None},
        {"column": "customer", "value": True},
        {"column": "customer", "value": "x" * 300},
        {"column": "customer", "value": "x", "and\nmore": 1},
        {},
    ):
        assert told(tools["find"], **arguments) == told(theirs, **arguments)


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("orders", "orders"),
        ("Orders 2026 (new)", "orders_2026_new"),
        ("Größe & Straße", "grosse_strasse"),
        ("Łódź", "lodz"),
        ("订单", "table"),
        ("订单2026", "table_2026"),
        ("2026", "table_2026"),
        ("4you", "table_4you"),
        ("__x__", "x"),
        ("", "table"),
        ("x" * 200, "x" * 56),
    ],
)
def test_tools_are_named_in_small_latin_letters(name: str, called: str) -> None:
    assert tool_name(name) == called
    names = [plan.spec.name for plan in standard_plans(name, (Column("a"),), sha256="", writes=True)]
    assert names[0] == f"find_{called}" and all(len(each) <= 64 for each in names)


def test_of_a_wide_table_the_columns_people_ask_by_are_chosen() -> None:
    rows = 1000
    notes = [Column(f"note {n}", "text", rows, 0, 400) for n in range(6)]
    empty = [Column(f"old {n}", "text", 3, 990, 5) for n in range(6)]
    asked = [
        Column("订单编号", "text", rows, 0, 9),
        Column("status", "text", 4, 0, 8),
        Column("email", "text", rows, 0, 30),
        Column("customer_id", "whole number", 300, 0, 5),
    ]
    more = [Column("total", "number", 900, 0, 7), Column("city", "text", 40, 2, 20)]
    columns = [*notes, *asked[:2], *empty, *asked[2:], *more]
    assert set(look_up_columns(columns)) == {column.name for column in asked + more}
    assert look_up_columns(columns)[0] == "订单编号"
    shown = shown_columns(columns)
    assert len(shown) == 8 and {column.name for column in asked + more} < set(shown)
    assert shown == [column.name for column in columns if column.name in shown]


def test_a_narrow_table_is_shown_whole() -> None:
    columns = [Column(f"c{n}", "text", 5, 0, 400) for n in range(8)]
    assert shown_columns(columns) == [column.name for column in columns]


def test_a_tool_that_needs_a_column_that_is_gone_is_refused(live: LiveTable) -> None:
    settings = {"does": "find", "columns": ["colour"], "shown": ["customer"]}
    plan = standard_plans("orders", live.stored.columns, sha256="")[0]
    with pytest.raises(TableError, match="find_orders needs a column “colour”"):
        table_tool(ToolPlan(plan.spec, "table", settings), live)
    with pytest.raises(TableError, match="cannot “fly”"):
        table_tool(ToolPlan(plan.spec, "table", {"does": "fly"}), live)


# What they answer


def test_only_chosen_columns_are_asked_by_and_shown(live: LiveTable) -> None:
    settings = {"does": "find", "table": "", "columns": ["order id"], "shown": ["total", "customer"]}
    spec = standard_plans("orders", live.stored.columns, sha256="")[0].spec
    tool = table_tool(ToolPlan(spec, "table", settings), live)
    assert told(tool, column="order id", value="A2") == "total: 2.50; customer: Bo"
    assert told(tool, column="customer", value="Bo") == "error: no such column; the columns are order id"
    assert parameters_of(settings)["properties"]["column"]["enum"] == ["order id"]


def test_rows_are_counted(tools: dict[str, Tool]) -> None:
    assert told(tools["count"], column="customer", value="ann") == "count: 5"
    assert told(tools["count"], column="customer", value="eve") == "count: 0"


def test_words_are_searched(tools: dict[str, Tool]) -> None:
    first = "order id: A8; customer: Bo; status: sent; total: 8.50"
    assert told(tools["search"], words="bo sent").splitlines() == [first, first.replace("8", "10")]
    assert told(tools["search"], words="bo lost") == "no rows"
    assert told(tools["search"], words="open").endswith("\n2 more rows")
    assert told(tools["search"], words=" ") == "error: words is empty; give at least one word"
    assert told(tools["search"], text="x") == "error: there is no argument text; the argument is words"


def test_one_cell_of_one_row_is_changed(live: LiveTable, tools: dict[str, Tool]) -> None:
    change = {"column": "order id", "value": "a3", "change": "status", "to": " sent "}
    assert told(tools["update"], **change) == "order id: A3; customer: Ann; status: sent; total: 3.50"
    assert told(tools["find"], column="order id", value="A3").endswith("status: sent; total: 3.50")
    assert len(live.changes()) == 1
    for wrong, said in (
        ({"value": "A99"}, "no rows"),
        ({"column": "status"}, "error: no such column; the columns are order id"),
        (
            {"change": "order id"},
            "error: change names no column to change; those are customer, status, total",
        ),
        ({"to": None}, "error: to must be a text"),
        ({"to": "x" * 300}, "error: to is longer than 200 characters"),
    ):
        assert told(tools["update"], **{**change, **wrong}) == said
    assert len(live.changes()) == 1


def test_a_value_that_several_rows_have_names_none(live: LiveTable) -> None:
    settings = {"does": "update", "by": ["customer"], "columns": ["status"], "shown": ["status"]}
    spec = standard_plans("orders", live.stored.columns, sha256="")[0].spec
    tool = table_tool(ToolPlan(spec, "table", settings), live)
    said = told(tool, column="customer", value="Ann", change="status", to="x")
    assert said == "error: 5 rows have this value; name the row by a value that only it has"
    assert live.changes() == []


def test_a_row_is_added_once(live: LiveTable, tools: dict[str, Tool]) -> None:
    row = {"order id": "A11", "customer": "Eve", "total": 3}
    shown = "order id: A11; customer: Eve; status: ; total: 3"
    assert tools["insert"].spec.parameters["required"] == ["order id"]
    assert told(tools["insert"], **row) == shown
    assert told(tools["insert"], **row) == "error: there is already a row whose order id is A11"
    assert told(tools["insert"], customer="Eve") == "error: the argument order id is missing"
    assert told(tools["insert"], **{"order id": " "}) == "error: a row needs at least one value"
    assert told(tools["insert"], **{"order id": "", "customer": "x"}) == "error: order id is empty"
    assert told(tools["count"], column="order id", value="a11") == "count: 1"
    assert live.changes()[0]["insert"]["customer"] == "Eve"


def test_what_no_database_takes_is_cleaned(live: LiveTable, tools: dict[str, Tool]) -> None:
    assert told(tools["find"], column="customer", value="\ud800\x00") == "no rows"
    assert told(tools["search"], words="\ud800Ann").startswith("order id: A1;")
    told(tools["insert"], **{"order id": "B\udfff1"})
    assert live.changes()[0]["insert"]["order id"] == "B 1"
