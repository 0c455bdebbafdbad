"""How a judge is shown what others wrote: as JSON on one line that can pass for nothing else.

In it no frame, chat marker, line break or invisible character survives; each becomes its escape, so that the
text still reads back to the letter. E-mail addresses, comparisons and the plainest tags of HTML keep their
"<", which opens nothing of ours.
"""

import json
import re
from typing import Any

LONGEST_JSON = 200_000
"""Characters of a text that is looked at as JSON."""
FEWEST_ROWS = 3
"""From so many objects with the same keys on, the keys of a list are written once."""

_UNSAFE = re.compile(
    r"<(?![ =]|[0-9](?!x)|[a-z0-9_.+-]{1,64}@[a-z0-9_.-]{1,255}>"
    r"|/?(?:b|i|em|strong|mark|p|br|ul|ol|li|tr|td|th)>)"
    "|[\uff1c\ufe64\u02c2\u1438\u276e\u2039\u27e8\u2329\u3008](?=[/|!?\\w\uff5c])"
    "|[\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200c\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
    r"|\[(?=/?(?:INST|SYS|TOOL|AVAILABLE|SYSTEM|THINK|ARGS|CALL_ID|IMG|gMASK|BOS|EOS|PAD|CLS|SEP|MASK|UNK))"
    r"|#(?=#{1,2} ?(?:instruction|response|input|system|human|assistant|user)\b)",
    re.IGNORECASE,
)
_TURN = re.compile(r'((?:"|\\[nrtf])\s*(?:human|assistant|system|user|developer|tool)\s*):', re.IGNORECASE)
"""Where a text, or a line in it, begins as a chat's turn does; the escapes of JSON stand for line breaks."""


class _Number(str):
    """A number of a JSON text, digit by digit as it was written."""


class _Pairs(list[tuple[str, Any]]):
    """An object of a JSON text with all its keys, doubled ones too."""


def shown(value: Any) -> str:
    """JSON on one line, in which nothing can pass for a frame, a chat marker or a line break."""
    return _harmless(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def shown_text(text: str) -> str:
    """A text as JSON; one that is an object or a list already is not wrapped up a second time."""
    return _as_json(text) or shown(text)


def _harmless(text: str) -> str:
    return _TURN.sub(r"\1\\u003a", _UNSAFE.sub(_escaped, text))


def _escaped(unsafe: re.Match[str]) -> str:
    character = unsafe.group()
    return f"\\u{ord(character):04x}" if ord(character) < 128 else json.dumps(character)[1:-1]


def _as_json(text: str) -> str:
    """The object or list that `text` is, without its spaces; "" where it is neither."""
    start = text.lstrip(" \t\r\n")[:1]
    if start not in ("{", "[") or len(text) > LONGEST_JSON:
        return ""
    try:
        value = json.loads(
            text,
            object_pairs_hook=_Pairs,
            parse_int=_Number,
            parse_float=_Number,
            parse_constant=_refuse_constant,
        )
        return _harmless(_written(value))
    except (ValueError, RecursionError):
        return ""


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _written(value: Any) -> str:
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, _Pairs):
        return "{" + ",".join(f"{_plain(key)}:{_written(one)}" for key, one in value) + "}"
    if isinstance(value, list):
        return _table(value) or "[" + ",".join(map(_written, value)) + "]"
    return _plain(value)


def _table(rows: list[Any]) -> str:
    """keys["a","b"]rows[[1,2],[3,4]] for a list of objects that all have the same keys in the same order."""
    if len(rows) < FEWEST_ROWS or not all(isinstance(row, _Pairs) and row for row in rows):
        return ""
    keys = [key for key, _ in rows[0]]
    if any([key for key, _ in row] != keys for row in rows):
        return ""
    lines = ("[" + ",".join(_written(one) for _, one in row) + "]" for row in rows)
    return f"keys[{','.join(map(_plain, keys))}]rows[{','.join(lines)}]"


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
