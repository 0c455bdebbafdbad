"""Votes are given and taken back. Everybody has their own; reads live beside the pages that show them."""

from django.contrib.auth.models import User
from django.db.models import QuerySet

from training.models import BlindVote, Comparison
from training.review.compare.blind.pairs import Pair


def of(comparison: Comparison, author: User) -> QuerySet[BlindVote]:
    """What this person answered, the latest first."""
    return BlindVote.objects.filter(comparison=comparison, author=author)


def give(comparison: Comparison, author: User, pair: Pair, choice: str) -> None:
    """Keep it; a second answer to the same pair replaces the first."""
    BlindVote.objects.update_or_create(
        comparison=comparison,
        author=author,
        scenario_key=pair.scenario_key,
        left=pair.left,
        right=pair.right,
        defaults={"choice": choice},
    )


def undo(comparison: Comparison, author: User) -> None:
    """Take the latest one back, if there is one."""
    latest = of(comparison, author).first()
    if latest is not None:
        latest.delete()


def take_back(comparison: Comparison, author: User, vote_id: int) -> None:
    of(comparison, author).filter(pk=vote_id).delete()


def forget_skipped(comparison: Comparison, author: User) -> None:
    of(comparison, author).filter(choice=BlindVote.Choice.SKIP).delete()
