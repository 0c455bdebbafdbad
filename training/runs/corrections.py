"""What a person's scores are learned from: groups judged before, with the person's rewards, once.

A score for the reward belongs to the step that claims it first; asked again for that step, which a killed
worker does, the same groups come back. Whether they still teach anything is the loop's business.
"""

from dataclasses import replace

from django.db import transaction

from gpu_worker.types import Group
from training import models
from training.judges.stored import group_of, scenarios_of

MOST = 32
"""Groups that one step learns from besides its own; the others wait for the next."""


def claimed(run: models.Run, step: int) -> tuple[Group, ...]:
    """The groups of earlier steps whose scores by a person this step learns from."""
    with transaction.atomic():
        standing = models.Score.objects.filter(
            source="human",
            use=models.Score.Use.REWARD,
            withdrawn_at=None,
            trajectory__run=run,
            trajectory__label="train",
            trajectory__step__lt=step,
        )
        waiting = standing.filter(learned_step=None).values_list("trajectory__group", flat=True)
        chosen = list(dict.fromkeys(waiting.order_by("trajectory__group")))[:MOST]
        standing.filter(learned_step=None, trajectory__group__in=chosen).update(learned_step=step)
        mine = standing.filter(learned_step=step).values("trajectory__group")
        rows = list(models.Group.objects.filter(pk__in=mine).order_by("pk"))
    if not rows:
        return ()
    scenarios = scenarios_of(run)
    return tuple(_with_human_rewards(row, group_of(row, scenarios, with_tokens=True)) for row in rows)


def _with_human_rewards(row: models.Group, group: Group) -> Group:
    """The person's rewards where there are some, the judge's elsewhere."""
    rewards = dict(row.trajectories.exclude(human=None).values_list("index", "human"))
    tries = (replace(t, reward=rewards.get(t.index, t.reward)) for t in group.trajectories)
    return replace(group, trajectories=tuple(tries))
