"""What a person may do with a scenario of an agent: add it, edit it; and what the scenarios still lack.

Many at once, and undoing, are in `scenario_changes.py`, reading in `scenario_queries.py`, inventing in
`invent.py`, files in `scenario_files.py`.
"""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from gpu_worker.types import Job, Message
from training.authoring.studio import audit
from training.authoring.studio.questions.question import Question
from training.models import LIVING, Agent, Scenario
from training.runs import jobs
from training.runs.rows import clean, plain

SPLITS: dict[str, Promise] = {
    "train": gettext_lazy("Train"),
    "val": gettext_lazy("Validate"),
    "test": gettext_lazy("Test"),
}
MOST = 10_000
"""Scenarios an agent may have."""
LONGEST_QUESTION = 8000
LONGEST_RUBRIC = jobs.TEXTS["rubric"]
LONGEST_TAG = 40
MOST_TAGS = 20


class Refused(Exception):
    """What was asked for cannot be done; the text says why and what to do. `field` names an input."""

    def __init__(self, sentence: str, field: str = "") -> None:
        super().__init__(sentence)
        self.field = field


@dataclass(frozen=True)
class Undo:
    """What rows held before a change: columns with the ids of the rows that held them. Plain JSON."""

    what: str
    before: list[tuple[dict[str, Any], list[int]]] = field(default_factory=list)

    @property
    def count(self) -> int:
        return sum(len(ids) for _columns, ids in self.before)


def needs(agent: Agent) -> list[str]:
    """What the scenarios still lack before the agent can be trained, in sentences; nothing when ready."""
    found = audit.of(agent)
    if not found.count:
        return [_("Add scenarios: some to practise on, and others kept back for the test.")]
    sentences = []
    if not found.splits.get("train"):
        sentences.append(_("No scenario is in the training split; there is nothing to practise on."))
    if not found.splits.get("test"):
        sentences.append(
            _("No scenario is in the test split; without one nobody can tell whether it learned.")
        )
    if found.leaks:
        sentences.append(
            ngettext(
                "%(count)s scenario leaks between splits: split them again without leaks.",
                "%(count)s scenarios leak between splits: split them again without leaks.",
                len(found.leaks),
            )
            % {"count": len(found.leaks)}
        )
    if agent.config.get("reward", Job.reward) == "checks" and found.unchecked:
        sentences.append(
            ngettext(
                "%(count)s scenario expects nothing, yet the reward is its checks: say what answers hold.",
                "%(count)s scenarios expect nothing, but the reward is their checks: say what answers hold.",
                found.unchecked,
            )
            % {"count": found.unchecked}
        )
    return sentences


def add(
    agent: Agent,
    *,
    question: str,
    split: str,
    expect: Mapping[str, Any],
    tags: Sequence[str] = (),
    rubric: str = "",
    source: str = "written",
) -> Scenario:
    """One scenario written by hand. Raises Refused."""
    _refuse_beyond_most(agent, 1)
    messages = [{"role": "user", "content": _question(question)}]
    with transaction.atomic():
        made = Scenario.objects.create(
            agent=agent,
            key=_fresh_key(source),
            split=known_split(split),
            messages=messages,
            expect=plain(dict(expect)),
            tags=clean_tags(tags),
            rubric=_own_rubric(rubric),
            source=source,
        )
        touch(agent)
    return made


def add_questions(agent: Agent, questions: Sequence[Question], *, source: str) -> list[int]:
    """Scenarios that were invented or read from a file; returns their ids. Raises Refused beyond MOST.

    A key that the agent has used before gets an ending of its own.
    """
    _refuse_beyond_most(agent, len(questions))
    wanted = [question.scenario.id for question in questions]
    taken = set(Scenario.objects.filter(agent=agent, key__in=wanted).values_list("key", flat=True))
    rows = []
    for question in questions:
        key = clean(question.scenario.id)[:60] or source
        key = f"{key}-{uuid.uuid4().hex[:8]}" if key in taken else key
        taken.add(key)
        rows.append(_row(agent, question, key, source))
    with transaction.atomic():
        made = Scenario.objects.bulk_create(rows, batch_size=500)
        touch(agent)
    return [row.pk for row in made]


