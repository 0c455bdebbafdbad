"""Providers of language models: kept with their keys sealed, offered in pick lists, and opened for work.

A model is called by its provider's name and its own, `name:model`; a name that litellm knows goes without.
Only workers and the desk open keys (`access_for`); the web process seals them and shows the last four.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from gpu_worker.types import Job
from judging import offline, prices
from judging.access import Access
from judging.guarded import Door
from judging.llm import Refused as NeverAnswers
from training import seals
from training.judges import addresses, own_models
from training.models import Agent, Provider

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,38}")
MODEL = re.compile(r"[^\s:]\S{0,199}")
SHORTEST_KEY, LONGEST_KEY = 8, 4000
MOST_MODELS, MOST_AT_ONCE, MOST_PRICE = 50, 256, 10_000.0
PLAIN = "custom_openai"
"""litellm's name for any OpenAI-compatible address; under others it asks some models past our door."""
PAST_THE_DOOR = "responses/"
"""A model of such a name would be asked elsewhere, whatever its provider."""
NO_KEY = "none"
"""Sent where a provider has no key: left out, litellm would send one from the environment instead."""


class Refused(ValueError):
    """A provider cannot be kept like this. `field` is where; the sentence says what to do."""

    def __init__(self, sentence: str, field: str) -> None:
        super().__init__(sentence)
        self.field = field


class NoProvider(Exception):
    """A model cannot be reached as it is named. The sentence says what to do."""


@dataclass(frozen=True)
class Draft:
    """What a form says of a provider. An empty key keeps the one there is."""

    name: str
    kind: str
    litellm: str = ""
    api_base: str = ""
    key: str = field(default="", repr=False)
    models: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """{name: [dollars per million tokens of question, of answer]}, or an empty list."""
    at_once: int = 16


def add(owner: User, draft: Draft) -> Provider:
    """Keep a new provider. Raises Refused."""
    if not NAME.fullmatch(draft.name):
        raise Refused(_("Name it in small letters, digits and hyphens, like my-openai."), "name")
    provider = Provider(owner=owner, name=draft.name, kind=draft.kind, litellm=draft.litellm)
    return _saved(provider, draft)


def change(provider: Provider, draft: Draft) -> Provider:
    """Another address, key or models under the same name; agents refer to it by that. Raises Refused."""
    return _saved(provider, draft)


def delete(provider: Provider) -> dict[str, Any]:
    """Gone; what `put_back` makes it of again."""
    kept = {name: getattr(provider, name) for name in KEPT}
    Provider.objects.filter(pk=provider.pk).delete()
    return kept


def put_back(owner: User, kept: Mapping[str, Any]) -> Provider:
    """Raises Refused if the name was taken meanwhile."""
    try:
        with transaction.atomic():
            return Provider.objects.create(owner=owner, **kept)
    except IntegrityError:
        raise _taken(kept["name"]) from None


KEPT = ("kind", "name", "litellm", "api_base", "offers", "sealed", "last4", "at_once", "prices")


def access_for(owner: User, judge_model: str) -> Access:
    """How this person reaches a model. Raises NoProvider. Only workers call this: the key is open in it."""
    name, model = split(judge_model)
    if name:
        provider = Provider.objects.filter(owner=owner, name=name).first()
        if provider is None:
            told = {"name": name, "model": judge_model}
            raise NoProvider(_("You have no provider called %(name)s, so %(model)s cannot be asked.") % told)
        return _access(provider, model, judge_model)
    kind, _slash, bare = judge_model.partition("/")
    hosted = Provider.objects.filter(owner=owner, kind=Provider.Kind.HOSTED, litellm=kind).first()
    if hosted is None or judge_model == offline.MODEL:
        return Access(judge_model)
    return _access(hosted, bare, judge_model)


def judge_of(owner: User, job: Job) -> Access | None:
    """How the judge of a job is reached; None where none is asked. Raises NoProvider."""
    return access_for(owner, job.judge_model) if asks_judge(job.reward, job.mix) else None


