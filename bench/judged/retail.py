"""A shop's desk as in τ-bench retail: nine tools over users, orders and products, a customer who talks.

The customer is a language model, too, so that its words differ in every try; what the tools return does not.
"""

from __future__ import annotations

import random
from typing import Any

from bench.judged import Case, Message, called, choice, tool
from bench.judged.words import PEOPLE

ITEM_IDS = {"type": "array", "items": {"type": "string"}, "description": "ids of the items, in order"}
TOOLS = (
    tool("find_user_id_by_email", "Find a user id by e-mail address.", ("email",), email="the address"),
    tool(
        "find_user_id_by_name_zip",
        "Find a user id by first name, last name and zip code. Prefer the e-mail address where there is one.",
        ("first_name", "last_name", "zip"),
        first_name="such as 'John'",
        last_name="such as 'Doe'",
        zip="such as '12345'",
    ),
    tool(
        "get_user_details",
        "Get the details of a user, orders included.",
        ("user_id",),
        user_id="the user's id",
    ),
    tool(
        "get_order_details",
        "Get the status and the items of an order.",
        ("order_id",),
        order_id="such as '#W12'",
    ),
    tool(
        "get_product_details",
        "Get all variants of a product.",
        ("product_id",),
        product_id="the product's id",
    ),
    tool(
        "cancel_pending_order",
        "Cancel a pending order. The agent needs to explain the details and get an explicit yes first.",
        ("order_id", "reason"),
        order_id="such as '#W0000000'",
        reason={"type": "string", "enum": ["no longer needed", "ordered by mistake"]},
    ),
    tool(
        "exchange_delivered_order_items",
        "Exchange items of a delivered order for others of the same product, once per order. The agent needs "
        "to explain the details and get an explicit yes first.",
        ("order_id", "item_ids", "new_item_ids", "payment_method_id"),
        order_id="such as '#W0000000'",
        item_ids=ITEM_IDS,
        new_item_ids=ITEM_IDS,
        payment_method_id="such as 'gift_card_0000000'",
    ),
    tool(
        "return_delivered_order_items",
        "Return items of a delivered order. The agent needs to explain the details and get an "
        "explicit yes first.",
        ("order_id", "item_ids", "payment_method_id"),
        order_id="such as '#W0000000'",
        item_ids=ITEM_IDS,
        payment_method_id="such as 'gift_card_0000000'",
    ),
    tool(
        "transfer_to_human_agents",
        "Hand the customer over, with a summary.",
        ("summary",),
        summary="the issue",
    ),
)
SYSTEM = """\
# Policy of the shop's desk

As an agent of the shop you can help customers to cancel or change pending orders, to return or exchange
delivered orders, to change their default address, or to give information about their own profile, orders and
related products.

- At the beginning of the conversation you have to find out who the customer is by e-mail address, or by name
  and zip code. This has to be done even when the customer already gives a user id.
- Once the customer is known you can tell about orders, products and the profile, for example look up an id.
- You can only help one customer in a conversation, and must deny any request about another one.
- Before consequential actions that change the database you have to list the details of the action and get
  the customer's explicit confirmation (yes).
- You should not make up information or procedures that neither the customer nor the tools gave you, nor give
  subjective recommendations or comments.
- You should make at most one tool call at a time, and if you make one, not answer the customer meanwhile.
- You should hand the customer over to a human agent only if the request is beyond what you can do.

## Cancelling and changing pending orders
An order can be cancelled or changed only while it is pending; check its status first. The customer has to
confirm the order id and the reason. A refund to a gift card is immediate, others take 5 to 7 business days.

## Returning and exchanging delivered orders
An order can be returned or exchanged only once and only when it is delivered. Collect all items to be
exchanged first, because the tool can be called once. New items must be of the same product and another
option. The customer pays or receives the difference by the payment method given, which must be in the
profile."""

PRODUCTS = (
    "Water Bottle",
    "Desk Lamp",
    "Mechanical Keyboard",
    "Hiking Boots",
    "Espresso Machine",
    "Backpack",
)
OPTIONS = (
    ("color", ("black", "white", "blue", "red")),
    ("size", ("S", "M", "L")),
    ("material", ("steel", "wood")),
)
OPENINGS = (
    "Hi! I have a problem with something I bought recently", "Hello, could you help me with one of my orders",
    "Hey there, I need to change a thing I ordered", "Good morning. It is about the parcel I got",
)  # fmt: skip
WISHES = (
    "I would rather have it in another color if the price is about the same",
    "it does not fit on my desk at all",
    "my partner bought exactly the same one", "I want the cheapest version that is available, whatever size",
    "please tell me first how much I would get back", "I am in a hurry, so just do whatever is fastest",
)  # fmt: skip


def case(distinct: int, size: int, source: random.Random) -> Case:
    shop = _Shop(source, distinct)
    return Case(
        tuple(({"role": "system", "content": SYSTEM}, *shop.conversation(source)) for _ in range(size)), TOOLS
    )


