"""The form of a provider: what a browser sends, as a draft, and what stands in it again."""

import re
from collections.abc import Mapping

from django.utils.translation import gettext as _

from training.judges.presets import HOSTED, Preset
from training.judges.providers import Draft, Refused, models_of
from training.models import Provider
from training.runs.rows import clean

LITELLM = {preset.litellm for preset in HOSTED}
_PRICED = re.compile(r"(?P<name>\S+)(?:[\s,;]+\$?(?P<question>[\d.]+)[\s,;/]+\$?(?P<answer>[\d.]+))?")


def read(posted: Mapping[str, str], kind: str, litellm: str) -> Draft:
    """Raises Refused for lines of models that cannot be read and for a number that is none."""
    at_once = posted.get("at_once", "").strip() or "16"
    if not (at_once.isascii() and at_once.isdigit() and len(at_once) < 6):
        raise Refused(_("Give a whole number."), "at_once")
    assert kind != Provider.Kind.HOSTED or litellm in LITELLM
    return Draft(
        name=posted.get("name", "").strip(),
        kind=kind,
        litellm=litellm,
        api_base=clean(posted.get("api_base", "")),
        key=posted.get("key", ""),
        models=_models(clean(posted.get("models", ""))) if kind != Provider.Kind.OWN else {},
        at_once=int(at_once),
    )


def empty(preset: Preset, name: str) -> dict[str, str]:
    """The fields of a new provider's form."""
    return {"name": name, "api_base": preset.api_base, "models": preset.model, "at_once": "16"}


def filled(provider: Provider) -> dict[str, str]:
    """The fields of a kept provider's form; its key is never among them."""
    lines = [_line(provider, model) for model in models_of(provider)]
    return {
        "name": provider.name,
        "api_base": provider.api_base,
        "models": "\n".join(lines),
        "at_once": str(provider.at_once),
    }


def typed(posted: Mapping[str, str]) -> dict[str, str]:
    """What a refused form goes on showing: everything but the key."""
    return {name: posted.get(name, "") for name in ("name", "api_base", "models", "at_once")}


def _models(text: str) -> dict[str, list[float]]:
    """One model a line, and after it, perhaps, two prices."""
    found = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        priced = _PRICED.fullmatch(line)
        try:
            name, *prices = priced.groups() if priced else ("",)
            found[name] = [float(price) for price in prices if price]
        except ValueError:
            priced = None
        if priced is None:
            raise Refused(
                _("“%(line)s” cannot be read: one model a line, and after it two prices or none.")
                % {"line": line[:80]},
                "models",
            )
    return found


def _line(provider: Provider, model: str) -> str:
    price = provider.prices.get(model)
    return f"{model} {price[0]:g} {price[1]:g}" if price else model
