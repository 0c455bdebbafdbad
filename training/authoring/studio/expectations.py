"""What a scenario expects, as people read and write it: sentences, and lines of text that can be edited.

Writing an expectation out and reading it back gives the same checks (see `judging.checks`). Storing it is
left to `scenarios.py`; changes to tables are shown, and kept as they are.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

Expect = dict[str, Any]

MOST_LINES = 100
LONGEST_LINE = 2000
NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
SHOWN = 3
"""Texts that a sentence names before it says how many more there are."""
NEITHER_TEXT_NOR_NUMBER = ("{", "[", '"')
WORDS_OF_JSON = ("true", "false", "null")


class Unreadable(Exception):
    """A line of an expectation means nothing. `field` is the input it stands in."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field


@dataclass(frozen=True)
class CallLine:
    """One expected call, as a row of the form: the tool, and a line `argument: value` each."""

    name: str
    arguments: str


@dataclass(frozen=True)
class Lines:
    """An expectation as the inputs of a form."""

    answer_has: str = ""
    answer_lacks: str = ""
    evidence: str = ""
    calls: tuple[CallLine, ...] = ()


def written(expect: Mapping[str, Any]) -> Lines:
    """The expectation as lines: of answer_has, alternatives stand on one line with | between them."""
    return Lines(
        answer_has="\n".join(" | ".join(map(_escaped, texts)) for texts in expect.get("answer_has", ())),
        answer_lacks="\n".join(map(_escaped, expect.get("answer_lacks", ()))),
        evidence="\n".join(map(_escaped, expect.get("evidence", ()))),
        calls=tuple(
            CallLine(call["name"], _arguments_written(call.get("arguments", {})))
            for call in expect.get("calls", ())
        ),
    )


def read(lines: Lines, before: Mapping[str, Any]) -> Expect:
    """The expectation that the lines say; what they cannot say is kept from `before`. Raises Unreadable."""
    asked = Lines.__dataclass_fields__
    expect = {key: value for key, value in before.items() if key not in asked}
    has = [_alternatives(line) for line in _lines("answer_has", lines.answer_has)]
    expect["answer_has"] = [texts for texts in has if texts]
    for field in ("answer_lacks", "evidence"):
        expect[field] = [_unescaped(line) for line in _lines(field, getattr(lines, field))]
    expect["calls"] = [_call(line) for line in lines.calls if line.name or line.arguments.strip()]
    return {key: value for key, value in expect.items() if value != [] or key not in asked}


def told(expect: Mapping[str, Any]) -> list[str]:
    """One sentence for each kind of thing expected; none where nothing is."""
    sentences = []
    if expect.get("answer_has"):
        texts = [_any_of(texts) for texts in expect["answer_has"]]
        sentences.append(_("The answer says %(texts)s.") % {"texts": _first(texts)})
    if expect.get("answer_lacks"):
        texts = [_quoted(text) for text in expect["answer_lacks"]]
        sentences.append(_("It does not say %(texts)s.") % {"texts": _first(texts)})
    if expect.get("evidence"):
        texts = [_quoted(text) for text in expect["evidence"]]
        sentences.append(_("A tool shows %(texts)s.") % {"texts": _first(texts)})
    if expect.get("calls"):
        texts = [_call_told(call) for call in expect["calls"]]
        sentences.append(_("It calls %(calls)s.") % {"calls": _first(texts)})
    if "changes" in expect:
        sentences.append(_changes_told(len(expect["changes"])))
    return sentences


def _changes_told(count: int) -> str:
    if not count:
        return _("No table is changed.")
    told = {"count": count}
    return (
        ngettext("It makes %(count)s change to a table.", "It makes %(count)s changes to tables.", count)
        % told
    )


def _first(texts: Sequence[str]) -> str:
    shown = ", ".join(texts[:SHOWN])
    more = len(texts) - SHOWN
    return shown if more <= 0 else _("%(texts)s and %(count)s more") % {"texts": shown, "count": more}


def _any_of(texts: Sequence[str]) -> str:
    if len(texts) == 1:
        return _quoted(texts[0])
    return _("%(text)s or the like") % {"text": _quoted(texts[0])} if texts else _quoted("")


