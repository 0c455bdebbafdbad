"""What a run will take, before it is started: memory, seconds, dollars, tries, and how that was reckoned.

Cheap enough for a page's margin (some ten milliseconds, no torch): everything comes from rows and from
config.json. Figures of this machine go before rules of thumb, and ranges are wide where little is known.
`Run.estimate` keeps what was foretold, so that it can be held against the truth.
"""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from django.db.models import Count
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from gpu_worker.types import Job
from training.authoring.launch import measured, memory, money
from training.authoring.launch.memory import Memory
from training.authoring.launch.model_size import size_of
from training.authoring.launch.money import Money
from training.models import LIVING, Agent
from training.templatetags.figures import figure

START = (1.5, 8.0)
"""Seconds until a model is loaded and the processes that play tries are there."""
PRIOR_REST, PRIOR_TOKEN, PRIOR_EXAM = 0.3, 3.5e-4, 3.0e-4
"""Seconds of a step, per sampled token of a step and of an examination: the embedded model on two cores."""
EMBEDDED_PARAMETERS = 1.2e6
HEAVIER = 0.25
"""A token of a model n times as large takes about n times this as long; small ones are mostly overhead."""
USUAL_TOKENS = 40.0
"""Sampled tokens of a try, where nobody knows better."""
UNSURE_SPEED = 2.5
"""Factor by which a rule of thumb for the speed may be off."""
UNSURE_TOKENS = {"runs": (0.8, 1.25), "smoke": (0.7, 1.5), "tools": (0.4, 2.0), "": (0.1, 2.0)}
"""How far tries may be off, by what is known of them: they change while the agent learns; an agent without
tools may answer in a word."""
MOST_BUSY = 6.0
"""More processes for each core than that are a passing moment, not what a whole run will meet."""
MACHINE = 1.35
"""Whatever else a machine does meanwhile may make it faster or slower by so much."""


@dataclass(frozen=True)
class Estimate:
    """`seconds` and `dollars` are ranges; dollars is None where nobody knows a price."""

    memory: Memory
    seconds: tuple[float, float]
    money: Money
    tries: int
    how: list[str]

    @property
    def dollars(self) -> tuple[float, float] | None:
        return self.money.dollars

    def as_json(self) -> dict[str, Any]:
        """What Run.estimate keeps."""
        return {
            "seconds": [round(bound, 1) for bound in self.seconds],
            "dollars": None if self.dollars is None else [round(bound, 6) for bound in self.dollars],
            "memory": self.memory.bytes,
            "tries": self.tries,
            "how": self.how,
        }


def of(agent: Agent, config: Mapping[str, Any] | None = None) -> Estimate:
    """The estimate of a run of this agent started now, with the knobs of `config` before its own."""
    plan = _Plan(agent, _job(agent, config or {}))
    return Estimate(
        memory=memory.needed(plan.job, plan.job.base_model),
        seconds=plan.seconds,
        money=plan.money,
        tries=round(plan.tries),
        how=plan.how,
    )


def _job(agent: Agent, config: Mapping[str, Any]) -> Job:
    """The knobs the run would have. Unknown ones are left out: the estimate is no place to refuse them."""
    known = {field.name for field in fields(Job)}
    names = ("environment", "system_prompt", "base_model", "judge_model", "rubric")
    knobs = {**{name: getattr(agent, name) for name in names}, **agent.config, **config}
    return Job(run="", **{name: value for name, value in knobs.items() if name in known - {"run", "tools"}})


