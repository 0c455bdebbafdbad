"""A try played again: asking for it, watching it, and reading it beside the recorded one."""

import math

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from training.access import replay_of, trajectory_of
from training.authoring.office import errands
from training.models import Errand, Replay
from training.review import transcript
from training.review.tries import replay as service
from training.review.tries import sides
from training.runs import words


@require_POST
@login_required
def play(request: HttpRequest, trajectory_id: int) -> HttpResponse:
    """Play a try again from a message on."""
    found = trajectory_of(request, trajectory_id)
    assert isinstance(request.user, User)
    try:
        begun = service.start(
            found,
            owner=request.user,
            message=_whole(request.POST.get("message")),
            step=_whole(request.POST.get("step")),
            seed=_whole(request.POST.get("seed")),
            temperature=_number(request.POST.get("temperature")),
        )
    except service.NotPlayed as refused:
        messages.error(request, str(refused))
        return redirect(f"{reverse('trajectory', args=[found.pk])}#again")
    return redirect("replay", begun.pk)


@require_safe
@login_required
def replay(request: HttpRequest, replay_id: int) -> HttpResponse:
    found = replay_of(request, replay_id)
    errand = errands.look_after(found.errand)
    context = {
        "replay": found,
        "errand": errand,
        "trajectory": found.trajectory,
        "group": found.trajectory.group,
        "run": found.trajectory.run,
        "here": reverse("replay", args=[found.pk]),
        "temperature": errand.arguments.get("temperature"),
        **_again(found),
    }
    if errand.state == Errand.State.DONE:
        found.refresh_from_db()
        context |= _compared(found, errand)
    return render(request, "review/replay.html", context)


def _again(found: Replay) -> dict[str, object]:
    """The form for another seed."""
    again = service.choices(found.trajectory, wanted=found.from_message, seed=found.seed + 1)
    return {
        "choices": again,
        "others": found.trajectory.replays.exclude(pk=found.pk).select_related("errand"),
    }


def _compared(found: Replay, errand: Errand) -> dict[str, object]:
    start = found.from_message
    before = transcript.turns(found.trajectory.record.messages)
    after = transcript.turns(found.messages)
    pairs = sides.pairs(before[start:], after[start:])
    return {
        "kept": before[:start],
        "pairs": pairs,
        "same": not sides.differing(pairs),
        "outcome": errand.result,
        "ended": str(words.ENDED.get(found.ended, found.ended)),
        "ended_then": str(words.ENDED.get(found.trajectory.ended, found.trajectory.ended)),
        "scores": [
            (str(words.SOURCES.get(source, source)), value, why) for source, value, why in found.scores
        ],
    }


def _whole(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 12 else -1


def _number(text: str | None) -> float:
    """A number, or one that is refused."""
    try:
        value = float(text or "")
    except ValueError:
        return -1.0
    return value if math.isfinite(value) else -1.0
