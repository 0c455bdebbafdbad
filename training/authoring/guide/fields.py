"""The fields of an agent that a person types or picks: what each is called, may hold, and where it is kept.

A field is a column of Agent or a knob of its training (a key of Agent.config). Here is what it says and how
text becomes its value; saving, and what happens when two people save, is in `saving.py`.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, Literal, TypeAlias

from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from gpu_worker.types import Job
from judging.rubric import DEFAULT as DEFAULT_RUBRIC
from judging.rubric import unwrapped
from training.judges import providers
from training.models import Agent
from training.phrasebook import said
from training.runs import base_models, jobs, knobs
from training.runs.rows import clean

Words: TypeAlias = str | Promise
Kind = Literal["line", "text", "number", "switch", "choice", "cards", "weights"]

LONGEST_NAME = 60
LONGEST_DESCRIPTION = 4000
MOST_CARDS = 11
"""Models that have a card of their own; others are typed."""
OTHER = "other"
"""The card that lets a person type a value of their own."""


FIRST_MIX = {"ruler": 1.0, "checks": 1.0}
"""The weights a mix begins with."""
MOST_WEIGHT = 100.0


class Unfit(Exception):
    """What was typed cannot be the field's value; the text says what to do."""


@dataclass(frozen=True)
class Choice:
    value: str
    title: Words
    says: Words = ""


@dataclass(frozen=True)
class Field:
    """`knob` fields live in Agent.config and are absent there while they have their default."""

    name: str
    label: Words
    kind: Kind
    help: Words = ""
    why: Words = ""
    knob: bool = False
    choices: Callable[[], Sequence[Choice]] = tuple
    offers: Callable[[Agent], Sequence[Choice]] | None = None
    """In place of choices where they depend on whose agent it is."""
    check: Callable[[Agent, str], str | None] = lambda agent, text: None
    """What is wrong with a text for this agent, in a sentence."""
    longest: int = 0
    placeholder: Words = ""
    other: Words = ""
    """The label of the line for a value of one's own; only cards have it."""

    def choices_of(self, agent: Agent) -> Sequence[Choice]:
        return self.offers(agent) if self.offers else self.choices()


def value_of(agent: Agent, field: Field) -> Any:
    """What the agent holds, or the default of a knob it does not."""
    return agent.config.get(field.name, default_of(field)) if field.knob else getattr(agent, field.name)


def default_of(field: Field) -> Any:
    """The default of a knob, as `Job` has it."""
    knob = next(knob for knob in fields(Job) if knob.name == field.name)
    if knob.default_factory is not MISSING:
        return knob.default_factory()
    assert knob.default is not MISSING
    return knob.default


def text_of(agent: Agent, field: Field) -> str:
    """The value as it stands in the form."""
    return written(value_of(agent, field))


def written(value: Any) -> str:
    """A value as text in a form; numbers as short as they can be without losing anything."""
    if isinstance(value, bool):
        return "on" if value else ""
    if value is None:
        return ""
    if isinstance(value, dict):
        return json.dumps({name: float(value[name]) for name in sorted(value)}) if value else ""
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return str(value)


def digest(text: str) -> str:
    """Short stand-in for a text: what a page shows that it has seen."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def normal(text: str) -> str:
    """A text as it came from a browser, as it is kept: one kind of line end, nothing no database takes."""
    return clean(text.replace("\r\n", "\n"))


def put(agent: Agent, field: Field, text: str) -> None:
    """Set the field from a form's text, on the object only. Raises Unfit."""
    text = text if field.kind == "text" else text.strip()
    if field.longest and len(text) > field.longest:
        raise Unfit(_("At most %(most)s characters fit here.") % {"most": field.longest})
    found = field.check(agent, text)
    if found:
        raise Unfit(found)
    if field.knob:
        agent.config = _config_with(agent, field, text)
    else:
        setattr(agent, field.name, text)


def _config_with(agent: Agent, field: Field, text: str) -> dict[str, Any]:
    """The agent's knobs with this one changed; a knob at its default is left out. Raises Unfit."""
    rest = {name: value for name, value in agent.config.items() if name != field.name}
    value = _knob_value(field, text)
    if field.name == "reward" and value == "mix" and not rest.get("mix"):
        rest["mix"] = dict(FIRST_MIX)
    if value == default_of(field):
        return rest
    changed = {**rest, field.name: value}
    found = _range_complaint(field, value) or jobs.complaint({field.name: value}) or jobs.complaint(changed)
    if found:
        raise Unfit(said(found))
    return changed


