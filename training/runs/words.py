"""A run's states and events in plain words. Everything here is a sentence; nothing is looked up or stored."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from judging import offline
from training.models import Event, Group, Run
from training.phrasebook import reasons, said
from training.templatetags.figures import percent, score, to

State = Run.State
Level = Literal["detail", "info", "warning", "error"]
LEVELS: tuple[Level, ...] = ("detail", "info", "warning", "error")

HAPPENING = {
    State.DRAFT: gettext_lazy("Not started yet."),
    State.QUEUED: gettext_lazy(
        "Waiting for a worker. It starts by itself as soon as one is free; you can close this page."
    ),
    State.PREPARING: gettext_lazy("Loading the model and the scenarios. This takes a few seconds."),
    State.BASELINE: gettext_lazy(
        "Measuring how well the untrained agent does on unseen scenarios, so that the gain can be proven."
    ),
    State.TRAINING: gettext_lazy(
        "The agent tries each scenario several times, the judge ranks the tries, and the agent learns "
        "from the difference. Pausing or stopping loses nothing."
    ),
    State.PAUSED: gettext_lazy("Everything is saved. Resume goes on exactly where it stopped."),
    State.EVALUATING: gettext_lazy("Measuring the trained agent on the same unseen scenarios as before."),
    State.DONE: gettext_lazy("The trained agent is saved and can be served."),
    State.FAILED: gettext_lazy("The last good checkpoint is kept."),
    State.CANCELLED: gettext_lazy("Stopped on request. The last checkpoint is saved and can be served."),
}

WISHES = {
    "pause": gettext_lazy("Pausing: the present step is finished and saved first."),
    "stop": gettext_lazy("Stopping: the present step is finished and saved first."),
}

DOING = {
    "baseline": gettext_lazy("Unseen scenarios tried"),
    "rollouts": gettext_lazy("Tries played"),
    "judging": gettext_lazy("Tries judged"),
    "learning": gettext_lazy("Learning"),
    "evaluating": gettext_lazy("Unseen scenarios tried"),
}

LABELS = {
    "train": gettext_lazy("Practice"),
    "baseline": gettext_lazy("Before training"),
    "validation": gettext_lazy("Validation"),
    "trained": gettext_lazy("After training"),
}

ENDED = {
    "answered": gettext_lazy("Answered"),
    "malformed_call": gettext_lazy("Unreadable tool call"),
    "unknown_tool": gettext_lazy("Called a tool that does not exist"),
    "too_many_turns": gettext_lazy("Too many turns"),
    "context_overflow": gettext_lazy("Ran out of context"),
    "cut_off": gettext_lazy("Answer cut off"),
}

SOURCES = {
    "ruler": pgettext_lazy("score source", "Judge (RULER)"),
    "checks": pgettext_lazy("score source", "Checks"),
    "environment": pgettext_lazy("score source", "Environment"),
    "mix": pgettext_lazy("score source", "Mix"),
    "length": pgettext_lazy("score source", "Length"),
    "format": pgettext_lazy("score source", "Format"),
    "human": pgettext_lazy("score source", "Person"),
}
_MIXED_FROM = re.compile(r"(?<= × )(?:RULER|checks|environment|length|format)(?= \d)")


def reason(source: str, text: str) -> str:
    """What stands beside a score, in the reader's language; of a mix the sum, its parts by their names."""
    if source == "mix":
        return _MIXED_FROM.sub(lambda part: str(SOURCES[part[0].lower()]), text)
    return reasons(text)


def happening(run: Run) -> str:
    """One or two sentences: what happens now and what the person can do."""
    if run.state in Run.ACTIVE and run.wish in WISHES:
        return str(WISHES[run.wish])
    if run.state == State.CANCELLED and not run.step:
        return _("Stopped on request, before the first step was done. There is nothing to serve.")
    if run.state == State.FAILED and not run.step:
        return _("It failed before the first step was done.")
    return str(HAPPENING[State(run.state)])


def judge_name(judge: str) -> str:
    """Who judged, as it is: the offline judge is a rule, not a model."""
    return _("rule-based, offline") if judge == offline.TITLE else judge


