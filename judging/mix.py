"""A reward mixed from several scores of a try, less penalties for length and form. Plain arithmetic."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from gpu_worker.types import VERIFIABLE, Group, Score, Source, Trajectory
from judging.checks import PASSED, calls_of, text_of
from judging.transcripts import is_error

SOURCES: tuple[Source, ...] = ("ruler", "checks", "environment")
"""What earns a reward; their weights are shares of one whole."""
PENALTIES: tuple[Source, ...] = ("length", "format")
"""What lowers it; a penalty of 1 takes its whole weight off."""
NAMES: Mapping[str, str] = {"ruler": "RULER"}
TOO_LONG = 3.0
"""So many times as long as the shortest success is the full penalty."""
AS_GOOD = 0.1
"""Where nothing can be verified, tries within so much of the judge's favourite count as successes."""
SPOILT = ("malformed_call", "unknown_tool", "cut_off", "context_overflow")
"""Endings that are the full penalty for form."""


class NothingToMix(ValueError):
    """A try has none of the scores that have a weight."""


def mixed(parts: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """The reward, in [0, 1].

    With w the weights, s the scores that the try has of `SOURCES` and p its penalties:
    clamp(Σ w·s / Σ w − Σ w·p, 0, 1), the first two sums over the scores it has. A score it has not (where a
    scenario expects nothing there are no checks) leaves its weight to the others. Raises NothingToMix if it
    has none.
    """
    shares = _shares(parts, weights)
    earned = sum(share * parts[source] for source, share in shares.items())
    lost = sum(weights.get(penalty, 0.0) * parts.get(penalty, 0.0) for penalty in PENALTIES)
    return min(1.0, max(0.0, earned - lost))


def in_words(parts: Mapping[str, float], weights: Mapping[str, float]) -> str:
    """0.7 × RULER 0.80 + 0.3 × checks 1.00 − 0.1 × length 0.25"""
    plus = [
        f"{share:.2g} × {NAMES.get(source, source)} {parts[source]:.2f}"
        for source, share in _shares(parts, weights).items()
    ]
    minus = [
        f" − {weights[penalty]:.2g} × {penalty} {parts[penalty]:.2f}"
        for penalty in PENALTIES
        if weights.get(penalty) and penalty in parts
    ]
    return " + ".join(plus) + "".join(minus)


def parts(group: Group) -> list[dict[str, float]]:
    """Of each try: its scores by source, in [0, 1], and its penalties, where 1 is the worst."""
    shortest = _shortest_success(group.trajectories)
    return [
        {
            **{str(score.source): score.value for score in t.scores if score.source in SOURCES},
            **{"length": _too_long(t, shortest), "format": form(t)},
        }
        for t in group.trajectories
    ]


def with_mix(group: Group, weights: Mapping[str, float]) -> Group:
    """Every try with its penalties, where they have a weight, and its mixed score. Raises NothingToMix."""
    shortest = _shortest_success(group.trajectories)
    done = []
    for trajectory, had in zip(group.trajectories, parts(group), strict=True):
        said_of_length = "; ".join(_length_reasons(trajectory, shortest))
        told = {"length": said_of_length, "format": _form_reason(trajectory)}
        more = [Score(name, had[name], told[name]) for name in PENALTIES if weights.get(name)]
        more.append(Score("mix", mixed(had, weights), in_words(had, weights)))
        done.append(replace(trajectory, scores=(*trajectory.scores, *more)))
    return replace(group, trajectories=tuple(done))


def complaint(weights: Mapping[str, float]) -> str:
    """What is wrong with weights, or empty."""
    for name, weight in weights.items():
        if name not in (*SOURCES, *PENALTIES):
            return f"{name} cannot be a part of the reward; {', '.join((*SOURCES, *PENALTIES))} can."
        if not (math.isfinite(weight) and weight >= 0):
            return f"The weight of {name} is {weight}; it must be a number from 0 up."
    if not any(weights.get(source) for source in SOURCES):
        return "The reward is a mix, but neither ruler nor checks nor environment has a weight in it."
    return ""


def length(trajectory: Trajectory) -> int:
    """Characters the agent wrote: its texts, and names and arguments of its calls as they stand."""
    return sum(map(_written, trajectory.messages))


def form(trajectory: Trajectory) -> float:
    """1 for a try that ended in a call nobody can read or was cut off, else its share of failed calls."""
    if trajectory.ended in SPOILT:
        return 1.0
    failed, calls = _calls(trajectory)
    return min(1.0, failed / calls) if calls else 0.0


def _shares(parts: Mapping[str, float], weights: Mapping[str, float]) -> dict[str, float]:
    """The weights of the scores that the try has, as shares of one whole."""
    present = {source: weights[source] for source in SOURCES if weights.get(source) and source in parts}
    if not present:
        raise NothingToMix("there is no score to mix")
    whole = sum(present.values())
    return {source: weight / whole for source, weight in present.items()}


def _too_long(trajectory: Trajectory, shortest: int | None) -> float:
    """0 up to the length of the shortest success, 1 from TOO_LONG times that on, straight in between.

    Without any success there is nothing to be measured by, and the penalty is 0: short failures are no goal.
    """
    if not shortest:
        return 0.0
    return min(1.0, max(0.0, (length(trajectory) / shortest - 1) / (TOO_LONG - 1)))


def _shortest_success(trajectories: Sequence[Trajectory]) -> int | None:
    lengths = [length(one) for one in trajectories if _succeeded(one, trajectories)]
    return min((found for found in lengths if found), default=None)


def _succeeded(trajectory: Trajectory, among: Sequence[Trajectory]) -> bool:
    """By what can be verified; else a finished try that the judge likes about as much as its favourite."""
    for source in VERIFIABLE:
        if (value := _value(trajectory, source)) is not None:
            return value >= PASSED
    value = _value(trajectory, "ruler")
    if value is None or trajectory.ended != "answered":
        return False
    return value >= max(found for one in among if (found := _value(one, "ruler")) is not None) - AS_GOOD


def _value(trajectory: Trajectory, source: Source) -> float | None:
    values = [score.value for score in trajectory.scores if score.source == source]
    return fmean(values) if values else None


def _written(message: Mapping[str, object]) -> int:
    if message.get("role") != "assistant":
        return 0
    calls = calls_of([dict(message)])
    said = sum(len(name) + len(text_of({"content": arguments})) for name, arguments in calls)
    return len(text_of(dict(message))) + said


def _calls(trajectory: Trajectory) -> tuple[int, int]:
    """How many calls failed, and how many there were."""
    results = [text_of(message) for message in trajectory.messages if message.get("role") == "tool"]
    return sum(map(is_error, results)), len(calls_of(trajectory.messages))


def _length_reasons(trajectory: Trajectory, shortest: int | None) -> Iterator[str]:
    if not shortest:
        yield "no try of this group succeeded, so length is not looked at"
        return
    written = length(trajectory)
    yield f"{written} characters"
    yield f"the shortest success has {shortest}"


def _form_reason(trajectory: Trajectory) -> str:
    if trajectory.ended in SPOILT:
        return f"ended badly ({trajectory.ended.replace('_', ' ')})"
    failed, calls = _calls(trajectory)
    return f"{failed} of {calls} calls failed" if calls else "no calls"