class _Shop:
    """One customer with orders, and the products in them."""

    def __init__(self, source: random.Random, orders: int) -> None:
        self.name = source.choice(PEOPLE)
        self.email = self.name.lower().replace(" ", ".") + f"{source.randrange(9999)}@example.com"
        self.user_id = self.name.lower().replace(" ", "_") + f"_{source.randrange(1000, 9999)}"
        self.products = [_product(source) for _ in range(max(2, min(6, orders)))]
        self.orders = [self._order(source) for _ in range(orders)]

    def _order(self, source: random.Random) -> dict[str, Any]:
        items = []
        for product in source.sample(self.products, source.randint(1, 2)):
            variant = source.choice(list(product["variants"].values()))
            picked = {key: variant[key] for key in ("item_id", "price", "options")}
            items.append({"name": product["name"], "product_id": product["product_id"], **picked})
        return {
            "order_id": f"#W{source.randrange(10**6, 10**7)}",
            "user_id": self.user_id,
            "address": self._address(),
            "items": items,
            "fulfillments": [
                {"tracking_id": [str(source.randrange(10**11))], "item_ids": [i["item_id"] for i in items]}
            ],
            "status": source.choice(("delivered", "pending", "processed")),
            "payment_history": [
                {"transaction_type": "payment", "amount": 217.3, "payment_method_id": "credit_card_4190576"}
            ],
        }

    def _address(self) -> dict[str, str]:
        street = {"address1": "882 Chestnut Street", "address2": "Suite 410", "city": "Denver"}
        return street | {"country": "USA", "state": "CO", "zip": "80239"}

    def details(self) -> dict[str, Any]:
        first, last = self.name.split()
        return {
            "name": {"first_name": first, "last_name": last},
            "address": self._address(),
            "email": self.email,
            "payment_methods": {
                "credit_card_4190576": {"source": "credit_card", "brand": "visa", "last_four": "1993"}
            },
            "orders": [order["order_id"] for order in self.orders],
        }

    def conversation(self, source: random.Random) -> list[Message]:
        said: list[Message] = [
            {"role": "user", "content": f"{source.choice(OPENINGS)}: {source.choice(WISHES)}."}
        ]
        said.append(
            _agent("I am happy to help. Could you tell me your e-mail address, or name and zip code?")
        )
        said.append({"role": "user", "content": f"{_filler(source)} It is {self.email}."})
        said += called("find_user_id_by_email", {"email": self.email}, self.user_id, source)
        said += called("get_user_details", {"user_id": self.user_id}, self.details(), source)
        for _ in range(source.randint(1, 2)):
            order = self.orders[choice(len(self.orders), source)]
            said += called("get_order_details", {"order_id": order["order_id"]}, order, source)
            product_id = source.choice(order["items"])["product_id"]
            product = next(p for p in self.products if p["product_id"] == product_id)
            said += called("get_product_details", {"product_id": product_id}, product, source)
        said.append(_agent(_offer(order, product, source)))
        said.append(
            {"role": "user", "content": f"{_filler(source)} {source.choice(WISHES)}, so yes, go ahead."}
        )
        return said + self._ending(order, product, source)

    def _ending(self, order: dict[str, Any], product: dict[str, Any], source: random.Random) -> list[Message]:
        asked: dict[str, Any] = {
            "order_id": order["order_id"],
            "item_ids": [order["items"][0]["item_id"]],
            "payment_method_id": "credit_card_4190576",
        }
        if order["status"] != "delivered":
            result: Any = "Error: non-delivered order cannot be returned"
        else:
            result = order | {"status": "return requested", "return_items": asked["item_ids"]}
        said = called("return_delivered_order_items", asked, result, source)
        closing = f"That is done for the {product['name']}. {_filler(source)} Is there anything else?"
        return [
            *said,
            _agent(closing),
            {"role": "user", "content": f"No, {_filler(source).lower()} ###STOP###"},
        ]


def _agent(text: str) -> Message:
    return {"role": "assistant", "content": text}


def _offer(order: dict[str, Any], product: dict[str, Any], source: random.Random) -> str:
    variant = source.choice(list(product["variants"].values()))
    options = ", ".join(f"{key} {value}" for key, value in variant["options"].items())
    return (
        f"I found your order {order['order_id']}, which is {order['status']}. The {product['name']} "
        f"is available with {options} for ${variant['price']}. {_filler(source)} Shall I go on with the "
        "return to your credit card ending in 1993? Please answer yes to confirm."
    )


def _filler(source: random.Random) -> str:
    first = source.choice(
        ("Thanks for the quick answer.", "Sure.", "Alright, understood.", "Let me see.", "Great.")
    )
    second = source.choice(
        ("I checked it twice.", "This matters to me.", "No rush.", "That is all I have here.", "")
    )
    return f"{first} {second}".strip()


def _product(source: random.Random) -> dict[str, Any]:
    variants = {}
    for _ in range(source.randint(5, 9)):
        item_id = str(source.randrange(10**9, 10**10))
        variants[item_id] = {
            "item_id": item_id,
            "options": {name: source.choice(values) for name, values in OPTIONS},
            "available": source.random() < 0.7,
            "price": round(source.uniform(20, 400), 2),
        }
    name = source.choice(PRODUCTS)
    return {"name": name, "product_id": str(source.randrange(10**9, 10**10)), "variants": variants}