def asks_judge(reward: str, mix: Mapping[str, float]) -> bool:
    """Whether such a reward asks a judge anything."""
    return reward == "ruler" or (reward == "mix" and mix.get("ruler", 0) > 0)


def judged(agent: Agent) -> bool:
    """Whether a run of the agent as it is now would ask its judge."""
    return asks_judge(agent.config.get("reward", Job.reward), agent.config.get("mix") or {})


def access_by_name(owner: User, names: Iterable[str]) -> Callable[[str], Access]:
    """Opens these models now, for tools that are called later in processes that read no database.

    What it returns raises llm.Refused for a model that cannot be reached: no further question would survive.
    """
    found: dict[str, Access | str] = {}
    for name in set(names):
        try:
            found[name] = access_for(owner, name)
        except NoProvider as missing:
            found[name] = str(missing)

    def reached(name: str) -> Access:
        access = found.setdefault(name, Access(name))
        if isinstance(access, str):
            raise NeverAnswers(access)
        return access

    return reached


def refusal(owner: User, judge_model: str) -> str:
    """Why a model cannot be named like this, in a sentence; nothing if it can. Opens no key."""
    name, model = split(judge_model)
    if not name:
        return ""
    provider = Provider.objects.filter(owner=owner, name=name).first()
    if provider is None:
        return _("You have no provider called %(name)s. Add it on the page of providers.") % {"name": name}
    if provider.kind == Provider.Kind.OWN and model not in own_models.aliases(owner):
        return _("None of your checkpoints is called %(model)s any more.") % {"model": model}
    return ""


def offered(owner: User) -> list[tuple[str, str]]:
    """(value, title) for pick lists: the offline judge, then what the owner's providers offer."""
    found = [(offline.MODEL, _("Rules, offline"))]
    for provider in Provider.objects.filter(owner=owner):
        found += [(f"{provider.name}:{model}", f"{model} · {provider.name}") for model in models_of(provider)]
    return found


def models_of(provider: Provider) -> list[str]:
    """The models it offers in forms; one's own checkpoints are all offered."""
    if provider.kind == Provider.Kind.OWN:
        return own_models.aliases(provider.owner)
    return list(provider.offers)


def price_of(owner: User, judge_model: str) -> prices.Price | None:
    """What the owner said it costs, else what litellm's table says; None if nobody knows. Opens no key."""
    if judge_model == offline.MODEL:
        return prices.price_of(judge_model)
    name, model = split(judge_model)
    kind, _slash, bare = judge_model.partition("/")
    mine = Provider.objects.filter(owner=owner)
    provider = (mine.filter(name=name) if name else mine.filter(kind="hosted", litellm=kind)).first()
    if provider is None:
        return None if name else prices.price_of(judge_model)
    said = _price(provider, model if name else bare)
    if said:
        return prices.Price(*(price / 1e6 for price in said))
    hosted = provider.kind == Provider.Kind.HOSTED
    return prices.price_of(f"{provider.litellm}/{model if name else bare}") if hosted else None


def split(judge_model: str) -> tuple[str, str]:
    """(provider's name, model), or ("", the whole) for a name that litellm knows."""
    name, colon, model = judge_model.partition(":")
    return (name, model) if colon and model and NAME.fullmatch(name) else ("", judge_model)


def agents_with(provider: Provider) -> list[Agent]:
    """The agents whose judge is one of its models."""
    living = Agent.objects.filter(owner=provider.owner, deleted_at=None)
    return list(living.filter(judge_model__startswith=f"{provider.name}:").order_by("name"))


