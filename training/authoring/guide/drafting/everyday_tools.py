"""Simulated tools that everyday tasks need, found by words of the description; their examples play them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from training.authoring.toolbox.schema_rows import Schema
from training.authoring.toolbox.tools import Draft

MOST = 3
"""Tools that are suggested at once: each is one more thing to learn."""


@dataclass(frozen=True)
class Everyday:
    """`words` as a pattern; `says` is the description by language; parameters are texts, all required."""

    words: str
    name: str
    says: dict[str, str]
    parameters: dict[str, str]
    examples: tuple[tuple[dict[str, str], str], ...]


EVERYDAY = (
    Everyday(
        r"parcel|track|shipment|deliver|courier|快递|物流|包裹|配送",
        "track_parcel",
        {"en": "Where a parcel is, by its tracking number.", "zh": "按运单号查询包裹的位置。"},
        {"tracking_number": "Letters and digits on the label."},
        (
            ({"tracking_number": "PX1001"}, "status: in transit; place: Leeds; expected: 2026-12-03"),
            ({"tracking_number": "PX1002"}, "status: delivered; place: Oslo; expected: 2026-11-18"),
            ({"tracking_number": "PX1003"}, "status: delayed; place: Basel; expected: 2026-12-09"),
        ),
    ),
    Everyday(
        r"refund|money back|return|退款|退货",
        "check_refund",
        {"en": "Whether an order can be refunded, and how much.", "zh": "查询订单能否退款以及金额。"},
        {"order_id": "The order's number."},
        (
            ({"order_id": "5001"}, "refundable: yes; amount: 24.90; until: 2026-12-31"),
            ({"order_id": "5002"}, "refundable: no; reason: older than 30 days"),
        ),
    ),
    Everyday(
        r"appointment|booking|calendar|schedule|meeting|reserv|预约|日程|会议|预订",
        "free_times",
        {"en": "Free times on a day.", "zh": "查询某天的空闲时间。"},
        {"date": "As 2026-12-01."},
        (
            ({"date": "2026-12-01"}, "09:00, 11:30, 16:00"),
            ({"date": "2026-12-02"}, "none"),
            ({"date": "2026-12-03"}, "14:00"),
        ),
    ),
    Everyday(
        r"weather|forecast|天气|预报",
        "weather",
        {"en": "Today's weather in a city.", "zh": "查询城市今天的天气。"},
        {"city": "Its name."},
        (
            ({"city": "Oslo"}, "snow, -4 °C, wind 12 km/h"),
            ({"city": "Lima"}, "sunny, 23 °C, wind 6 km/h"),
            ({"city": "Kyoto"}, "rain, 11 °C, wind 9 km/h"),
        ),
    ),
    Everyday(
        r"stock|inventory|warehouse|in store|available|库存|仓库|现货",
        "stock",
        {"en": "How many of a product are in stock.", "zh": "查询商品的库存数量。"},
        {"product": "Its name or number."},
        (
            ({"product": "A-100"}, "in stock: 42"),
            ({"product": "A-200"}, "in stock: 0; next delivery: 2026-12-05"),
        ),
    ),
    Everyday(
        r"price|cost|quote|how much|价格|报价|多少钱",
        "price",
        {"en": "The price of a product in euros.", "zh": "查询商品价格（欧元）。"},
        {"product": "Its name or number."},
        (({"product": "A-100"}, "19.90"), ({"product": "A-200"}, "249.00")),
    ),
    Everyday(
        r"ticket|complain|incident|help ?desk|support|工单|投诉|故障|客服",
        "ticket_status",
        {"en": "The state of a support ticket, by its number.", "zh": "按编号查询工单状态。"},
        {"ticket": "Its number."},
        (
            ({"ticket": "T-17"}, "open; waits for the customer since 2026-11-14"),
            ({"ticket": "T-18"}, "solved on 2026-11-20"),
        ),
    ),
    Everyday(
        r"polic|rule|manual|handbook|faq|guideline|规定|手册|政策|指南",
        "search_handbook",
        {
            "en": "Paragraphs of the handbook that hold all these words.",
            "zh": "在手册中搜索包含这些词的段落。",
        },
        {"words": "One to three words."},
        (
            ({"words": "holiday"}, "4.1 Everybody has 28 days of paid holiday a year."),
            ({"words": "travel"}, "6.2 Second-class rail is paid; flights need approval."),
        ),
    ),
)


def tools_for(task: str, language: str) -> tuple[Draft, ...]:
    """At most three tools whose words come up in the task."""
    found = [every for every in EVERYDAY if re.search(every.words, task, re.IGNORECASE)]
    return tuple(_draft(every, language) for every in found[:MOST])


def _draft(every: Everyday, language: str) -> Draft:
    says = every.says.get(language, every.says["en"])
    examples = [{"arguments": arguments, "result": result} for arguments, result in every.examples]
    return Draft(
        kind="simulated",
        name=every.name,
        description=says,
        parameters=texts_schema(every.parameters, list(every.parameters)),
        settings={"description": says, "examples": examples, "model": ""},
    )


def texts_schema(parameters: dict[str, str], required: Sequence[str]) -> Schema:
    """The schema of a tool whose parameters are all texts: name → what it is."""
    properties = {name: {"type": "string", "description": says} for name, says in parameters.items()}
    return {"type": "object", "properties": properties, "required": list(required)}
