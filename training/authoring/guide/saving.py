"""Saving an agent's form, field by field, so that two tabs never overwrite each other and nothing is lost.

A form says for each field what it had seen there (`was-<field>`, a digest). Only fields that differ from it
were changed here; if the agent holds yet another text, somebody changed it elsewhere: that field waits for
the person's choice, all others are saved. Errors keep what was typed, too.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from training.authoring.guide import suggestions
from training.authoring.guide.fields import (
    OTHER,
    Choice,
    Field,
    Unfit,
    default_of,
    digest,
    normal,
    put,
    text_of,
)
from training.authoring.guide.fields import written as as_text
from training.models import Agent


@dataclass
class Outcome:
    """What became of a form. Names of fields throughout."""

    saved: list[str] = field(default_factory=list)
    typed: dict[str, str] = field(default_factory=dict)
    """What stands in the form where it is not what the agent holds."""
    errors: dict[str, str] = field(default_factory=dict)
    conflicts: dict[str, str] = field(default_factory=dict)
    """Fields that were changed elsewhere, with the digest the form goes on claiming until one is chosen."""
    redrawn: set[str] = field(default_factory=set)
    """Fields whose text the page must take from the agent."""

    @property
    def clean(self) -> bool:
        return not self.errors and not self.conflicts


@dataclass(frozen=True)
class Shown:
    """A field as a page draws it."""

    field: Field
    text: str
    was: str
    default: str
    choices: Sequence[Choice]
    error: str = ""
    theirs: str | None = None
    suggested: bool = False
    back: bool = False

    @property
    def changed(self) -> bool:
        """Whether a knob is not at its default."""
        return self.field.knob and self.text != self.default

    @property
    def weights(self) -> list[tuple[Choice, str]]:
        """The parts of a mix, each with its number as it stands in the form."""
        given = json.loads(self.text) if self.text else {}
        return [(part, as_text(given.get(part.value, 0))) for part in self.choices]

    @property
    def own(self) -> bool:
        """Whether the text is none of the choices."""
        return self.text not in {choice.value for choice in self.choices}

    @property
    def default_title(self) -> str:
        named = {choice.value: str(choice.title) for choice in self.choices}
        return named.get(self.default, self.default)


def save(agent: Agent, fields: Sequence[Field], posted: Mapping[str, str]) -> Outcome:
    """Save what was changed in a form, and do what its buttons ask ("act": "take:rubric")."""
    act, _colon, target = posted.get("act", "").partition(":")
    by_name = {known.name: known for known in fields}
    outcome = Outcome()
    try:
        with transaction.atomic():
            current = Agent.objects.select_for_update().get(pk=agent.pk)
            for known in fields:
                _settle(current, known, posted, act if known.name == target else "", outcome)
            _store(current, outcome)
    except IntegrityError:  # another request took the name in this very moment
        outcome = Outcome(errors={"name": _("You have another agent of this name; choose a different one.")})
        outcome.typed = {name: typed_in(posted, by_name[name]) for name in by_name}
    agent.refresh_from_db()
    if target in by_name:
        _suggestion(agent, act, target, outcome)
    return outcome


def typed_in(posted: Mapping[str, str], known: Field) -> str:
    """A field's text in a form; a card for a value of one's own has the text beside it."""
    if known.kind == "weights":
        return _weights_in(posted, known)
    text = posted.get(known.name, "")
    if known.other and text == OTHER:
        text = posted.get(f"{known.name}-{OTHER}", "").strip()
    return normal(text)


def _weights_in(posted: Mapping[str, str], known: Field) -> str:
    """The sliders of a mix as one text, written as it is kept."""
    given: dict[str, Any] = {}
    for part in known.choices():
        text = posted.get(f"{known.name}-{part.value}", "").strip().replace(",", ".")
        try:
            given[part.value] = float(text or 0)
        except ValueError:
            given[part.value] = text[:20]  # refused later, and shown again
    kept = {name: given[name] for name in sorted(given) if given[name]}
    return json.dumps(kept) if kept else ""


def shown(agent: Agent, fields: Sequence[Field], outcome: Outcome | None = None) -> list[Shown]:
    """The fields as the page draws them, after a form was saved or without one."""
    outcome = outcome or Outcome()
    before = suggestions.earlier(agent) if agent.suggested else {}
    return [_shown(agent, known, outcome, known.name in before) for known in fields]


def _shown(agent: Agent, known: Field, outcome: Outcome, back: bool) -> Shown:
    kept = text_of(agent, known)
    clash = known.name in outcome.conflicts
    return Shown(
        field=known,
        text=outcome.typed.get(known.name, kept),
        was=outcome.conflicts.get(known.name) or digest(kept),
        default=as_text(default_of(known)) if known.knob else "",
        choices=known.choices_of(agent),
        error=outcome.errors.get(known.name, ""),
        theirs=kept if clash else None,
        suggested=known.name in agent.suggested,
        back=back,
    )


def _settle(agent: Agent, known: Field, posted: Mapping[str, str], act: str, outcome: Outcome) -> None:
    """Decide about one field: unchanged, saved, wrong, or changed elsewhere at the same time."""
    name, was = known.name, posted.get(f"was-{known.name}")
    if was is None or act == "take":
        outcome.redrawn.update({name} if act == "take" else set())
        return
    typed, kept = typed_in(posted, known), text_of(agent, known)
    if act == "reset":
        typed = as_text(default_of(known)) if known.knob else ""
        outcome.redrawn.add(name)
    if typed == kept or digest(typed) == was:
        if digest(kept) != was:
            outcome.redrawn.add(name)  # changed elsewhere and not here: show what is there now
        return
    if digest(kept) != was and act != "mine":
        outcome.conflicts[name] = was
        outcome.typed[name] = typed
        return
    _put(agent, known, typed, outcome)


def _put(agent: Agent, known: Field, typed: str, outcome: Outcome) -> None:
    try:
        put(agent, known, typed)
    except Unfit as unfit:
        outcome.errors[known.name] = str(unfit)
        outcome.typed[known.name] = typed
    else:
        outcome.saved.append(known.name)


def _store(agent: Agent, outcome: Outcome) -> None:
    if outcome.saved:
        agent.suggested = [name for name in agent.suggested if name not in outcome.saved]
        agent.edits += 1
        agent.edited_at = timezone.now()
        agent.save()


def _suggestion(agent: Agent, act: str, name: str, outcome: Outcome) -> None:
    if act == "good":
        suggestions.keep(agent, [name])
    elif act == "back":
        suggestions.take_back(agent, name)
        outcome.redrawn.add(name)
