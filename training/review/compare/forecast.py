"""What a comparison will cost and how long it takes, before it is started: ranges, from what is known.

Reads rows and price tables only, so that a form can ask for it at every change.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import Avg
from django.utils.translation import gettext as _

from gpu_worker.types import Job
from judging.access import Access
from training.authoring.launch import measured, money
from training.authoring.launch.estimate import PRIOR_EXAM, START, USUAL_TOKENS
from training.judges import providers
from training.models import Group, Run, Trajectory
from training.review.compare import held_out
from training.review.compare.contenders import Contender

LETTERS_A_TOKEN = 3.5
ANSWER_TOKENS = (40.0, 250.0)
"""Tokens of one turn of an outside model, from a terse one to one that explains itself."""
USUAL_TURNS = 3.0
TURN_SECONDS = (0.7, 6.0)
"""Seconds an outside model takes for one turn."""
UNSURE = 2.5
"""Factor by which the time of a local try may be off."""


@dataclass(frozen=True)
class Forecast:
    """`dollars` is None where nobody knows a price; `unpriced` names those models."""

    tries: int
    recorded: int
    """Tries that the run has played already and that are taken over."""
    seconds: tuple[float, float]
    dollars: tuple[float, float] | None
    unpriced: tuple[str, ...]

    @property
    def words(self) -> str:
        """The price as people write it."""
        return _("unknown") if self.dollars is None else money.words(*self.dollars)


def of(run: Run, owner: User, chosen: Sequence[Contender], keys: Sequence[str]) -> Forecast:
    """Of these contenders at these scenarios."""
    unseen = held_out.of(run)
    todo = {one.key: len(keys) - held_out.recorded_count(run, unseen, keys, one) for one in chosen}
    habits = _Habits(run, unseen)
    local = sum(todo[one.key] for one in chosen if not one.outside)
    low, high = (START[0], START[1]) if sum(todo.values()) else (0.0, 0.0)
    usual = local * habits.local_seconds
    low, high = low + usual / UNSURE, high + usual * UNSURE
    costs: list[tuple[float, float] | None] = []
    for one in chosen:
        if one.outside:
            rounds = math.ceil(todo[one.key] / Access.at_once) * habits.turns
            low, high = low + rounds * TURN_SECONDS[0], high + rounds * TURN_SECONDS[1]
            costs.append(_dollars(owner, one, todo[one.key], habits))
    known = [cost for cost in costs if cost is not None]
    unpriced = [one.model for one in chosen if one.outside and providers.price_of(owner, one.model) is None]
    return Forecast(
        tries=sum(todo.values()),
        recorded=len(keys) * len(chosen) - sum(todo.values()),
        seconds=(low, high),
        dollars=None if unpriced else (sum(c[0] for c in known), sum(c[1] for c in known)),
        unpriced=tuple(unpriced),
    )


class _Habits:
    """How tries of this run are: turns, tokens, and the length of what an agent is told first."""

    def __init__(self, run: Run, unseen: held_out.HeldOut) -> None:
        tried = Trajectory.objects.filter(run=run, label__in=("baseline", "trained"))
        means = tried.aggregate(turns=Avg("turns"), tokens=Avg("sampled_tokens"))
        self.turns = float(means["turns"] or USUAL_TURNS)
        tokens = float(means["tokens"] or USUAL_TOKENS)
        speed = measured.speed(run.agent, run.config.get("base_model", Job.base_model), 0)
        self.local_seconds = tokens * (speed.exam if speed else PRIOR_EXAM)
        tools = Group.objects.filter(run=run).values_list("tools", flat=True).first() or []
        asked = sum(len(str(m.get("content", ""))) for s in unseen.scenarios[:20] for m in s.messages)
        system = len(str(run.config.get("system_prompt", "")))
        letters = system + len(json.dumps(tools)) + asked / max(1, len(unseen.scenarios[:20]))
        self.opening = letters / LETTERS_A_TOKEN


def _dollars(owner: User, one: Contender, tries: int, habits: _Habits) -> tuple[float, float] | None:
    """Every turn is asked with all that was said before; tool results are taken to be as long as answers."""
    price = providers.price_of(owner, one.model)
    if price is None:
        return None
    found = []
    for answer, turns in zip(ANSWER_TOKENS, (max(1.0, habits.turns - 1), habits.turns + 2), strict=True):
        answer = min(answer, one.max_tokens or answer)
        asked = turns * habits.opening + turns * (turns - 1) * answer
        found.append(tries * price.of(asked, turns * answer))
    return found[0], found[1]
