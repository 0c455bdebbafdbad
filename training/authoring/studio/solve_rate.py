"""How often a scenario was solved lately, and what that says: too easy, useful, too hard.

Read from the groups that runs left behind, in one query. A scenario that is always or never solved teaches
nothing: all its tries score alike (see `gpu_worker.curriculum`). What to do about it is left to the page.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from django.db.models import Max, Sum
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from training.models import Agent, Group, Run

USEFUL = (0.1, 0.9)
"""The bounds of gpu_worker.curriculum.USEFUL; a test holds them together."""
ENOUGH = 4
"""Tries below which always or never solved says nothing yet."""
LABELS = ("baseline", "train")
LATEST = 3
"""Runs that count, newest first: what an agent could not do long ago is no news."""

VERDICTS: dict[str, Promise] = {
    "useful": _("Useful"),
    "easy": _("Too easy"),
    "hard": _("Too hard"),
    "few": _("Too few tries"),
    "untried": _("Not tried"),
}
MEANINGS: dict[str, Promise] = {
    "useful": _("Solved in some tries and not in others: these teach the most."),
    "easy": _("Solved in nearly every try: it teaches nothing any more."),
    "hard": _("Solved in hardly any try: nothing to learn from until it is solved sometimes."),
    "few": _("Tried, but too seldom to tell."),
    "untried": _("No run has tried it yet."),
}


@dataclass(frozen=True)
class Rate:
    """Tries of one scenario and how many of them succeeded."""

    tries: int = 0
    successes: int = 0
    run: int | None = field(default=None, compare=False)
    """The newest run that tried it."""

    @property
    def share(self) -> float | None:
        return self.successes / self.tries if self.tries else None

    @property
    def verdict(self) -> str:
        """A key of VERDICTS."""
        if self.share is None:
            return "untried"
        if USEFUL[0] <= self.share <= USEFUL[1]:
            return "useful"
        if self.tries < ENOUGH:
            return "few"
        return "hard" if self.share < USEFUL[0] else "easy"

    @property
    def name(self) -> Promise:
        return VERDICTS[self.verdict]

    @property
    def meaning(self) -> Promise:
        return MEANINGS[self.verdict]


UNTRIED = Rate()


def rates_of(agent: Agent, keys: Iterable[str] | None = None) -> dict[str, Rate]:
    """By scenario key, how the agent's newest runs did before and during training; tried ones only."""
    newest = Run.objects.filter(agent=agent).exclude(state=Run.State.DRAFT).order_by("-id").values("pk")
    groups = Group.objects.filter(run__in=newest[:LATEST], label__in=LABELS)
    if keys is not None:
        groups = groups.filter(scenario_key__in=list(keys))
    sums = (
        groups.order_by()
        .values("scenario_key")
        .annotate(played=Sum("tries"), solved=Sum("successes"), newest=Max("run"))
    )
    return {row["scenario_key"]: Rate(row["played"], row["solved"], row["newest"]) for row in sums}
