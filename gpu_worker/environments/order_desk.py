"""Order desk: a shop's customers and orders in two CSV tables, and customers who ask about them.

An answer counts only if the rows it rests on were looked up and it says that one thing: a status, a
price, a name, an order number, or that there is no such row. Scoring lives in `judging`; here is only
what it should find (`Scenario.expect`).
"""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

from gpu_worker.tools.table import NO_ROWS, Table, look_up_tools, parse_table
from gpu_worker.types import Scenario, Score, Split, Tool, Trajectory

SEED = 2026
CUSTOMERS = 500
ORDERS = 2000
ORDER_NUMBERS = range(2000, 10000)
NEWEST = date(2026, 6, 30)
MOST_ORDERS = 5
"""A customer's orders fit in one look-up."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


STATUSES = ("packed", "shipped", "delivered", "delayed", "returned", "cancelled", "lost", "waiting")
FIRST_NAMES = _words("""
    Ada Amir Anna Ben Bella Carl Chen Clara Dana David Elif Elena Emil Eva Felix Fiona Finn Grace
    Greta Hana Hugo Ida Ivan Jana Jonas Julia Kai Karim Lara Leo Lena Lin Lucas Maria Max Mila Mira
    Nora Noah Olga Omar Oscar Paula Peter Pia Rosa Ravi Sam Sara Sofia Tara Theo Tom Uma Vera Victor
    Wei Yara Zoe
""")
LAST_NAMES = _words("""
    Adler Bauer Berg Blom Brandt Castro Costa Dahl Diaz Fischer Garcia Gomez Hall Hansen Haas
    Iversen Jensen Kaya Keller Khan Klein Koch Kumar Lang Larsen Lopez Maier Marino Meyer Moreau
    Novak Olsen Park Perez Petrov Reed Rossi Sato Silva Singh Stone Tanaka Torres Vogel Wagner Walsh
    Wang Weber Wolf
""")
CITIES = _words("""
    Lima Oslo Porto Delhi Lyon Kyoto Quito Bergen Turin Leeds Dakar Hanoi Cork Ghent Basel Malmo
