"""Values of formats that know more than text, as people write them."""

from __future__ import annotations

import json
import math
from datetime import date, datetime
from decimal import Decimal

from gpu_worker.tools.tables.encoding import without_controls

DIGITS = 15
"""Of a fraction; those beyond come from how machines store numbers."""


def written(value: object) -> str:
    """A value as text: nothing where there is none, dates as in ISO 8601, lists and objects as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, datetime):
        midnight = (value.hour, value.minute, value.second, value.microsecond) == (0, 0, 0, 0)
        return value.date().isoformat() if midnight else value.isoformat(" ", "seconds")
    if isinstance(value, list | dict | tuple):
        return _clean(json.dumps(value, ensure_ascii=False, default=_plain))
    return _plain(value)


def _plain(value: object) -> str:
    if isinstance(value, bytes):
        return _clean(value.decode("utf-8", errors="replace"))
    if isinstance(value, date):
        return value.isoformat()
    return f"{value:f}" if isinstance(value, Decimal) else _clean(str(value))


def _number(value: float) -> str:
    """Without an exponent and without a fraction that is nothing."""
    if not math.isfinite(value):
        return "" if math.isnan(value) else str(value)
    return f"{Decimal(f'{value:.{DIGITS}g}'):f}"


def _clean(text: str) -> str:
    return without_controls(text)[0].strip()