def group_name(label: str, step: int, index: int) -> str:
    """Where a group stands in its run: "Step 3, group 7", "Before training, scenario 12"."""
    words = {"label": LABELS.get(label, label), "step": step, "number": index + 1}
    if label == "train":
        return _("Step %(step)s, group %(number)s") % words
    if label == "validation":
        return _("%(label)s after step %(step)s, scenario %(number)s") % words
    return _("%(label)s, scenario %(number)s") % words


def headline(run: Run) -> str:
    """What the training achieved, in one sentence; empty while it is not known."""
    before, after = run.summary.get("baseline"), run.summary.get("trained")
    if not before or not after:
        return ""
    sentence = _("success %(before)s → %(after)s on %(count)s unseen scenarios") % {
        "before": percent(before["success"]),
        "after": percent(after["success"]),
        "count": after["n"],
    }
    interval = run.summary.get("difference")
    if not interval:
        return sentence
    bounds = f"{_points(interval['low'])}…{_points(interval['high'])}"
    return _("%(sentence)s (95 %% CI %(bounds)s)") % {"sentence": sentence, "bounds": bounds}


def _points(value: float) -> str:
    return f"{value:+.0f}".replace("-", "−")


@dataclass(frozen=True)
class Line:
    """One line of a run's log."""

    seq: int
    level: Level
    text: str
    at: datetime
    url: str = ""


def line(event: Event, groups: Mapping[int, Group]) -> Line:
    """An event as a line of the log. `groups` holds the groups that events of kind "group" speak of."""
    level, text, url = _SENTENCES[event.kind](event.payload, groups)
    return Line(seq=event.seq, level=level, text=text, at=event.created_at, url=url)


Sentence = tuple[Level, str, str]


def _state(payload: dict[str, Any], groups: Mapping[int, Group]) -> Sentence:
    state = str(payload["state"])
    level: Level = "error" if state == State.FAILED else "info"
    return level, str(dict(State.choices).get(state, state)), ""


def _group(payload: dict[str, Any], groups: Mapping[int, Group]) -> Sentence:
    group = groups.get(payload["group_id"])
    place = group_name(payload["label"], payload["step"], payload["index"])
    if group is None:
        return "detail", place, ""
    outcome = _("%(successes)s of %(tries)s succeeded, mean reward %(reward)s") % {
        "successes": group.successes,
        "tries": group.tries,
        "reward": score(group.mean_reward),
    }
    return "detail", f"{place}: {outcome}", reverse("group", args=[group.pk])


def _dropped(payload: dict[str, Any], groups: Mapping[int, Group]) -> Sentence:
    return (
        "warning",
        _("Step %(step)s, group %(number)s was dropped: %(reason)s")
        % {"step": payload["step"], "number": payload["index"] + 1, "reason": said(payload["reason"])},
        "",
    )


def _step(payload: dict[str, Any], groups: Mapping[int, Group]) -> Sentence:
    metrics = payload["metrics"]
    return (
        "info",
        _("Step %(step)s done: reward %(reward)s, success %(success)s")
        % {
            "step": payload["step"],
            "reward": score(metrics.get("reward")),
            "success": percent(metrics.get("success")),
        },
        "",
    )


def _evaluation(payload: dict[str, Any], groups: Mapping[int, Group]) -> Sentence:
    return (
        "info",
        _("%(label)s: success %(success)s (95 %% CI %(interval)s)")
        % {
            "label": LABELS.get(payload["label"], payload["label"]),
            "success": percent(payload["success"]),
            "interval": to(payload["low"], payload["high"]),
        },
        "",
    )


def _log(payload: dict[str, Any], groups: Mapping[int, Group]) -> Sentence:
    level: Level = next((known for known in LEVELS if known == payload["level"]), "info")
    return level, str(payload["text"]), ""


_SENTENCES = {
    "state": _state,
    "group": _group,
    "dropped": _dropped,
    "step": _step,
    "evaluation": _evaluation,
    "log": _log,
}
