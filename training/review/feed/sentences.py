"""What the list of tries says: its heading, why it is empty, and what each row is marked with."""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from training.models import Run
from training.review.feed.filters import ORDERS, Filters
from training.runs import words
from training.templatetags.figures import score, signed

if TYPE_CHECKING:
    from training.review.feed.queries import Listing, Narrow


def about(filters: Filters, listing: "Listing", runs: Sequence[Run], run: Run | None) -> dict[str, Any]:
    waiting = not listing.rows and not filters.any and run is not None and run.state not in Run.OVER
    return {
        "heading": _heading(listing),
        "order_name": str(ORDERS[filters.order]),
        "empty": _empty(filters, runs, waiting),
        "waiting": waiting,
    }


class Marks:
    """Words of rows; each that several rows have is looked up once a page."""

    def __init__(self) -> None:
        self._outcomes = (("bad", "✕ " + _("failed")), ("good", "✓ " + _("succeeded")))
        self._ends = {end: str(told) for end, told in words.ENDED.items() if end != "answered"}
        self._try, self._person = _("%(group)s, try %(number)s"), _("person %(score)s")
        self._advantage = _("advantage %(value)s")
        self._group, self._failed, self._turns = cache(words.group_name), cache(_failed), cache(_turns)

    def place(self, of: "Narrow") -> str:
        """Where a try stands in its run: "Step 3, group 7, try 2"."""
        group = self._group(of.label, of.step, of.group)
        return self._try % {"group": group, "number": of.number + 1} if of.tries > 1 else group

    def person(self, human: float | None) -> str:
        return "" if human is None else self._person % {"score": score(human)}

    def marks(self, of: "Narrow") -> list[tuple[str, str]]:
        told = [self._outcomes[of.success]]
        if of.ended != "answered":
            told.append(("warn", self._ends.get(of.ended, of.ended)))
        if of.failed_calls:
            told.append(("warn", self._failed(of.failed_calls)))
        if of.advantage is not None:
            told.append(("", self._advantage % {"value": signed(of.advantage)}))
        told.append(("", self._turns(of.turns)))
        return told


def _failed(calls: int) -> str:
    return ngettext("%(count)s failed call", "%(count)s failed calls", calls) % {"count": calls}


def _turns(count: int) -> str:
    return ngettext("%(count)s turn", "%(count)s turns", count) % {"count": count}


def _heading(listing: "Listing") -> str:
    """A list that fits on one page says how many there are; longer ones are never counted."""
    found, shown = listing.found, len(listing.rows)
    if found.before or found.after or found.rest:
        return ngettext("%(count)s try on this page", "%(count)s tries on this page", shown) % {
            "count": shown
        }
    return ngettext("%(count)s try", "%(count)s tries", shown) % {"count": shown}


def _empty(filters: Filters, runs: Sequence[Run], waiting: bool) -> tuple[str, str]:
    if filters.any:
        return _("No try passes these filters"), _("Take one off above, or choose another run.")
    if waiting:
        return _("No tries yet"), _("They show up here by themselves as soon as the first group is judged.")
    if not runs:
        return _("No tries yet"), _(
            "Tries are made in training. Start a run, and each of its tries is kept here."
        )
    return _("No tries here"), _("This run ended before its first group was judged.")