def _knob_value(field: Field, text: str) -> Any:
    """A knob's value from a form's text. No text is the default, except for a switch. Raises Unfit."""
    if field.kind == "switch":
        return bool(text)
    if not text:
        return default_of(field)
    if field.kind == "weights":
        return _weights(text)
    if field.kind != "number":
        return text
    try:
        return int(text) if jobs.RANGES[field.name].whole else float(text)
    except ValueError:
        return _not_a_number(field, text)


def _weights(text: str) -> dict[str, float]:
    """What the sliders say, as JSON; a weight of zero is none. Raises Unfit."""
    try:
        given = {name: float(weight or 0) for name, weight in json.loads(text).items()}
    except ValueError:
        raise Unfit(_("A weight is a number from 0 to 100.")) from None
    if not all(0 <= weight <= MOST_WEIGHT for weight in given.values()):  # neither NaN
        raise Unfit(_("A weight is a number from 0 to 100."))
    return {name: weight for name, weight in given.items() if weight}


def _not_a_number(field: Field, text: str) -> Any:
    """The sentence the range has for it, which names what may be typed."""
    raise Unfit(_range_complaint(field, text) or _("Type a number."))


def _range_complaint(field: Field, value: Any) -> str | None:
    """What is wrong with a number, under the name that stands beside it."""
    known = jobs.RANGES.get(field.name)
    return known.complaint(str(field.label), value) if known else None


def _name_complaint(agent: Agent, text: str) -> str | None:
    if not text or not text.isprintable():
        return _("Give the agent a name, on one line.")
    if Agent.objects.filter(owner=agent.owner_id, name=text).exclude(pk=agent.pk).exists():
        return _("You have another agent of this name; choose a different one.")
    return None


def _choice_complaint(known: Sequence[Choice], text: str) -> str | None:
    return None if text in {choice.value for choice in known} else _("Choose one of the list.")


def languages() -> Sequence[Choice]:
    """Languages in which questions can be invented offline."""
    return (Choice("en", _("English")), Choice("zh", _("Chinese")))


def rewards() -> Sequence[Choice]:
    return (
        Choice(
            "ruler",
            _("A judge compares the tries"),
            _(
                "Every question is tried several times. The judge reads all tries side by side and scores "
                "them against each other; what can be checked counts most. The right choice for nearly "
                "everything."
            ),
        ),
        Choice(
            "checks",
            _("Checks alone"),
            _(
                "A try scores 1 if its answer holds what the scenario expects and rests on the right rows, "
                "else 0. Strict and free; every scenario needs an expectation."
            ),
        ),
        Choice(
            "environment",
            _("The task’s own score"),
            _(
                "Some tasks score themselves: a game that is won, or tables that must end in a certain "
                "state after updates. Only for those."
            ),
        ),
        Choice(
            "mix",
            _("A mix of these"),
            _(
                "The judge, the checks and the task’s own score, each with a weight, less penalties for "
                "length and bad form. What a try has no score of leaves its weight to the others."
            ),
        ),
    )


def weights() -> Sequence[Choice]:
    """The parts of a mix."""
    return (
        Choice("ruler", _("The judge"), _("How it ranks the tries against each other.")),
        Choice("checks", _("Checks"), _("Whether the answer holds what the scenario expects.")),
        Choice("environment", _("The task’s own score"), _("For games, and for tables that are changed.")),
        Choice(
            "length",
            _("Penalty for length"),
            _("Taken off in full where a try is three times as long as the shortest success of its group."),
        ),
        Choice(
            "format",
            _("Penalty for bad form"),
            _("Taken off in full for calls nobody can read and answers that were cut off."),
        ),
    )