def _quoted(text: str) -> str:
    return _("“%(text)s”") % {"text": text if len(text) <= 80 else text[:79] + "…"}


def _call_told(call: Mapping[str, Any]) -> str:
    arguments = call.get("arguments") or {}
    if not isinstance(arguments, dict) or not arguments:
        return str(call.get("name", ""))
    pairs = ", ".join(f"{name} = {_value_written(value)}" for name, value in arguments.items())
    return f"{call.get('name', '')} ({pairs if len(pairs) <= 120 else pairs[:119] + '…'})"


def _lines(field: str, text: str) -> list[str]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > MOST_LINES:
        raise Unreadable(
            field, _("At most %(most)s lines are read here; leave some out.") % {"most": MOST_LINES}
        )
    if any(len(line) > LONGEST_LINE for line in lines):
        told = {"most": LONGEST_LINE}
        raise Unreadable(field, _("A line has at most %(most)s characters; shorten the longest one.") % told)
    return lines


ESCAPES = {"\\": "\\\\", "|": "\\|"}
LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
"""Where str.splitlines ends a line: such a character is written as its code."""


def _escaped(text: str) -> str:
    """The text on one line, its own bars and backslashes marked, and the space at its ends."""
    found = "".join(ESCAPES.get(c) or (f"\\u{ord(c):04x}" if c in LINE_ENDS else c) for c in str(text))
    kept = found.strip()
    if kept == found and kept:
        return found
    before, after = found[: len(found) - len(found.lstrip())], found[len(found.rstrip()) :]
    if not kept:
        return "".join(f"\\u{ord(c):04x}" for c in found) or "\\e"
    return "".join(f"\\u{ord(c):04x}" for c in before) + kept + "".join(f"\\u{ord(c):04x}" for c in after)


_ESCAPE = re.compile(r"\\(u[0-9a-f]{4}|[\\|e])")


def _unescaped(line: str) -> str:
    def meant(found: re.Match[str]) -> str:
        code = found[1]
        return "" if code == "e" else chr(int(code[1:], 16)) if code[0] == "u" else code

    return _ESCAPE.sub(meant, line)


def _alternatives(line: str) -> list[str]:
    parts = re.findall(r"(?:\\.|[^|\\]|\\$)+", line)
    return [_unescaped(part.strip()) for part in parts if part.strip()]


def _arguments_written(arguments: Any) -> str:
    if not isinstance(arguments, dict):
        return json.dumps(arguments, ensure_ascii=False)
    return "\n".join(f"{_name_written(name)}: {_value_written(value)}" for name, value in arguments.items())


def _name_written(name: str) -> str:
    return _escaped(name).replace(":", "\\u003a")


def _value_written(value: Any) -> str:
    """A text as it is where nothing else could be read from it; everything else as JSON."""
    if isinstance(value, str):
        plain = value.strip() == value and value and not value.startswith(NEITHER_TEXT_NOR_NUMBER)
        if plain and value not in WORDS_OF_JSON and not set(value) & set(LINE_ENDS):
            return value
    found = json.dumps(value, ensure_ascii=False)
    return json.dumps(value) if set(found) & set(LINE_ENDS) else found


def _value(text: str) -> Any:
    """Numbers stay the text they are: the checks compare them by how they read."""
    if text.startswith(NEITHER_TEXT_NOR_NUMBER) or text in WORDS_OF_JSON:
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            told = {"text": text[:60]}
            sentence = _("“%(text)s” begins like JSON but is not; close its brackets or quotes.") % told
            raise Unreadable("calls", sentence) from None
    return text


def _call(line: CallLine) -> dict[str, Any]:
    name = line.name.strip()
    if not NAME.fullmatch(name):
        raise Unreadable("calls", _("Choose the tool that must be called, or empty the line's arguments."))
    arguments = {}
    for pair in _lines("calls", line.arguments):
        argument, colon, value = pair.partition(":")
        if not colon or not argument.strip():
            told = {"line": pair[:60]}
            raise Unreadable("calls", _("Write “%(line)s” as name: value, one on each line.") % told)
        arguments[_unescaped(argument.strip())] = _value(value.strip())
    return {"name": name, "arguments": arguments} if arguments else {"name": name}