""")
DOMAINS = ("mail.com", "post.org", "inbox.net", "box.com", "home.net")

ASKED = {
    "status": (
        "Where is my order {id}?",
        "What is the status of order {id}?",
        "Has order {id} been sent yet?",
        "I am waiting for order {id}, where is it?",
        "Can you tell me how order {id} is doing?",
        "Hi, what happened to my order {id}?",
    ),
    "cost": (
        "What did order {id} cost?",
        "How much did I pay for order {id}?",
        "What was the total of order {id}?",
        "Please tell me the price of order {id}.",
        "Hi, how much was my order {id}?",
        "I need the total for order {id}.",
    ),
    "ship_to": (
        "Who is order {id} shipped to?",
        "What is the name on order {id}?",
        "Which customer gets order {id}?",
        "Who will receive order {id}?",
        "Please tell me the name of the customer for order {id}.",
        "Hi, who ordered {id}?",
    ),
    "latest": (
        "What is the latest order of {email}?",
        "Which order did {email} place last?",
        "My email is {email}, what is the number of my latest order?",
        "Find the newest order for {email}.",
        "I am {email}. What was my last order?",
        "Please give me the most recent order of {email}.",
    ),
}
KINDS = (*ASKED, "missing")
NOT_FOUND = ("not find", "not found", "no order", "no customer", "no such", "not exist", "no rows", "nothing")
SHARES: dict[Split, tuple[float, float]] = {"train": (0.0, 0.6), "val": (0.6, 0.7), "test": (0.7, 1.0)}
"""Which part of the shuffled customers, with all their orders, belongs to a split."""


@dataclass(frozen=True)
class Desk:
    """The two tables, and who ordered what: customer row → order rows, newest first."""

    customers: Table
    orders: Table
    placed: dict[tuple[str, ...], list[tuple[str, ...]]]


def customers_csv(seed: int = SEED) -> str:
    """500 customers with different numbers, names and e-mail addresses."""
    rng = random.Random(f"customers {seed}")
    numbers = rng.sample(range(1000, 2000), CUSTOMERS)
    names = rng.sample([(first, last) for first in FIRST_NAMES for last in LAST_NAMES], CUSTOMERS)
    addresses = rng.sample([f"{n:02d}@{domain}" for n in range(100) for domain in DOMAINS], CUSTOMERS)
    rows = [
        (number, f"{first.lower()}{address}", f"{first} {last}", rng.choice(CITIES))
        for number, (first, last), address in zip(numbers, names, addresses, strict=True)
    ]
    return _csv_text(("customer_id", "email", "name", "city"), rows)


def orders_csv(seed: int = SEED) -> str:
    """2,000 orders, newest first; every customer has three to five, on different days."""
    rng = random.Random(f"orders {seed}")
    customers = [row[0] for row in parse_table("customers", customers_csv(seed)).rows]
    numbers = rng.sample(ORDER_NUMBERS, ORDERS)
    buyers = [customer for customer in customers for _ in range(3)]
    buyers += rng.sample(customers * (MOST_ORDERS - 3), ORDERS - len(buyers))
    days = {customer: rng.sample(range(180), MOST_ORDERS) for customer in customers}
    rows = []
    for number, customer in zip(numbers, buyers, strict=True):
        day = NEWEST - timedelta(days=days[customer].pop())
        total = f"{rng.randrange(10, 100)}.{rng.randrange(100):02d}"
        rows.append((number, customer, rng.choice(STATUSES), total, day.isoformat()))
    rows.sort(key=lambda row: row[-1], reverse=True)
    return _csv_text(("order_id", "customer_id", "status", "total", "date"), rows)


def _csv_text(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


@lru_cache(maxsize=1)
def _desk() -> Desk:
    customers = parse_table("customers", customers_csv(), source="customers.csv")
    orders = parse_table("orders", orders_csv(), source="orders.csv")
    placed = {row: orders.find("customer_id", row[0]) for row in customers.rows}
    return Desk(customers=customers, orders=orders, placed=placed)


def _customers_of(split: Split) -> list[tuple[str, ...]]:
    shuffled = random.Random("order-desk splits").sample(_desk().customers.rows, CUSTOMERS)
    start, end = SHARES[split]
    return shuffled[round(start * CUSTOMERS) : round(end * CUSTOMERS)]


def _expect(kind: str, customer: tuple[str, ...], order: tuple[str, ...]) -> dict[str, object]:
    """The evidence that must be looked up, the one right answer, and what an answer that hedges would say."""
    desk = _desk()
    order_row, customer_row = desk.orders.shown(order), desk.customers.shown(customer)
    other_statuses = [status for status in STATUSES if status != order[2]]
    if kind == "status":
        return _wanted(order[2], other_statuses, [order_row])
    if kind == "cost":
        return _wanted(order[3], STATUSES, [order_row])
    if kind == "ship_to":
        return _wanted(customer[2], [*STATUSES, customer[1], customer[3]], [order_row, customer_row])
    newest, *older = desk.placed[customer]
    return _wanted(newest[0], [row[0] for row in older], [customer_row, desk.orders.shown(newest)])


def _wanted(answer: str, hedges: Sequence[str], evidence: list[str]) -> dict[str, object]:
    return {"answer_has": [[answer]], "answer_lacks": [*hedges, *NOT_FOUND], "evidence": evidence}


def _asking(kind: str, customer: tuple[str, ...], rng: random.Random) -> Scenario:
    order = rng.choice(_desk().placed[customer])
    text = rng.choice(ASKED[kind]).format(id=order[0], email=customer[1])
    name = customer[1] if kind == "latest" else order[0]
    return _scenario(kind, name, text, _expect(kind, customer, order))


def _asking_in_vain(unknown: str, rng: random.Random) -> Scenario:
    """A question about an order number or an e-mail address that is in neither table."""
    by_email = "@" in unknown
    kind = "latest" if by_email else rng.choice(("status", "cost", "ship_to"))
    call = (
        {"name": "find_customers", "arguments": {"column": "email", "value": unknown}}
        if by_email
        else {"name": "find_orders", "arguments": {"column": "order_id", "value": unknown}}
    )
    expect = {
        "answer_has": [list(NOT_FOUND)],
        "answer_lacks": list(STATUSES),
        "evidence": [NO_ROWS],
        "calls": [call],
    }
    return _scenario("missing", unknown, rng.choice(ASKED[kind]).format(id=unknown, email=unknown), expect)


def _scenario(kind: str, name: str, text: str, expect: dict[str, object]) -> Scenario:
    message = {"role": "user", "content": text}
    return Scenario(id=f"{kind}-{name}", split="train", messages=(message,), expect=expect, tags=(kind,))


def _unknown_of(split: Split) -> list[str]:
    """Order numbers and e-mail addresses nobody has, a different third of them for every split."""
    desk = _desk()
    taken = {row[0] for row in desk.orders.rows} | {row[1] for row in desk.customers.rows}
    names = [first.lower() for first in FIRST_NAMES]
    addresses = [f"{name}{n:02d}@{domain}" for name in names for n in range(0, 100, 9) for domain in DOMAINS]
    numbers = [str(n) for n in ORDER_NUMBERS]
    rng = random.Random("order-desk unknown")
    third = list(SHARES).index(split)
    both = [
        rng.sample([name for name in pool if name not in taken], 1800)[third::3]
        for pool in (numbers, addresses)
    ]
    return [name for pair in zip(*both, strict=True) for name in pair]


class OrderDesk:
    """Five kinds of question in equal parts, two tables, at most six turns."""

    name = "order_desk"
    title = "Order desk"
    system_prompt = "You work at the order desk of a shop. Look it up, then answer."
    max_turns = 6

    def scenarios(self, split: Split, count: int, seed: int) -> list[Scenario]:
        """`count` different scenarios drawn with `seed`. Raises ValueError if the split has fewer."""
        customers = _customers_of(split)
        most = len(customers) * len(KINDS)
        if count > most:
            raise ValueError(f"order_desk has {most} {split} scenarios; {count} were asked for.")
        rng = random.Random(f"order-desk {split} {seed}")
        drawn = {kind: rng.sample(customers, len(customers)) for kind in ASKED}
        unknown = rng.sample(_unknown_of(split), len(customers))
        made = []
        for at in range(count):
            kind, turn = KINDS[at % len(KINDS)], at // len(KINDS)
            made.append(
                _asking_in_vain(unknown[turn], rng)
                if kind == "missing"
                else _asking(kind, drawn[kind][turn], rng)
            )
        rng.shuffle(made)
        return [_of_split(scenario, split) for scenario in made]

    def tools(self, scenario: Scenario) -> list[Tool]:
        """find_customers and find_orders; they only read, so every try may share the tables."""
        return look_up_tools((_desk().customers, _desk().orders))

    def reward(self, scenario: Scenario, trajectory: Trajectory) -> Score | None:
        """None: what the scenario expects says it all."""
        return None


def _of_split(scenario: Scenario, split: Split) -> Scenario:
    return Scenario(f"{split}-{scenario.id}", split, scenario.messages, scenario.expect, scenario.tags)
