"""A person's scores: added beside the judge's, never in its place, and withdrawn without a trace being lost.

The newest score of a try that was not withdrawn counts; `Trajectory.human` repeats it for lists. A score for
the reward is learned from in the next step of a run that is under way; see `unlearned`.
"""

import math
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from training.models import Group, Ranking, Score, Trajectory
from training.runs.rows import LONGEST_LINE, clean


class NotAScore(ValueError):
    """A person's score cannot be kept like this. The sentence says what to do."""


def score(trajectory: Trajectory, *, value: float, reason: str, author: User, use: str) -> Score:
    """Add a person's score of a try. Raises NotAScore."""
    if not (isinstance(value, int | float) and math.isfinite(value) and 0 <= value <= 1):
        raise NotAScore(_("A score is a number between 0 and 1."))
    if use not in Score.Use.values:
        raise NotAScore(_("Say whether the score is a reward or for calibration only."))
    with transaction.atomic():
        Trajectory.objects.select_for_update().get(pk=trajectory.pk)
        added = Score.objects.create(
            trajectory=trajectory,
            source="human",
            value=value,
            explanation=clean(reason.strip())[:LONGEST_LINE],
            author=author,
            use=use,
        )
        _repeat(trajectory)
    return added


def withdraw(given: Score) -> None:
    """Undo a person's score: the one before it counts again, or the judge's."""
    _set_withdrawn(given, timezone.now())


def restore(given: Score) -> None:
    """Undo the undoing."""
    _set_withdrawn(given, None)


def standing(trajectory: Trajectory) -> Score | None:
    """The person's score that counts."""
    return _standing(trajectory.scores.all()).first()


def rank(author: User, ranking: Ranking) -> None:
    """Keep a ranking, in place of those before it. Raises NotAScore unless every try has one place."""
    places = [index for place in ranking.places for index in place]
    known = sorted(ranking.group.trajectories.values_list("index", flat=True))
    if sorted(places) != known:
        raise NotAScore(_("Every try has exactly one place in a ranking."))
    ranking.owner, ranking.reason = author, clean(ranking.reason.strip())[:LONGEST_LINE]
    ranking.save()


def ranking_of(author: User, group: Group) -> Ranking | None:
    """The person's ranking of a group that counts."""
    return Ranking.objects.filter(owner=author, group=group, withdrawn_at=None).order_by("-id").first()


def withdraw_ranking(ranking: Ranking) -> None:
    """Undo a ranking: the one before it counts again."""
    _set_ranking_withdrawn(ranking, timezone.now())


def restore_ranking(ranking: Ranking) -> None:
    """Undo the undoing."""
    _set_ranking_withdrawn(ranking, None)


def _set_ranking_withdrawn(ranking: Ranking, when: datetime | None) -> None:
    ranking.withdrawn_at = when
    ranking.save(update_fields=["withdrawn_at"])


def _standing(scores: QuerySet[Score]) -> QuerySet[Score]:
    return scores.filter(source="human", withdrawn_at=None).order_by("-id")


def _set_withdrawn(given: Score, when: datetime | None) -> None:
    with transaction.atomic():
        Trajectory.objects.select_for_update().get(pk=given.trajectory_id)
        Score.objects.filter(pk=given.pk, source="human").update(withdrawn_at=when)
        _repeat(given.trajectory)
    given.refresh_from_db()


def _repeat(trajectory: Trajectory) -> None:
    found = standing(trajectory)
    trajectory.human = found.value if found else None
    trajectory.save(update_fields=["human"])