def judges(agent: Agent) -> Sequence[Choice]:
    """The offline judge, and what the owner's providers offer."""
    (_offline, _title), *others = providers.offered(agent.owner)
    return (
        Choice(
            "artweb/offline",
            _("Rules, offline"),
            _(
                "Needs no key and costs nothing. It goes by facts: do the checks pass, did the try finish, "
                "how many look-ups did it take, did calls fail. It does not read what was said, so "
                "give it scenarios that can be checked."
            ),
        ),
        *(
            Choice(value, title, _("A language model that reads the tries."))
            for value, title in others[:MOST_CARDS]
        ),
    )


def _judge_complaint(agent: Agent, text: str) -> str | None:
    if not text:
        return _("Name a model, or choose the rules.")
    return providers.refusal(agent.owner, text) or None


def base_model_choices() -> Sequence[Choice]:
    embedded = Choice(
        "embedded",
        _("The small model that comes with ArtWeb"),
        _(
            "Learns to use tools within minutes on an ordinary computer, without a graphics card. Good at "
            "looking things up and saying what it found; it cannot chat or write."
        ),
    )
    found = [
        Choice(str(path), path.name, _("A model in %(place)s.") % {"place": path.parent})
        for home in settings.MODEL_DIRS
        if home.is_dir()
        for path in sorted(home.iterdir())
        if base_models.complaint(str(path)) is None
    ]
    return (embedded, *found[:20])


FIELDS = {
    field.name: field
    for field in (
        Field(
            "name",
            gettext_lazy("Name"),
            "line",
            check=_name_complaint,
            longest=LONGEST_NAME,
        ),
        Field(
            "description",
            gettext_lazy("The task, in your own words"),
            "text",
            help=gettext_lazy("Who asks what, where the answers are, and what a good answer looks like."),
            longest=LONGEST_DESCRIPTION,
            placeholder=gettext_lazy(
                "Customers ask about their orders. The agent looks the order up and answers in one sentence."
            ),
        ),
        Field(
            "language",
            gettext_lazy("Language of the questions"),
            "choice",
            help=gettext_lazy("The small model that comes with ArtWeb reads English questions only."),
            choices=languages,
            check=lambda agent, text: _choice_complaint(languages(), text),
        ),
        Field(
            "reward",
            gettext_lazy("What is rewarded"),
            "cards",
            knob=True,
            choices=rewards,
        ),
        Field(
            "mix",
            gettext_lazy("Weights of the mix"),
            "weights",
            help=gettext_lazy(
                "The first three are shares of one whole: 1 and 1 is half and half, 0 leaves a score out. "
                "Penalties are taken off what is left: 0.2 takes off at most 0.2."
            ),
            knob=True,
            choices=weights,
        ),
        Field(
            "judge_model",
            gettext_lazy("The judge"),
            "cards",
            offers=judges,
            other=gettext_lazy(
                "Another, as provider:model, or by its litellm name, such as openai/gpt-4.1-mini"
            ),
            check=_judge_complaint,
            longest=jobs.TEXTS["judge_model"],
        ),
        Field(
            "rubric",
            gettext_lazy("What the judge looks at"),
            "text",
            help=gettext_lazy("Empty means the text below. The offline judge goes by its own rules instead."),
            placeholder=unwrapped(DEFAULT_RUBRIC),
            longest=jobs.TEXTS["rubric"],
        ),
        Field(
            "base_model",
            gettext_lazy("The model that learns"),
            "cards",
            choices=base_model_choices,
            other=gettext_lazy(
                "Another: a directory on this machine, or its name on Hugging Face, such as Qwen/Qwen3-0.6B"
            ),
            check=lambda agent, text: base_models.complaint(text),
            longest=jobs.TEXTS["base_model"],
        ),
    )
}
"""The fields that have a page of their own choosing; knobs are made from `Job` by `compute.py`."""


def knob_field(name: str, label: Words = "", why: Words = "") -> Field:
    """A field for any knob of a training, explained by the sentence that `Job` has for it."""
    if name in jobs.CHOICES:
        kind: Kind = "choice"
    elif name in jobs.SWITCHES:
        kind = "switch"
    else:
        kind = "number"
    return Field(
        name,
        label or name,
        kind,
        help=gettext_lazy(knobs.sentences()[name]),
        why=why,
        knob=True,
        choices=lambda: tuple(Choice(value, value) for value in jobs.CHOICES.get(name, ())),
    )
