"""The order desk's tables, scenarios and what they expect."""

from collections import Counter

import pytest

from gpu_worker.environments import ENVIRONMENTS, environment_named
from gpu_worker.environments.order_desk import KINDS, OrderDesk, customers_csv, orders_csv
from gpu_worker.tools.table import parse_table
from gpu_worker.types import Scenario, Split

DESK = OrderDesk()
SPLITS: tuple[Split, ...] = ("train", "val", "test")
FULL: dict[Split, int] = {"train": 1500, "val": 250, "test": 750}


def call(name: str, column: str, value: str) -> str:
    tools = {tool.spec.name: tool for tool in DESK.tools(DESK.scenarios("test", 1, 0)[0])}
    return tools[name].call({"column": column, "value": value})


def everything_read(scenario: Scenario) -> set[str]:
    """The ids and addresses of all rows a scenario's text or evidence names."""
    shown = " ".join([scenario.messages[0]["content"], *scenario.expect["evidence"]])
    return {word.strip(".,?;") for word in shown.split() if word.strip(".,?;").isdigit() or "@" in word}


def test_the_tables_have_their_sizes_and_follow_the_seed() -> None:
    customers = parse_table("customers", customers_csv())
    orders = parse_table("orders", orders_csv())
    assert (len(customers.rows), len(orders.rows)) == (500, 2000)
    assert customers_csv(1) == customers_csv(1) != customers_csv(2)
    per_customer = Counter(row[1] for row in orders.rows)
    assert set(per_customer) == {row[0] for row in customers.rows}
    assert max(per_customer.values()) <= 5
    dates_of = [(row[1], row[-1]) for row in orders.rows]
    assert len(set(dates_of)) == 2000, "the latest order of a customer must be one"


def test_the_same_seed_gives_the_same_scenarios_and_another_one_others() -> None:
    assert DESK.scenarios("train", 50, 3) == DESK.scenarios("train", 50, 3)
    assert DESK.scenarios("train", 50, 3) != DESK.scenarios("train", 50, 4)


def test_no_two_splits_share_a_row_or_a_prompt() -> None:
    seen = {split: DESK.scenarios(split, FULL[split], 0) for split in SPLITS}
    rows = [set().union(*map(everything_read, seen[split])) for split in SPLITS]
    texts = [{s.messages[0]["content"] for s in seen[split]} for split in SPLITS]
    for sets in (rows, texts):
        assert not (sets[0] & sets[1] or sets[0] & sets[2] or sets[1] & sets[2])


def test_every_kind_is_asked_equally_often_and_ids_are_unique() -> None:
    made = DESK.scenarios("test", 200, 5)
    assert Counter(s.tags[0] for s in made) == dict.fromkeys(KINDS, 40)
    assert len({s.id for s in made}) == 200
    assert {s.split for s in made} == {"test"}


def test_too_many_scenarios_are_refused() -> None:
    with pytest.raises(ValueError, match="250 val scenarios"):
        DESK.scenarios("val", 251, 0)


def test_the_evidence_of_two_hops_is_what_the_two_look_ups_say() -> None:
    for scenario in DESK.scenarios("test", 100, 1):
        if scenario.tags[0] != "ship_to":
            continue
        order, customer = scenario.expect["evidence"]
        order_id = order.split(";")[0].removeprefix("order_id: ")
        customer_id = order.split("; ")[1].removeprefix("customer_id: ")
        assert order_id in scenario.messages[0]["content"]
        assert call("find_orders", "order_id", order_id) == order
        assert call("find_customers", "customer_id", customer_id) == customer
        assert scenario.expect["answer_has"][0][0] in customer


def test_the_latest_order_is_the_one_with_the_newest_date() -> None:
    for scenario in DESK.scenarios("test", 100, 2):
        if scenario.tags[0] != "latest":
            continue
        customer, newest = scenario.expect["evidence"]
        customer_id = customer.split(";")[0].removeprefix("customer_id: ")
        lines = call("find_orders", "customer_id", customer_id).splitlines()
        assert newest == max(lines, key=lambda line: line[-10:])
        assert newest.startswith(f"order_id: {scenario.expect['answer_has'][0][0]};")
        assert len(scenario.expect["answer_lacks"]) >= len(lines) - 1


def test_what_is_missing_really_is() -> None:
    for scenario in DESK.scenarios("test", 100, 3):
        if scenario.tags[0] == "missing":
            wanted = scenario.expect["calls"][0]
            assert call(wanted["name"], **wanted["arguments"]) == "no rows"


def test_an_answer_that_lists_every_status_hedges() -> None:
    for scenario in DESK.scenarios("test", 50, 4):
        if scenario.tags[0] == "status":
            assert len(scenario.expect["answer_lacks"]) >= 7
            assert scenario.expect["answer_has"][0][0] not in scenario.expect["answer_lacks"]


def test_environments_are_found_by_either_spelling() -> None:
    assert environment_named("order-desk") is ENVIRONMENTS["order_desk"]
    with pytest.raises(KeyError, match="yes_no_maybe"):
        environment_named("chess")
