"""A try, ready to be shown: its scores, its rank and what was said. Shared by the rooms of the review."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Prefetch, QuerySet

from training.models import Score, Trajectory
from training.review.quotes import Said, linked
from training.review.transcript import Turn, turns
from training.runs import words


@dataclass(frozen=True)
class GivenScore:
    """One score of a try. `is_reward` marks the one that the agent learns from.

    `reason` is the explanation in pieces, those that quote a message with its number. A person's score
    `stands` if it is the newest that was not withdrawn; one that is meant as a reward then takes the place
    of the judge's, whose own score is kept.
    """

    source: str
    name: str
    value: float
    explanation: str
    is_reward: bool
    reason: tuple[Said, ...]
    row: Score
    stands: bool

    @property
    def by_a_person(self) -> bool:
        return self.source == "human"


@dataclass(frozen=True)
class Try:
    """One try of a group, ready to be shown. Rank 1 is the best; equal rewards share a rank."""

    trajectory: Trajectory
    rank: int
    scores: list[GivenScore]
    turns: list[Turn]
    ended: str

    @property
    def human(self) -> GivenScore | None:
        """The person's score that counts."""
        return next((score for score in self.scores if score.by_a_person and score.stands), None)

    @property
    def failed_to_finish(self) -> bool:
        return self.trajectory.ended != "answered"


def one_try(trajectory: Trajectory) -> Try:
    """A try in full, with its rank among the tries of its group."""
    beside = list(trajectory.group.trajectories.all())
    ranks = ranks_of([other.reward for other in beside])
    rank = next(rank for other, rank in zip(beside, ranks, strict=True) if other.pk == trajectory.pk)
    found = with_scores(Trajectory.objects.filter(pk=trajectory.pk).select_related("group__run")).get()
    return shown_try(found, rank, trajectory.record.messages, 0)


def with_scores(trajectories: QuerySet[Trajectory]) -> QuerySet[Trajectory]:
    """With what `shown_try` reads, in three queries for all of them."""
    scores = Score.objects.order_by("id").select_related("author")
    return trajectories.select_related("group__run").prefetch_related(Prefetch("scores", queryset=scores))


def shown_try(trajectory: Trajectory, rank: int, messages: list[dict[str, object]], alike: int) -> Try:
    """The try from message `alike` on; what comes before is shown elsewhere."""
    told = turns(messages)
    ended = str(words.ENDED.get(trajectory.ended, trajectory.ended))
    return Try(trajectory, rank, _given(trajectory, told, alike), told[alike:], ended)


def _given(trajectory: Trajectory, told: list[Turn], alike: int) -> list[GivenScore]:
    """All scores in the order they were given, a person's last and the newest of them first."""
    reward_source = trajectory.group.run.config.get("reward", "ruler")
    given = list(trajectory.scores.all())
    people = [row for row in reversed(given) if row.source == "human"]
    rows = [row for row in given if row.source != "human"] + people
    standing = next((row.pk for row in people if not row.withdrawn_at), None)
    by_a_person = any(row.pk == standing and row.use == Score.Use.REWARD for row in people)
    return [
        GivenScore(
            source=row.source,
            name=str(words.SOURCES.get(row.source, row.source)),
            value=row.value,
            explanation=row.explanation,
            is_reward=row.pk == standing if by_a_person else row.source == reward_source,
            reason=linked(words.reason(row.source, row.explanation), told, alike),
            row=row,
            stands=row.pk == standing,
        )
        for row in rows
    ]


def ranks_of(rewards: Sequence[float]) -> list[int]:
    """1 is the best; equal rewards share a rank."""
    return [1 + sum(other > reward for other in rewards) for reward in rewards]
