"""The filters of the list of tries as people and addresses write them. Nothing is looked up here.

An address holds every filter, so a list can be linked, saved and exported. A value that makes no sense is
said to, kept in its field, and not applied.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from training.runs import words

LONGEST_TEXT = 200
"""Characters of a text that is searched for."""
LARGEST = 2**31 - 1

LABELS: dict[str, tuple[str, ...]] = {
    **{label: (label,) for label in words.LABELS},
    "held_out": ("baseline", "trained"),
}
SPLITS = {"train": "train", "val": "validation", "test": "held_out"}
LABEL_NAMES: dict[str, Promise | str] = {
    **words.LABELS,
    "held_out": gettext_lazy("Held-out, before and after"),
}
ERRORS: dict[str, Promise] = {
    "any": gettext_lazy("Any error"),
    "unfinished": gettext_lazy("Ended without an answer"),
    "calls": gettext_lazy("A tool call failed"),
}
SUCCESSES: dict[str, Promise] = {
    "yes": pgettext_lazy("try", "Succeeded"),
    "no": pgettext_lazy("try", "Failed"),
}
ORDERS: dict[str, Promise] = {
    "newest": gettext_lazy("Newest first"),
    "oldest": gettext_lazy("Oldest first"),
    "best": gettext_lazy("Best score first"),
    "worst": gettext_lazy("Worst score first"),
    "most_advantage": gettext_lazy("Highest advantage first"),
    "least_advantage": gettext_lazy("Lowest advantage first"),
    "longest": gettext_lazy("Most turns first"),
    "shortest": gettext_lazy("Fewest turns first"),
}
BY_ID = ("newest", "oldest")
"""Orders that need neither a run nor an index of a value."""


@dataclass(frozen=True)
class Filters:
    """What a list shows; the default shows everything, newest first."""

    run: int | None = None
    label: str = ""
    step_from: int | None = None
    step_to: int | None = None
    score_from: float | None = None
    score_to: float | None = None
    human: bool = False
    success: bool | None = None
    scenario: str = ""
    tag: str = ""
    tool: str = ""
    error: str = ""
    text: str = ""
    order: str = "newest"

    def query(self, **changes: Any) -> str:
        """The filters as a query string, such as "run=3&success=no"."""
        changed = replace(self, **changes) if changes else self
        return urlencode([(name, _written(value)) for name, value in _set(changed)])

    @property
    def any(self) -> bool:
        """Whether anything but the run and the order is asked for."""
        return any(name not in ("run", "order") for name, _value in _set(self))


@dataclass(frozen=True)
class Read:
    """What stood in an address. `typed` is what fields show, `problems` are sentences by field."""

    filters: Filters
    typed: Mapping[str, str]
    problems: Mapping[str, str]


@dataclass(frozen=True)
class Chip:
    """A filter in force, in words, and the query string without it."""

    name: str
    words: str
    without: str


def read(query: Mapping[str, str]) -> Read:
    """The filters of an address."""
    typed = {name: query.get(name, "").strip() for name in Filters.__dataclass_fields__}
    if not typed["label"] and query.get("split", "") in SPLITS:
        typed["label"] = SPLITS[query["split"]]
    values: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for name, text in typed.items():
        if not text:
            continue
        try:
            values[name] = _READERS[name](text)
        except ValueError as problem:
            problems[name] = str(problem)
    return Read(_ordered(Filters(**values)), typed, problems)


def chips(filters: Filters, run_name: str = "") -> list[Chip]:
    """Every filter in force, each with a way to take it off."""
    told = {name: words_ for name, words_ in _words(filters, run_name).items() if words_}
    return [Chip(name, words_, filters.query(**_cleared(name))) for name, words_ in told.items()]


def _words(filters: Filters, run_name: str) -> dict[str, str]:
    return {
        "run": _("Run %(name)s") % {"name": run_name} if filters.run else "",
        "label": str(LABEL_NAMES.get(filters.label, "")),
        "step": _span(_("Steps %(span)s"), filters.step_from, filters.step_to),
        "score": _span(_("Score %(span)s"), filters.score_from, filters.score_to),
        "human": _("Scored by a person") if filters.human else "",
        "success": "" if filters.success is None else str(SUCCESSES["yes" if filters.success else "no"]),
        "scenario": _("Scenario %(name)s") % {"name": filters.scenario} if filters.scenario else "",
        "tag": _("Tag %(name)s") % {"name": filters.tag} if filters.tag else "",
        "tool": _("Tool %(name)s") % {"name": filters.tool} if filters.tool else "",
        "error": str(ERRORS.get(filters.error, "")),
        "text": _("Says %(text)s") % {"text": filters.text} if filters.text else "",
    }


def _cleared(name: str) -> dict[str, Any]:
    names = [f"{name}_from", f"{name}_to"] if name in ("step", "score") else [name]
    return {each: Filters.__dataclass_fields__[each].default for each in names}


def _span(sentence: str, low: float | None, high: float | None) -> str:
    if low is None and high is None:
        return ""
    if low is None:
        span = f"≤ {high:g}"
    elif high is None:
        span = f"≥ {low:g}"
    else:
        span = f"{low:g}" if low == high else f"{low:g}–{high:g}"
    return sentence % {"span": span}


def _set(filters: Filters) -> Iterator[tuple[str, Any]]:
    for name, field in Filters.__dataclass_fields__.items():
        value = getattr(filters, name)
        if value != field.default:
            yield name, value


def _written(value: Any) -> str:
    if value is True or value is False:
        return "yes" if value else "no"
    return repr(value) if isinstance(value, float) else str(value)


def _ordered(filters: Filters) -> Filters:
    """A value's order needs one run, whose index has it; text is found newest first."""
    if filters.order not in BY_ID and (filters.run is None or filters.text):
        return replace(filters, order="newest")
    return filters


def _count(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text[:12]) <= LARGEST:
        return int(text)
    raise ValueError(_("“%(text)s” is not a whole number.") % {"text": text[:40]})


def _share(text: str) -> float:
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ValueError(_("“%(text)s” is not a number from 0 to 1.") % {"text": text[:40]})
    return value


def _yes(text: str) -> bool:
    if text not in ("yes", "no"):
        raise ValueError(_("“%(text)s” is neither yes nor no.") % {"text": text[:40]})
    return text == "yes"


def _one_of(known: Mapping[str, Any]) -> Callable[[str], str]:
    def reader(text: str) -> str:
        if text not in known:
            raise ValueError(_("“%(text)s” is not among the choices.") % {"text": text[:40]})
        return text

    return reader


def _name(text: str) -> str:
    if len(text) > LONGEST_TEXT or "\0" in text:
        raise ValueError(_("That is too long; at most %(count)s characters.") % {"count": LONGEST_TEXT})
    return text


_READERS: dict[str, Callable[[str], Any]] = {
    "run": _count,
    "label": _one_of(LABELS),
    "step_from": _count,
    "step_to": _count,
    "score_from": _share,
    "score_to": _share,
    "human": _yes,
    "success": _yes,
    "scenario": _name,
    "tag": _name,
    "tool": _name,
    "error": _one_of(ERRORS),
    "text": _name,
    "order": _one_of(ORDERS),
}
