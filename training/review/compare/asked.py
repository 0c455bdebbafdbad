"""The form of a new comparison: what a person asks for, read and checked."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Protocol

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from judging import offline
from training.judges import providers
from training.models import Run
from training.review.compare import contenders, held_out
from training.review.compare.services import LONGEST_NAME, Refused, Wanted

USUAL_COUNT = 40
MOST_SCENARIOS = 2000
TEMPERATURE = (0.0, 2.0)
TOKENS = (16, 32_768)
MOST_DOLLARS = 100_000.0
LONGEST_MODEL = 200


class Sent(Protocol):
    """A QueryDict."""

    def get(self, key: str, default: str) -> str: ...
    def getlist(self, key: str) -> list[str]: ...


@dataclass(frozen=True)
class Choices:
    """What a form offers, for one run and person."""

    own: list[contenders.Own]
    models: list[tuple[str, str]]
    """(value, title) of outside models."""
    tags: Mapping[str, int]
    most: int
    temperature: float
    temperature_low: float


def choices(run: Run, person: User) -> Choices:
    unseen = held_out.of(run)
    return Choices(
        own=contenders.own(run),
        models=[one for one in providers.offered(person) if one[0] != offline.MODEL],
        tags=unseen.tags,
        most=min(MOST_SCENARIOS, len(unseen.scenarios)),
        temperature=held_out.temperature(run),
        temperature_low=TEMPERATURE[0],
    )


def usual(offer: Choices) -> Wanted:
    """What is filled in at first: the untrained model, and the best checkpoint or else the newest."""
    best = [one.key for one in offer.own if one.best] or [one.key for one in offer.own[:1]]
    return Wanted(
        own=[contenders.BASE, *best],
        count=min(USUAL_COUNT, offer.most),
        temperature=offer.temperature,
        max_tokens=1024,
        budget=1.0,
    )


def read(sent: Sent, person: User) -> Wanted:
    """Raises Refused with a sentence that names the field."""
    models = [*sent.getlist("model"), *sent.get("other", "").replace(",", " ").split()]
    for name in models:
        if len(name) > LONGEST_MODEL or not name.isprintable():
            raise Refused(_("“%(name)s” is not a model's name.") % {"name": name[:80]})
        refusal = providers.refusal(person, name)
        if refusal:
            raise Refused(refusal)
    return Wanted(
        own=sent.getlist("own"),
        models=models,
        count=int(_number(sent, "count", _("Scenarios"), (1, MOST_SCENARIOS))),
        tags=sent.getlist("tag"),
        temperature=_number(sent, "temperature", _("Temperature"), TEMPERATURE),
        max_tokens=int(_number(sent, "max_tokens", _("Tokens a turn"), TOKENS)),
        budget=_number(sent, "budget", _("Cap"), (0.0, MOST_DOLLARS)),
        name=sent.get("name", "")[:LONGEST_NAME],
    )


def filled(wanted: Wanted, sent: Sent | None) -> dict[str, object]:
    """What stands in the fields: what was sent, or else what is usual."""
    if sent is None:
        return {**asdict(wanted), "other": ""}
    numbers = ("count", "temperature", "max_tokens", "budget", "name", "other")
    lists = {"own": "own", "models": "model", "tags": "tag"}
    return {name: sent.get(name, "") for name in numbers} | {
        name: sent.getlist(field) for name, field in lists.items()
    }


def without_price(model: str) -> str:
    return _(
        "Nobody here knows the price of %(model)s, so a cap cannot be kept. Say on the page of providers "
        "what it charges, or set the cap to 0 for none."
    ) % {"model": model}


def budget(sent: Sent) -> float:
    """The cap in dollars. Raises Refused."""
    return _number(sent, "budget", _("Cap"), (0.0, MOST_DOLLARS))


def _number(sent: Sent, field: str, title: str, bounds: tuple[float, float]) -> float:
    text = sent.get(field, "").strip().replace(",", ".").removeprefix("$")
    told = {"title": title, "low": f"{bounds[0]:g}", "high": f"{bounds[1]:g}"}
    complaint = _("%(title)s: give a number from %(low)s to %(high)s.") % told
    try:
        value = float(text)
    except ValueError:
        raise Refused(complaint) from None
    if not isfinite(value) or not bounds[0] <= value <= bounds[1]:
        raise Refused(complaint)
    return value
