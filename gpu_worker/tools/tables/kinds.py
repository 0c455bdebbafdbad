"""What kind of values a column holds, and reading numbers and dates from the texts people write.

A column's kind is what nearly all of its cells are; those that are not stay as they are and are named.
Cells always stay texts: a kind helps to ask and compare, it changes nothing the agent sees.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import date

from gpu_worker.tools.tables.sheet import Kind

ENOUGH = 0.95
"""Share of a column's filled cells that must be of a kind."""
GLANCE = 200
"""Different values that are looked at before all are."""
YES_NO = (
    ("yes", "no"), ("true", "false"), ("y", "n"), ("t", "f"), ("ja", "nein"), ("oui", "non"), ("sí", "no"),
    ("si", "no"), ("sim", "não"), ("sì", "no"), ("ja", "nej"), ("да", "нет"), ("是", "否"),
    ("有", "无"), ("はい", "いいえ"), ("예", "아니요"), ("on", "off"),
)  # fmt: skip

_CURRENCY = r"[$€£¥₹]"
_SPACE = r"[ \u00a0\u202f'’]"
_NUMBER = (
    r"(?P<minus>-?)\s?(?:{currency}\s?)?(?P<whole>\d{{1,15}}|\d{{1,3}}(?:(?:{group}|{space})\d{{3}}){{1,4}})"
    r"(?:{mark}(?P<part>\d{{1,20}}))?(?:\s?(?:{currency}|%|元))?"
)
_POINT = re.compile(_NUMBER.format(currency=_CURRENCY, space=_SPACE, group=",", mark=r"\."))
_COMMA = re.compile(_NUMBER.format(currency=_CURRENCY, space=_SPACE, group=r"\.", mark=","))
_WHOLE = re.compile(r"-?(?:0|[1-9]\d{0,14})")
_TIME = r"(?:(?:[T ]\s?)(?P<time>\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(?:\s?(?:Z|UTC|[+-]\d{2}:?\d{2}))?)?"
_YEAR_FIRST = re.compile(r"(?P<a>\d{4})[-/.年]\s?(?P<b>\d{1,2})[-/.月]\s?(?P<c>\d{1,2})日?" + _TIME)
_YEAR_LAST = re.compile(r"(?P<a>\d{1,2})[-/.]\s?(?P<b>\d{1,2})[-/.]\s?(?P<c>\d{4})" + _TIME)

Reader = Callable[[str], object | None]
"""What a text means, or None if it is not of the kind."""


def kind_of(values: Iterable[str]) -> Kind:
    """The kind nearly all filled values are of."""
    counts = Counter(value for value in values if value)
    if not counts:
        return "text"
    if _yes_no(counts):
        return "yes/no"
    if _good(counts, _whole):
        return "text" if any(_is_code(value) for value in counts) else "whole number"
    if any(_good(counts, reader) for reader in _DATES):
        return "date"
    if any(_good(counts, reader) for reader in _NUMBERS):
        return "text" if any(_is_code(value) for value in counts) else "number"
    return "text"


def misfits(kind: Kind, values: Iterable[str]) -> set[str]:
    """The different filled values that are not of `kind`."""
    different = {value for value in values if value}
    if kind == "text":
        return set()
    if kind == "yes/no":
        pair = max(YES_NO, key=lambda pair: sum(value.casefold() in pair for value in different))
        return {value for value in different if value.casefold() not in pair}
    if kind == "whole number":
        return {value for value in different if _whole(value) is None}
    reader = _best(_DATES if kind == "date" else _NUMBERS, different)
    return {value for value in different if reader(value) is None}


def numbers(values: Sequence[str]) -> list[float | None]:
    """Each text as a number, or None. Whether commas part thousands or decimals is read from all of them."""
    reader = _best(_NUMBERS, {value for value in values if value})
    return [_as_float(reader(value)) for value in values]


def dates(values: Sequence[str]) -> list[str | None]:
    """Each text as an ISO date, with its time where it has one, or None.

    Whether the day or the month comes first is read from all of them; the day where both would do.
    """
    reader = _best(_DATES, {value for value in values if value})
    return [None if (found := reader(value)) is None else str(found) for value in values]


def _yes_no(counts: Counter[str]) -> bool:
    if len(counts) > 6:
        return False
    folded = {value.casefold() for value in counts}
    return any(folded <= set(pair) for pair in YES_NO)


def _good(counts: Counter[str], reader: Reader) -> bool:
    """Whether enough of the values are of the reader's kind; a glance at some spares reading them all."""
    some = [value for value, _ in zip(counts, range(GLANCE), strict=False)]
    if sum(reader(value) is not None for value in some) < len(some) / 2:
        return False
    fitting = sum(count for value, count in counts.items() if reader(value) is not None)
    return fitting >= ENOUGH * counts.total()


def _best(readers: Sequence[Reader], values: set[str]) -> Reader:
    """The reader that understands most of the values; the first of equals."""
    return max(readers, key=lambda reader: sum(reader(value) is not None for value in values))


def _is_code(text: str) -> bool:
    """Digits that are a name rather than a number: postcodes, article numbers, cards."""
    return text.isdecimal() and ((text[0] == "0" and len(text) > 1) or len(text) > 15)


def _as_float(found: object | None) -> float | None:
    return found if isinstance(found, float) else None


def _whole(text: str) -> int | None:
    return int(text) if _WHOLE.fullmatch(text) else None


def _number(pattern: re.Pattern[str]) -> Reader:
    def reader(text: str) -> float | None:
        found = pattern.fullmatch(text)
        if not found:
            return None
        whole = re.sub(r"\D", "", found["whole"])
        return float(f"{found['minus']}{whole}.{found['part'] or 0}")

    return reader


def _date(pattern: re.Pattern[str], order: str) -> Reader:
    def reader(text: str) -> str | None:
        found = pattern.fullmatch(text)
        if not found:
            return None
        year, month, day = (int(found["abc"[order.index(part)]]) for part in "ymd")
        try:
            written = date(year, month, day).isoformat()
        except ValueError:
            return None
        return f"{written}T{found['time'].zfill(5)}" if found["time"] else written

    return reader


_NUMBERS = (_number(_POINT), _number(_COMMA))
_DATES = (_date(_YEAR_FIRST, "ymd"), _date(_YEAR_LAST, "dmy"), _date(_YEAR_LAST, "mdy"))