class _Plan:
    """One run, reckoned: how often what is tried, and how long that takes."""

    def __init__(self, agent: Agent, job: Job) -> None:
        self.agent, self.job = agent, job
        self.habits = measured.habits(agent, job.base_model)
        self.speed = measured.speed(agent, job.base_model, job.samplers)
        splits = agent.scenarios.filter(LIVING).order_by().values_list("split").annotate(Count("pk"))
        self.scenarios: dict[str, int] = dict(splits)

    @cached_property
    def examined(self) -> int:
        """Tries that measure: before, after, and validations in between."""
        job = self.job
        held_out = min(job.eval_scenarios, self.scenarios.get("test", 0))
        validations = job.steps // job.eval_every if job.eval_every else 0
        return 2 * held_out + validations * min(job.val_scenarios, self.scenarios.get("val", 0))

    @cached_property
    def groups(self) -> tuple[float, float, float]:
        """Groups a step plays: at least, probably, at most. Ties are replaced up to the sampling budget."""
        wanted, most = self.job.groups_per_step, self.job.sampling_budget
        if self.habits is not None and self.habits.refill is not None:
            usual = min(most, max(1.0, self.habits.refill))
            return wanted * max(1.0, usual * 0.85), wanted * usual, wanted * min(most, usual * 1.25)
        return wanted, wanted * min(most, 1.2), wanted * most

    @cached_property
    def tries(self) -> float:
        return self.examined + self.job.steps * self.groups[1] * self.job.group_size

    @cached_property
    def tokens(self) -> tuple[float, float, float]:
        """Sampled tokens of a try: at least, probably, at most."""
        if self.habits is not None:
            usual, known = self.habits.tokens, self.habits.source
        else:
            usual = measured.usual_tokens(self.job.base_model) or USUAL_TOKENS
            known = "tools" if self.agent.tools.filter(LIVING).exists() else ""
        low, high = UNSURE_TOKENS[known]
        return usual * low, usual, usual * high

    @cached_property
    def pace(self) -> measured.Speed:
        """Measured on this machine, or by rule of thumb."""
        if self.speed is not None:
            return self.speed
        size = size_of(self.job.base_model)
        times = max(1.0, HEAVIER * size.parameters / EMBEDDED_PARAMETERS) if size else 50.0
        slow = UNSURE_SPEED if times == 1.0 else 2 * UNSURE_SPEED
        rest, token, exam = (times * prior for prior in (PRIOR_REST, PRIOR_TOKEN, PRIOR_EXAM))
        return measured.Speed(rest, token, exam, 1 / slow, slow, 0)

    @cached_property
    def seconds(self) -> tuple[float, float]:
        usual = self._seconds(self.groups[1], self.tokens[1])
        causes = [
            [self._seconds(self.groups[end], self.tokens[1]) / usual for end in (0, 2)],
            [self._seconds(self.groups[1], self.tokens[end]) / usual for end in (0, 2)],
            [self.pace.low, self.pace.high * (1 + 0.5 * busy())],
            [1 / MACHINE, MACHINE],
        ]
        low, high = (_together([cause[end] for cause in causes]) for end in (0, 1))
        return START[0] + usual / low, START[1] + usual * high

    def _seconds(self, groups: float, tokens: float) -> float:
        """Seconds of all steps and examinations, where a step plays so many groups of such tries."""
        step = self.pace.step(groups * self.job.group_size * tokens)
        return self.job.steps * step + self.examined * tokens * self.pace.exam

    @cached_property
    def money(self) -> Money:
        return money.needed(self.agent, self.job, groups=self.groups, examined=self.examined)

    @property
    def how(self) -> list[str]:
        """One sentence for each figure that went in."""
        return [*self._how_many(), self._how_long(), self._how_fast(), *self._crowd(), *self.money.how]

    def _how_many(self) -> list[str]:
        told = {
            "steps": figure(self.job.steps),
            "groups": figure(self.job.groups_per_step),
            "tries": figure(self.job.group_size),
            "most": figure(round(self.job.groups_per_step * self.job.sampling_budget)),
            "examined": figure(self.examined),
        }
        return [
            _(
                "%(steps)s steps with %(groups)s scenarios (up to %(most)s where tries all score alike) and "
                "%(tries)s tries at each."
            )
            % told,
            _("%(examined)s more tries measure it before, in between and after.") % told,
        ]

    def _how_long(self) -> str:
        told = {"tokens": f"{self.tokens[1]:.0f}"}
        if self.habits is None:
            return _("A try is taken to be %(tokens)s tokens long; a smoke try would tell.") % told
        told["tries"] = figure(self.habits.tries)
        if self.habits.source == "smoke":
            return _("A try is %(tokens)s tokens long, says the smoke try.") % told
        return _("A try is %(tokens)s tokens long, say %(tries)s tries of this agent's runs.") % told

    def _how_fast(self) -> str:
        if self.speed is None:
            return _(
                "This machine has not trained this model yet, so its speed is a rule of thumb and the range "
                "is wide."
            )
        usual = self.groups[1] * self.job.group_size * self.tokens[1]
        told = {"seconds": f"{self.pace.step(usual):.1f}", "steps": self.speed.steps}
        return (
            ngettext(
                "A step takes about %(seconds)s s, says %(steps)s step that this machine did.",
                "A step takes about %(seconds)s s, say %(steps)s steps that this machine did.",
                self.speed.steps,
            )
            % told
        )

    def _crowd(self) -> list[str]:
        if busy() < 0.5:
            return []
        return [_("Other things keep this machine busy now, so it may take longer.")]


def _together(factors: list[float]) -> float:
    """How far the whole may be off: causes that know nothing of each other rarely all go the same way."""
    return math.exp(math.hypot(*(math.log(max(1e-3, factor)) for factor in factors)))


def busy() -> float:
    """How many processes want each core at the moment, 0 where nobody can tell; at most MOST_BUSY."""
    try:
        return min(MOST_BUSY, os.getloadavg()[0] / (os.cpu_count() or 1))
    except OSError:
        return 0.0
