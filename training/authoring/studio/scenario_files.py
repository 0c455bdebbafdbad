"""Scenarios from files and into files. The pages stand on these functions; no page is known here.

    records = scenario_records.read(raw, filename)          # raises scenario_records.Refused
    mapping = guessed(records)                              # {field: column or ""}, for FIELDS
    shown = preview(records, mapping)                       # first rows as they would be read
    found = imported(records, mapping, fixed=audit.questions_of(agent), seed=0)
    scenarios.add_questions(agent, found.questions, source="imported")
    exported(audit.questions_of(agent), "csv" or "jsonl")   # bytes; reading them gives the same questions

Columns that an export of ours has besides FIELDS are read when they are there.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from training.authoring.studio import expectations
from training.authoring.studio.audit import asked
from training.authoring.studio.questions import Question, split
from training.authoring.studio.scenario_reading import KEPT, Chosen, Row, read_row, text_of
from training.authoring.studio.scenario_records import (
    Format,
    Records,
    Refused,
    written_csv,
    written_jsonl,
)
from training.authoring.studio.scenarios import MOST

FIELDS = ("question", "answers", "tags", "split")
"""What a person chooses columns for; only a question is needed."""
TOLD = 50
"""Problems that are told one by one; the rest are counted."""
SHOWN = 10
"""Rows of a preview."""
COLUMNS = ("id", *FIELDS, *KEPT[1:])
"""Of an exported CSV."""
NAMES: Mapping[str, tuple[str, ...]] = {
    "question": (
        *("question", "prompt", "input", "query", "task", "instruction", "text", "message", "request"),
        *("frage", "pregunta", "pergunta", "domanda", "вопрос", "问题", "提问", "输入", "質問", "질문"),
    ),
    "answers": (
        *(
            "answers",
            "answer",
            "expected",
            "expected_answer",
            "expected_output",
            "output",
            "target",
            "solution",
            "label",
        ),
        *("response", "completion", "antwort", "respuesta", "réponse", "ответ", "答案", "回答", "期望"),
    ),
    "tags": ("tags", "tag", "category", "categories", "topic", "type", "kategorie", "标签", "类别", "分类"),
    "split": ("split", "set", "subset", "partition", "fold", "划分"),
}
"""What columns for a field are called, likeliest first."""


@dataclass(frozen=True)
class Preview:
    """`good` rows of `total` would be read."""

    rows: tuple[Row, ...]
    total: int
    good: int
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Imported:
    questions: tuple[Question, ...]
    problems: tuple[str, ...]


def guessed(records: Records) -> dict[str, str]:
    """For each of FIELDS the column that is most likely meant, or an empty text."""
    named = {column.strip().casefold().replace(" ", "_"): column for column in reversed(records.columns)}
    found = {
        field: next((named[name] for name in names if name in named), "") for field, names in NAMES.items()
    }
    if not found["question"] and "messages" not in records.columns:
        free = [column for column in records.columns if column not in (*found.values(), *KEPT)]
        found["question"] = max(free, key=lambda column: _length(records, column), default="")
    return found


def preview(records: Records, mapping: Chosen, most: int = SHOWN) -> Preview:
    """What `imported` would make of the file, its first rows in full. Raises Refused as that does."""
    rows = _rows(records, mapping)
    total = len(records.rows) + len(records.problems)
    return Preview(tuple(rows[:most]), total, sum(not row.problem for row in rows), _problems(records, rows))


def imported(records: Records, mapping: Chosen, *, fixed: Sequence[Question] = (), seed: int = 0) -> Imported:
    """Every row that can be read, as a question. Raises Refused if no column is chosen for the question,
    or if there are more than an agent can have.

    A row that names no split gets one, so that nothing leaks into `fixed`, the questions that are there.
    """
    if len(fixed) + len(records.rows) > MOST:
        told = {"most": MOST}
        raise Refused(_("An agent has at most %(most)s scenarios: delete some, or split the file.") % told)
    rows = _rows(records, mapping)
    placed = [row.made for row in rows if row.made and row.split]
    loose = [row.made for row in rows if row.made and not row.split]
    dealt = iter(split(loose, seed, fixed=[*fixed, *placed]))
    questions = tuple(row.made if row.split else next(dealt) for row in rows if row.made)
    return Imported(questions, _problems(records, rows))


def exported(questions: Sequence[Question], format_: Format) -> bytes:
    """The questions as a file; `imported` with the guessed mapping gives them back."""
    if format_ == "jsonl":
        return written_jsonl(map(_values, questions))
    return written_csv(COLUMNS, map(_cells, questions))


def _rows(records: Records, mapping: Chosen) -> list[Row]:
    unknown = [column for column in mapping.values() if column and column not in records.columns]
    if unknown:
        raise Refused(_("The file has no column “%(column)s”.") % {"column": unknown[0][:80]})
    if not mapping.get("question") and "messages" not in records.columns:
        raise Refused(_("Choose the column that holds the questions."))
    return [read_row(record, mapping) for record in records.rows]


def _problems(records: Records, rows: Sequence[Row]) -> tuple[str, ...]:
    found = [*records.problems, *(row.problem for row in rows if row.problem)]
    more = len(found) - TOLD
    if more <= 0:
        return tuple(found)
    told = ngettext("%(count)s more row is left out.", "%(count)s more rows are left out.", more)
    return (*found[:TOLD], told % {"count": more})


def _length(records: Records, column: str) -> int:
    return sum(len(text_of(record.values.get(column))) for record in records.rows[:100])


def _values(question: Question) -> dict[str, Any]:
    """A question as an object: what people read first, then what makes it whole."""
    scenario = question.scenario
    return {
        "id": scenario.id,
        "question": asked(scenario.messages),
        "answers": scenario.expect.get("answer_has", []),
        "tags": list(scenario.tags),
        "split": scenario.split,
        "kind": question.kind,
        "rows": list(question.rows),
        "messages": list(scenario.messages),
        "expect": scenario.expect,
        "rubric": scenario.rubric,
    }


def _cells(question: Question) -> list[str]:
    values = _values(question)
    simple = values["messages"] == [{"role": "user", "content": values["question"]}]
    values |= {
        "answers": expectations.written(values["expect"]).answer_has,
        "tags": ", ".join(values["tags"]),
        "rows": json.dumps(values["rows"], ensure_ascii=False) if values["rows"] else "",
        "messages": "" if simple else json.dumps(values["messages"], ensure_ascii=False),
        "expect": json.dumps(values["expect"], ensure_ascii=False) if values["expect"] else "",
    }
    return [values[name] for name in COLUMNS]
