"""The errand "compare": tries are played by a process of its own (playing.py) and stored as they come.

Only the desk does it. An errand that is taken a second time, or a comparison that is taken up again, plays
only what is missing.
"""

from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import Any

from django.utils.translation import gettext as _

from training.authoring.office.errands import Doing, Failed
from training.authoring.office.program import Died, told_by
from training.models import Comparison
from training.review.compare import services


def compare(doing: Doing) -> dict[str, Any]:
    """Play what is missing of a comparison. Raises Failed with a sentence."""
    comparison = Comparison.objects.filter(pk=doing.arguments["comparison"], owner=doing.owner).first()
    if comparison is None:
        raise Failed(_("The comparison is no longer there."))
    dollars = float(doing.arguments["budget"])
    try:
        with closing(
            told_by("training.review.compare.playing", str(comparison.pk), repr(dollars))
        ) as telling:
            return _followed(telling, doing, comparison)
    except Died as died:
        raise Failed(_("The comparison ended unexpectedly: %(said)s") % {"said": died}) from died


def _followed(telling: Iterable[Mapping[str, Any]], doing: Doing, comparison: Comparison) -> dict[str, Any]:
    done, total, what, cost = 0, 0, _("Loading the models"), 0.0
    for told in telling:
        if "try" in told:
            services.store(comparison, told["try"])
            continue
        if "result" in told:
            doing.progress(total, total, what, cost=told["cost"])
            break
        if "failed" in told:
            raise Failed(told["failed"])
        if told:
            done, total, cost = told["done"], told["total"], told["cost"]
            what = _("Tries of %(contender)s") % {"contender": told["what"][:80]}
        doing.progress(done, total, what, cost=cost)
    return {}