def _access(provider: Provider, model: str, title: str) -> Access:
    if model.startswith(PAST_THE_DOOR):
        raise NoProvider(_("“%(name)s” is not a model's name.") % {"name": title})
    key = _key(provider)
    Provider.objects.filter(pk=provider.pk).update(used_at=Now())
    common: dict[str, Any] = {
        "provider": f"{provider.owner_id}:{provider.name}",
        "at_once": provider.at_once,
        "price": _price(provider, model),
        "title": title,
    }
    if provider.kind == Provider.Kind.HOSTED:
        return Access(f"{provider.litellm}/{model}", api_key=key, **common)
    if provider.kind == Provider.Kind.OWN:
        target = own_models.target_of(provider.owner, model)
        if target is None:
            raise NoProvider(_("None of your checkpoints is called %(model)s any more.") % {"model": model})
        own, place = partial(own_models.OwnModel, target), own_models.address_of(target)
        return Access(f"{PLAIN}/{model}", place, api_key=NO_KEY, door=own, **common)
    try:
        guard = addresses.guard_for(provider.owner, provider.api_base)
    except addresses.Unwelcome as unwelcome:
        raise NoProvider(str(unwelcome)) from None
    door = partial(Door, guard)
    return Access(f"{PLAIN}/{model}", provider.api_base, api_key=key or NO_KEY, door=door, **common)


def _key(provider: Provider) -> str:
    """Raises NoProvider for one that was sealed with a key that is no longer there."""
    if not provider.sealed:
        return ""
    try:
        return seals.opened(provider.owner_id, provider.sealed)
    except seals.Broken:
        told = {"name": provider.name}
        raise NoProvider(_("The key of %(name)s can no longer be opened; enter it again.") % told) from None


def _price(provider: Provider, model: str) -> tuple[float, float] | None:
    if provider.kind == Provider.Kind.OWN:
        return (0.0, 0.0)
    said = provider.prices.get(model)
    return (float(said[0]), float(said[1])) if said else None


def _saved(provider: Provider, draft: Draft) -> Provider:
    """Check the draft and write it. A key stays with the address it was given for."""
    before = provider.api_base
    provider.api_base = _address(provider, draft.api_base)
    key = draft.key.strip()
    if key:
        for column, value in seals.sealed(provider.owner_id, _sound_key(key)).items():
            setattr(provider, column, value)
    elif provider.sealed and provider.api_base != before:
        raise Refused(_("Enter the key again: it was given for another address."), "key")
    elif provider.kind == Provider.Kind.HOSTED and not provider.sealed:
        raise Refused(_("This provider wants a key."), "key")
    provider.offers = _models(draft.models)
    provider.prices = {name: list(price) for name, price in draft.models.items() if price}
    if not 1 <= draft.at_once <= MOST_AT_ONCE:
        told = {"most": MOST_AT_ONCE}
        raise Refused(_("Between 1 and %(most)s questions may be out at a time.") % told, "at_once")
    provider.at_once, provider.test, provider.tested_at = draft.at_once, {}, None
    try:
        with transaction.atomic():
            provider.save()
    except IntegrityError:
        raise _taken(provider.name) from None
    return provider


def _address(provider: Provider, typed: str) -> str:
    if provider.kind != Provider.Kind.URL:
        return ""
    address = addresses.normal(typed)
    try:
        addresses.guard_for(provider.owner, address)
    except addresses.Unwelcome as unwelcome:
        raise Refused(str(unwelcome), "api_base") from None
    return address


def _sound_key(key: str) -> str:
    if not SHORTEST_KEY <= len(key) <= LONGEST_KEY:
        told = {"shortest": SHORTEST_KEY, "longest": LONGEST_KEY}
        raise Refused(_("A key has between %(shortest)s and %(longest)s characters.") % told, "key")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise Refused(_("A key is one line of letters, digits and signs, without spaces."), "key")
    return key


def _models(models: Mapping[str, Sequence[float]]) -> list[str]:
    if len(models) > MOST_MODELS:
        raise Refused(_("At most %(most)s models can be offered.") % {"most": MOST_MODELS}, "models")
    for name, price in models.items():
        sound = MODEL.fullmatch(name) and name.isprintable() and not name.startswith(PAST_THE_DOOR)
        if not sound:
            raise Refused(_("“%(name)s” is not a model's name.") % {"name": name[:80]}, "models")
        if len(price) not in (0, 2) or not all(0 <= one <= MOST_PRICE for one in price):
            raise Refused(
                _("Give %(name)s two prices, for a million tokens of question and of answer, or none.")
                % {"name": name},
                "models",
            )
    return list(models)


def _taken(name: str) -> Refused:
    return Refused(_("You already have a provider called %(name)s.") % {"name": name}, "name")
