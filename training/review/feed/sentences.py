"""What the list of tries says: its heading, why it is empty, and what each row is marked with."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from training.models import Run
from training.review.feed.filters import ORDERS, Filters
from training.runs import words
from training.templatetags.figures import score, signed

if TYPE_CHECKING:
    from training.review.feed.queries import Listing


def about(filters: Filters, listing: "Listing", runs: Sequence[Run], run: Run | None) -> dict[str, Any]:
    waiting = not listing.rows and not filters.any and run is not None and run.state not in Run.OVER
    return {
        "heading": _heading(listing),
        "order_name": str(ORDERS[filters.order]),
        "empty": _empty(filters, runs, waiting),
        "waiting": waiting,
    }


class Marks:
    """Words of rows; those that are the same in every row are looked up once a page."""

    def __init__(self) -> None:
        self._outcomes = (("bad", "✕ " + _("failed")), ("good", "✓ " + _("succeeded")))
        self._ends = {end: str(told) for end, told in words.ENDED.items() if end != "answered"}
        self._try, self._person = _("%(group)s, try %(number)s"), _("person %(score)s")
        self._advantage = _("advantage %(value)s")

    def place(self, of: dict[str, Any]) -> str:
        """Where a try stands in its run: "Step 3, group 7, try 2"."""
        group = words.group_name(of["group__label"], of["group__step"], of["group__index"])
        return self._try % {"group": group, "number": of["index"] + 1} if of["group__tries"] > 1 else group

    def person(self, human: float | None) -> str:
        return "" if human is None else self._person % {"score": score(human)}

    def marks(self, of: dict[str, Any]) -> list[tuple[str, str]]:
        told = [self._outcomes[bool(of["success"])]]
        if of["ended"] != "answered":
            told.append(("warn", self._ends.get(of["ended"], of["ended"])))
        if failed := of["failed_calls"]:
            told.append(
                (
                    "warn",
                    ngettext("%(count)s failed call", "%(count)s failed calls", failed) % {"count": failed},
                )
            )
        if of["advantage"] is not None:
            told.append(("", self._advantage % {"value": signed(of["advantage"])}))
        turns = of["turns"]
        told.append(("", ngettext("%(count)s turn", "%(count)s turns", turns) % {"count": turns}))
        return told


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