def edit(
    scenario: Scenario,
    *,
    question: str,
    split: str,
    expect: Mapping[str, Any],
    tags: Sequence[str],
    rubric: str = "",
) -> Undo:
    """Change a scenario in place. Raises Refused, and then nothing is changed."""
    before = {name: getattr(scenario, name) for name in ("messages", "split", "expect", "tags", "rubric")}
    scenario.messages = asked_anew(scenario.messages, _question(question))
    scenario.split, scenario.tags = known_split(split), clean_tags(tags)
    scenario.expect, scenario.rubric = plain(dict(expect)), _own_rubric(rubric)
    changed = [name for name, value in before.items() if getattr(scenario, name) != value]
    with transaction.atomic():
        scenario.save(update_fields=[*before])
        touch(scenario.agent)
    if not changed:
        return Undo(_("Nothing was changed."))
    return Undo(_("The scenario is changed."), [({name: before[name] for name in changed}, [scenario.pk])])


def asked_anew(messages: Sequence[Message], question: str) -> list[Message]:
    """The messages with another last question; what stands before and after it stays."""
    asked = [place for place, message in enumerate(messages) if message.get("role") == "user"]
    if not asked:
        return [*messages, {"role": "user", "content": question}]
    changed = [dict(message) for message in messages]
    changed[asked[-1]]["content"] = question
    return changed


def _row(agent: Agent, question: Question, key: str, source: str) -> Scenario:
    scenario = question.scenario
    return Scenario(
        agent=agent,
        key=key,
        split=scenario.split,
        messages=[plain(message) for message in scenario.messages],
        expect=plain(scenario.expect),
        tags=[clean(tag)[:LONGEST_TAG] for tag in scenario.tags][:MOST_TAGS],
        kind=question.kind[:24],
        rubric=clean(scenario.rubric),
        rows=[clean(row) for row in question.rows],
        source=source,
    )


def touch(agent: Agent) -> None:
    """Note the moment: `audit` reads the scenarios again when it has changed."""
    now = timezone.now()
    Agent.objects.filter(pk=agent.pk).update(edited_at=now)
    agent.edited_at = now


def _refuse_beyond_most(agent: Agent, more: int) -> None:
    if agent.scenarios.filter(LIVING).count() + more > MOST:
        told = {"most": MOST}
        raise Refused(_("An agent has at most %(most)s scenarios; delete some first.") % told)


def _fresh_key(source: str) -> str:
    return f"{source}-{uuid.uuid4().hex[:12]}"


def _question(text: str) -> str:
    text = clean(text).strip()
    if not text:
        raise Refused(_("Write what the agent is asked."), "question")
    if len(text) > LONGEST_QUESTION:
        told = {"most": LONGEST_QUESTION}
        raise Refused(_("A question has at most %(most)s characters; shorten it.") % told, "question")
    return text


def _own_rubric(text: str) -> str:
    """What the judge looks at in this scenario instead of the agent's rubric."""
    text = clean(text.replace("\r\n", "\n")).strip()
    if len(text) > LONGEST_RUBRIC:
        told = {"most": LONGEST_RUBRIC}
        raise Refused(_("A rubric has at most %(most)s characters; shorten it.") % told, "rubric")
    return text


def known_split(split: str) -> str:
    if split not in SPLITS:
        raise Refused(_("Choose the split: Train, Validate or Test."), "split")
    return split


def clean_tags(tags: Iterable[str]) -> list[str]:
    found = list(dict.fromkeys(tag for tag in (clean(tag).strip() for tag in tags) if tag))
    if any(len(tag) > LONGEST_TAG for tag in found):
        told = {"most": LONGEST_TAG}
        raise Refused(_("A tag has at most %(most)s characters; shorten the longest one.") % told, "tags")
    if len(found) > MOST_TAGS:
        raise Refused(_("A scenario has at most %(most)s tags; remove some.") % {"most": MOST_TAGS}, "tags")
    return found
