"""A try played again from one of its turns by a checkpoint: what may be chosen, and the errand "replay".

Only the desk does the errand, in a process of its own (replay_playing.py). The try that was recorded is never
touched: what comes out is a `Replay` of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from training.authoring.office import errands, program
from training.authoring.office.errands import Doing, Failed
from training.models import Checkpoint, Replay, Run, Trajectory
from training.review.tries.spoken import drawn_messages
from training.runs.jobs import RANGES

PROGRAM = "training.review.tries.replay_playing"
WHAT = {
    "loading": gettext_lazy("Loading the model"),
    "catching_up": gettext_lazy("Making the calls of the kept part again"),
    "playing": gettext_lazy("Playing"),
    "judging": gettext_lazy("Judging"),
}
STAGES = len(WHAT)


class NotPlayed(ValueError):
    """The try cannot be played again like this. The sentence says what to do."""


@dataclass(frozen=True)
class Choices:
    """What the form offers, and what it begins with."""

    messages: list[int]
    steps: list[int]
    """Checkpoints whose files are kept; 0 is the untrained model."""
    message: int | None
    step: int
    seed: int
    temperature: float


def choices(trajectory: Trajectory, *, wanted: int = 0, seed: int = 0) -> Choices:
    """From the message `wanted`, or from the first the agent said, by the newest checkpoint."""
    messages = drawn_messages(trajectory.record.messages, trajectory.record.segments)
    steps = steps_of(trajectory.run)
    return Choices(
        messages=messages,
        steps=steps,
        message=wanted if wanted in messages else messages[0] if messages else None,
        step=steps[-1],
        seed=seed,
        temperature=float(trajectory.run.config.get("temperature", 1.0)),
    )


def steps_of(run: Run) -> list[int]:
    kept = Checkpoint.objects.filter(run=run, kept=True).order_by("step")
    return [0, *kept.values_list("step", flat=True)]


def start(
    trajectory: Trajectory, *, owner: User, message: int, step: int, seed: int, temperature: float
) -> Replay:
    """Ask the desk to play it. Raises NotPlayed."""
    run = trajectory.run
    if message not in drawn_messages(trajectory.record.messages, trajectory.record.segments):
        raise NotPlayed(_("A try is played again from a message that the agent said in it; choose one."))
    if step not in steps_of(run):
        raise NotPlayed(_("The files of that checkpoint are no longer kept; choose another one."))
    for name, value in (("seed", seed), ("temperature", temperature)):
        refused = RANGES[name].complaint(name, value)
        if refused:
            raise NotPlayed(refused)
    with transaction.atomic():
        errand = errands.start(owner=owner, kind="replay", agent=run.agent, temperature=temperature)
        return Replay.objects.create(
            trajectory=trajectory, errand=errand, from_message=message, step=step, seed=seed
        )


def play(doing: Doing) -> dict[str, Any]:
    """The errand: the replay's row gets what was said and scored. Raises Failed with a sentence."""
    replay = Replay.objects.select_related("trajectory__run").get(errand=doing.errand)
    if replay.step and checkpoint_of(replay.trajectory.run_id, replay.step) is None:
        raise Failed(_("The files of that checkpoint are no longer kept; choose another one."))
    try:
        return _followed(replay, doing)
    except program.Died as died:
        raise Failed(_("The replay ended unexpectedly: %(said)s") % {"said": str(died)}) from None


def checkpoint_of(run_id: int, step: int) -> Path | None:
    """Where the weights lie; None for the untrained model, or where they are gone."""
    kept = Checkpoint.objects.filter(run=run_id, step=step, kept=True).first()
    return Path(kept.directory) if kept else None


def _followed(replay: Replay, doing: Doing) -> dict[str, Any]:
    stage, what = 0, str(WHAT["loading"])
    for told in program.told_by(PROGRAM, str(replay.pk)):
        if "result" in told:
            return _kept(replay, told["result"])
        if "failed" in told:
            raise Failed(told["failed"])
        if "what" in told:
            stage, what = list(WHAT).index(told["what"]), str(WHAT[told["what"]])
        doing.progress(stage, STAGES, what)
    raise AssertionError("told_by ends by raising Died")


def _kept(replay: Replay, result: Mapping[str, Any]) -> dict[str, Any]:
    replay.messages, replay.scores, replay.ended = result["messages"], result["scores"], result["ended"]
    replay.save(update_fields=["messages", "scores", "ended"])
    return {name: result[name] for name in ("success", "reward", "note", "seconds", "differing", "left")}


def opening_of(messages: Sequence[Mapping[str, Any]], system_prompt: str) -> list[dict[str, Any]]:
    """Messages as a scenario has them: without the system prompt, which every try is given anyway."""
    found = [dict(message) for message in messages]
    given = {"role": "system", "content": system_prompt}
    return found[1:] if found and system_prompt and found[0] == given else found
