"""What one record of a file means as a scenario, or why it means none. Formats and files are elsewhere."""

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from gpu_worker.types import Message, Scenario, Split
from training.authoring.studio import expectations
from training.authoring.studio.audit import asked
from training.authoring.studio.questions import Question
from training.authoring.studio.scenario_records import Record
from training.authoring.studio.scenarios import (
    LONGEST_QUESTION,
    LONGEST_RUBRIC,
    LONGEST_TAG,
    MOST_TAGS,
    asked_anew,
)

Chosen = Mapping[str, str]
"""Field → column; empty where the file has none for it."""
LONGEST_ID = 60
LONGEST_ANSWER = 2000
MOST_TEXTS = 200
"""Texts of one kind that an expectation may list."""
MOST_MESSAGES = 200
SPLITS: Mapping[str, Split] = {
    **dict.fromkeys(("train", "training", "训练", "训练集"), "train"),
    **dict.fromkeys(("val", "valid", "validation", "dev", "验证", "验证集"), "val"),
    **dict.fromkeys(("test", "testing", "eval", "holdout", "测试", "测试集"), "test"),
}
KEPT = ("id", "kind", "rows", "messages", "expect", "rubric")
"""What an export has besides the fields people choose columns for, so that nothing is lost."""
ROLES = ("system", "user", "assistant", "tool")


class Unclear(Exception):
    """A record cannot be a scenario; the sentence says why."""


@dataclass(frozen=True)
class Row:
    """A row as it would be read; `problem` says why it would be left out, and then `made` is None."""

    number: int
    question: str = ""
    answers: str = ""
    """A line for each text that must stand in the answer, alternatives parted by |."""
    tags: tuple[str, ...] = ()
    split: str = ""
    problem: str = ""
    made: Question | None = None


def read_row(record: Record, mapping: Chosen) -> Row:
    """The row, with a problem where it has one."""
    values = record.values
    given = {field: values.get(column) for field, column in mapping.items() if column}
    try:
        return _read(record.number, {**{name: values.get(name) for name in KEPT}, **given})
    except (Unclear, expectations.Unreadable) as problem:
        told = {"row": record.number, "problem": str(problem)}
        return Row(record.number, problem=_("Row %(row)s: %(problem)s") % told)


def _read(number: int, values: Mapping[str, Any]) -> Row:
    messages, answer = _conversation(values.get("messages"))
    question = text_of(values.get("question")).strip() or asked(messages)
    if not question.strip():
        raise Unclear(_("there is no question in it."))
    if len(question) > LONGEST_QUESTION:
        raise Unclear(_("the question has more than %(most)s characters.") % {"most": LONGEST_QUESTION})
    expect = _expect(values.get("expect"), values.get("answers") or answer)
    tags = _tags(values.get("tags"))
    split = _split(values.get("split"))
    scenario = Scenario(
        id=text_of(values.get("id")).strip()[:LONGEST_ID] or f"imported-{uuid.uuid4().hex[:12]}",
        split=split or "train",
        messages=tuple(messages if asked(messages) == question else asked_anew(messages, question)),
        expect=expect,
        tags=tags,
        rubric=_rubric(values.get("rubric")),
    )
    rows = tuple(text_of(row) for row in _listed(values.get("rows"))[:MOST_TEXTS])
    made = Question(scenario, text_of(values.get("kind")).strip()[:24], rows)
    answers = expectations.written(expect).answer_has
    return Row(number, question, answers, tags, split or "", made=made)


def _rubric(value: Any) -> str:
    rubric = text_of(value).strip()
    if len(rubric) > LONGEST_RUBRIC:
        raise Unclear(_("its rubric has more than %(most)s characters.") % {"most": LONGEST_RUBRIC})
    return rubric


def text_of(value: Any) -> str:
    """A cell as text; what is no text in JSON lines stays JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _listed(value: Any) -> list[Any]:
    """A list, or one written as JSON in a cell; else nothing."""
    found = _json(value)
    return found if isinstance(found, list) else []


def _json(value: Any) -> Any:
    """The value a CSV cell holds as JSON; None if it is none."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value) if value.strip() else None
    except (ValueError, RecursionError):
        raise Unclear(_("one of its cells should be JSON and is not.")) from None


