"""A request body as plain data, or a refusal: size of the nest, numbers and text are bounded here.

What the fields mean is left to `chat_request`.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from training.serving.errors import ApiError, invalid

MAX_DEPTH = 32
MAX_VALUES = 50_000
MAX_DIGITS = 100


def read_object(raw: bytes) -> dict[str, Any]:
    """The JSON object in `raw`. Raises ApiError (400) for anything that is not strict, sane JSON."""
    try:
        value = json.loads(raw.decode("utf-8"), parse_constant=_refuse_constant, parse_int=_whole)
    except UnicodeDecodeError:
        raise _not_json("it is not UTF-8 text") from None
    except RecursionError:
        raise _not_json(f"it is nested deeper than {MAX_DEPTH} levels") from None
    except ValueError as error:
        raise _not_json(str(error)) from None
    if not isinstance(value, dict):
        raise _not_json("it must be an object")
    _check_nest(value)
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number has more than {MAX_DIGITS} digits")
    return int(digits)


def _not_json(why: str) -> ApiError:
    return invalid(None, f"The request body could not be read as JSON: {why}.", code="invalid_json")


def _check_nest(value: dict[str, Any]) -> None:
    """At most MAX_DEPTH levels and MAX_VALUES values, finite numbers, text that is valid Unicode."""
    level: list[Any] = [value]
    values = 0
    for _ in range(MAX_DEPTH):
        values += len(level)
        if values > MAX_VALUES:
            raise _not_json(f"it holds more than {MAX_VALUES} values")
        for item in level:
            _check_leaf(item)
        level = [child for item in level for child in _children(item)]
        if not level:
            return
    raise _not_json(f"it is nested deeper than {MAX_DEPTH} levels")


def _children(item: Any) -> list[Any]:
    if isinstance(item, dict):
        return [*item.keys(), *item.values()]
    return item if isinstance(item, list) else []


def _check_leaf(item: Any) -> None:
    if isinstance(item, str):
        try:
            item.encode("utf-8")
        except UnicodeEncodeError:
            raise _not_json("a text holds half of a surrogate pair") from None
    elif isinstance(item, float) and item in (float("inf"), float("-inf")):
        raise _not_json("a number is too large")
