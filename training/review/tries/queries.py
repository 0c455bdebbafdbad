"""Reads for the page of a try: its messages with what people wrote beside them, its tokens, its course."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from training.models import Note, StepMetrics, Trajectory
from training.review.transcript import Turn
from training.review.tries.spoken import drawn_messages

FACTS_OF_A_STEP = ("entropy", "ratio_p01", "ratio_p50", "ratio_p99", "ratio_max", "kl")
"""What a step's metrics tell about tokens that are not known one by one."""


@dataclass(frozen=True)
class Place:
    """Where notes stand: the whole try, or one of its messages."""

    message: int | None
    notes: list[Note] = field(default_factory=list)
    deleted: Note | None = None

    @property
    def id(self) -> str:
        return "notes" if self.message is None else f"notes-m{self.message}"


@dataclass(frozen=True)
class Said:
    """A message as the page of its try shows it. `agents` if the agent said it in this very try."""

    turn: Turn
    place: Place
    agents: bool

    @property
    def turns(self) -> list[Turn]:
        return [self.turn]


def notes_at(trajectory: Trajectory, message: int | None, deleted: Note | None = None) -> Place:
    standing = trajectory.notes.filter(deleted_at=None, message=message).select_related("author")
    return Place(message, list(standing), deleted)


def said(trajectory: Trajectory, turns: Sequence[Turn], deleted: int | None = None) -> list[Said]:
    """Every message with its notes. `deleted` is the id of a note that was just deleted."""
    standing: dict[int | None, list[Note]] = {}
    for note in trajectory.notes.filter(deleted_at=None).select_related("author"):
        standing.setdefault(note.message, []).append(note)
    gone = just_deleted(trajectory, deleted)
    agents = set(from_where(trajectory))
    return [
        Said(
            turn,
            Place(
                turn.number,
                standing.get(turn.number, []),
                gone if gone and gone.message == turn.number else None,
            ),
            turn.number in agents,
        )
        for turn in turns
    ]


def just_deleted(trajectory: Trajectory, note_id: int | None) -> Note | None:
    return trajectory.notes.exclude(deleted_at=None).filter(pk=note_id).first() if note_id else None


def from_where(trajectory: Trajectory) -> list[int]:
    """Numbers of the messages from which the try can be played again: those the agent said itself."""
    return drawn_messages(trajectory.record.messages, trajectory.record.segments)


def step_facts(trajectory: Trajectory) -> dict[str, Any]:
    """Of the step that learned from the try: what is known over all its tokens; None where nothing is."""
    values: dict[str, Any] = {}
    if trajectory.label == "train":
        metrics = StepMetrics.objects.filter(run=trajectory.run_id, step=trajectory.step)
        values = metrics.values_list("values", flat=True).first() or {}
    return {name: values.get(name) for name in FACTS_OF_A_STEP}