def _conversation(value: Any) -> tuple[list[Message], str]:
    """Messages up to the last question, and what the assistant answered to it, if the file has that."""
    found = _json(value)
    if found is None:
        return [], ""
    if not isinstance(found, list) or len(found) > MOST_MESSAGES or not all(map(_is_message, found)):
        raise Unclear(_("messages must be a list of objects with role and content."))
    messages: list[Message] = [{"role": each["role"], "content": each["content"]} for each in found]
    answer = ""
    while messages and messages[-1]["role"] != "user":
        last = messages.pop()
        answer = last["content"] if last["role"] == "assistant" else answer
    return messages, answer if len(answer) <= LONGEST_ANSWER else ""


def _is_message(value: Any) -> bool:
    known = isinstance(value, dict) and value.get("role") in ROLES
    return known and isinstance(value.get("content"), str)


def _expect(stored: Any, answers: Any) -> dict[str, Any]:
    """The expectation of an export, with what the answers say where somebody has changed them."""
    expect = _checked(_json(stored))
    if isinstance(answers, list):
        has = _alternatives(answers)
        return {**expect, "answer_has": has} if has else expect
    written = text_of(answers).strip()
    if len(written) > LONGEST_ANSWER * 10:
        raise Unclear(_("its answers are too long."))
    if not written or written == expectations.written(expect).answer_has.strip():
        return expect
    return {**expect, **expectations.read(expectations.Lines(answer_has=written), {})}


def _alternatives(answers: Sequence[Any]) -> list[list[str]]:
    """A list of texts are alternatives; a list of lists says what must stand, each with alternatives."""
    if all(isinstance(each, list) for each in answers):
        return [texts for each in answers if (texts := [text_of(text) for text in each if text_of(text)])]
    texts = [text_of(each) for each in answers if text_of(each)]
    return [texts] if texts else []


def _checked(expect: Any) -> dict[str, Any]:
    """An expectation of the right shape. Raises Unclear for any other."""
    if expect is None:
        return {}
    if not isinstance(expect, dict) or not expect.keys() <= _SHAPES.keys():
        raise Unclear(_("what it expects cannot be read."))
    if not all(_SHAPES[key](value) for key, value in expect.items()):
        raise Unclear(_("what it expects cannot be read."))
    return {key: value for key, value in expect.items() if value or key == "changes"}


def _texts(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= MOST_TEXTS and all(isinstance(v, str) for v in value)


def _call(value: Any) -> bool:
    known = isinstance(value, dict) and value.keys() <= {"name", "arguments"}
    return known and isinstance(value.get("name"), str) and isinstance(value.get("arguments", {}), dict)


def _list_of(shape: Any) -> Any:
    return lambda value: isinstance(value, list) and len(value) <= MOST_TEXTS and all(map(shape, value))


_SHAPES: Mapping[str, Any] = {
    "answer_has": _list_of(lambda value: bool(value) and _texts(value)),
    "answer_lacks": _texts,
    "evidence": _texts,
    "calls": _list_of(_call),
    "changes": _list_of(lambda value: isinstance(value, dict)),
}


def _tags(value: Any) -> tuple[str, ...]:
    """Tags, which a cell parts by commas or semicolons."""
    parts = value if isinstance(value, list) else text_of(value).replace(";", ",").split(",")
    tags = dict.fromkeys(tag for tag in (text_of(part).strip() for part in parts) if tag)
    if len(tags) > MOST_TAGS or any(len(tag) > LONGEST_TAG for tag in tags):
        told = {"most": MOST_TAGS, "longest": LONGEST_TAG}
        raise Unclear(_("it has more than %(most)s tags, or one with over %(longest)s characters.") % told)
    return tuple(tags)


def _split(value: Any) -> Split | None:
    named = text_of(value).strip().casefold()
    if named and named not in SPLITS:
        told = {"split": named[:40]}
        raise Unclear(_("“%(split)s” is no split; use train, val, test, or leave it empty.") % told)
    return SPLITS.get(named)
