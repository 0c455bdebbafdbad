"""Ten worked examples of tools in Python, each a file that stands for itself, with a call and its answer.

A new one is a file here and a line in EXAMPLES.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Example:
    """A worked example: its file, arguments of a sample call, and the text an agent gets."""

    name: str
    arguments: dict[str, Any]
    answer: str

    @cached_property
    def code(self) -> str:
        return (Path(__file__).parent / f"{self.name}.py").read_text()


EXAMPLES = (
    Example("order_total", {"prices": [19.9, 5.0], "discount_percent": 10}, "22.41"),
    Example("days_between", {"start": "2026-02-25", "end": "2026-03-02"}, "5"),
    Example(
        "refund_due",
        {"delivered": "2026-05-01", "asked": "2026-05-20", "opened": True, "price": 80.0},
        '{"refund": 64.0, "reason": "opened: 20 percent are kept"}',
    ),
    Example("shipping_price", {"weight_kg": 3.5, "zone": "europe", "express": True}, "27.38"),
    Example("check_iban", {"iban": "DE89 3704 0044 0532 0130 00"}, "valid"),
    Example("convert_units", {"value": 5.0, "unit": "mile"}, "8.047 km"),
    Example(
        "read_reference",
        {"text": "Hello, about my order ORD-20417 of last week"},
        '{"kind": "order", "number": 20417}',
    ),
    Example("next_working_day", {"day": "2026-12-24"}, "2026-12-28"),
    Example("split_bill", {"total": 100.0, "people": 3}, "[33.34, 33.33, 33.33]"),
    Example("sla_left", {"priority": "high", "hours_open": 3.25}, "0 hours 45 minutes left"),
)
