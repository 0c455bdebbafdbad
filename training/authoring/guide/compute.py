"""The knobs on the page "Model & compute": the few that matter first, then all others, shelf by shelf."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from training.authoring.guide.fields import Field, knob_field
from training.runs import knobs

SIMPLE = (
    knob_field(
        "steps",
        gettext_lazy("Training steps"),
        gettext_lazy(
            "Time grows in proportion. Small tasks are learned in 20 to 40; stop when the curve is flat."
        ),
    ),
    knob_field(
        "group_size",
        gettext_lazy("Tries at each question"),
        gettext_lazy(
            "The agent learns from the difference between its tries at one question. With few tries there is "
            "often none; with many, each step takes longer."
        ),
    ),
    knob_field(
        "groups_per_step",
        gettext_lazy("Questions per step"),
        gettext_lazy("More questions make each step steadier and slower."),
    ),
    knob_field(
        "learning_rate",
        gettext_lazy("Learning rate"),
        gettext_lazy("Too high and it forgets how to speak; too low and nothing moves. Change it by halves."),
    ),
    knob_field(
        "budget",
        gettext_lazy("Most it may cost, in dollars"),
        gettext_lazy(
            "Only judges and simulated tools that are language models cost anything. The run pauses before "
            "it spends more."
        ),
    ),
)
REWARD = (
    knob_field(
        "second_look",
        gettext_lazy("Second look at close scores"),
        gettext_lazy(
            "Judges favour what they read first. Where the scores of a group lie closer together than "
            "this, it is judged once more in reverse order and the scores are averaged."
        ),
    ),
    knob_field(
        "control",
        gettext_lazy("An empty try as a control"),
        gettext_lazy(
            "A judge that prefers nothing to something cannot be believed: such a group is dropped. It "
            "costs a little more per group."
        ),
    ),
    knob_field(
        "most_dropped",
        gettext_lazy("Groups a step may lose"),
        gettext_lazy("Where the judge fails more often than this, the run pauses and says why."),
    ),
)
"""Advanced knobs of the page "Reward"."""
ELSEWHERE = {
    *("environment", "base_model", "reward", "mix", "judge_model", "rubric"),
    *(f.name for f in (*SIMPLE, *REWARD)),
}
"""Knobs that have a place of their own."""


@dataclass(frozen=True)
class Shelf:
    """Advanced knobs that belong together."""

    title: str | Promise
    fields: tuple[Field, ...]


def _shelves() -> tuple[Shelf, ...]:
    found = (
        Shelf(title, tuple(knob_field(name) for name in names if name not in ELSEWHERE))
        for title, names in knobs.SHELVES
    )
    return tuple(shelf for shelf in found if shelf.fields)


ADVANCED = _shelves()
FIELDS = (*SIMPLE, *(field for shelf in ADVANCED for field in shelf.fields))
