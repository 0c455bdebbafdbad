"""Who is compared with whom: large groups are judged in panels that share two tries, and their scales joined.

A judge loses track of many long tries, so no panel has more than NINE of them. The two shared ones (anchors)
are the likely best and the likely worst by what a program measured, because two points far apart tell most
about a scale.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from judging.prompt import Draft

ONE_PANEL = 8
"""Up to so many different tries are judged in one question."""
NINE = 9
"""The most tries in one question of several."""
ANCHORS = 2
LEAST_SPREAD = 0.2
"""Anchors closer than this in one of the scales only shift it; their distance would be mostly noise."""
STEEPEST = 2.0
"""A scale is stretched by this at most, and shrunk by its inverse."""

Values = dict[int, float]
"""Score in [0, 1] by place in the draft."""


def seated(written: Draft, order: Sequence[int]) -> list[list[int]]:
    """The places of `order` in panels; the anchors, in all of them, keep their place in the order."""
    if len(order) <= ONE_PANEL:
        return [list(order)]
    anchors = _anchors(written, order)
    others = [place for place in order if place not in anchors]
    count = max(2, math.ceil(len(others) / (NINE - ANCHORS)))
    return [
        [place for place in order if place in anchors or place in set(others[seat::count])]
        for seat in range(count)
    ]


def joined(panels: Sequence[Values]) -> Values:
    """All scores on one scale.

    An anchor's score is the mean of what the panels gave it. Each panel's scale is mapped onto those means:
    x → t1 + (x - a1) · (t2 - t1) / (a2 - a1), where a1 and a2 are the panel's scores of the anchors and t1
    and t2 the means, with the slope kept within [1/STEEPEST, STEEPEST]; or, where the anchors lie closer than
    LEAST_SPREAD or have changed places, x → x + mean(t - a). What leaves [0, 1] is clamped.
    """
    if len(panels) == 1:
        return dict(panels[0])
    anchors = sorted(set.intersection(*(set(panel) for panel in panels)))
    means = {anchor: math.fsum(panel[anchor] for panel in panels) / len(panels) for anchor in anchors}
    values: Values = {}
    for panel in panels:
        for place, value in panel.items():
            values[place] = means[place] if place in means else _mapped(value, panel, means)
    return values


def averaged(first: Mapping[int, float], second: Mapping[int, float]) -> Values:
    return {place: (value + second[place]) / 2 for place, value in first.items()}


def close(values: Mapping[int, float], distance: float) -> bool:
    """Whether order may have decided: all within `distance`, or two closer than that and yet not the same."""
    ranked = sorted(values.values())
    if distance <= 0 or len(ranked) < 2:
        return False
    limit = distance - 1e-9
    gaps = (high - low for low, high in zip(ranked, ranked[1:], strict=False))
    return ranked[-1] - ranked[0] < limit or any(1e-9 < gap < limit for gap in gaps)


def _mapped(value: float, panel: Values, means: Mapping[int, float]) -> float:
    low, high = sorted(means, key=lambda anchor: panel[anchor])
    there, here = means[high] - means[low], panel[high] - panel[low]
    if min(there, here) < LEAST_SPREAD:
        moved = value + math.fsum(means[anchor] - panel[anchor] for anchor in means) / len(means)
    else:
        slope = min(STEEPEST, max(1 / STEEPEST, there / here))
        middle, target = (panel[low] + panel[high]) / 2, (means[low] + means[high]) / 2
        moved = target + (value - middle) * slope
    return min(1.0, max(0.0, moved))


def _anchors(written: Draft, order: Sequence[int]) -> tuple[int, ...]:
    ranked = sorted(order, key=lambda place: _promise(json.loads(written.facts[place])))
    return ranked[-1], ranked[0]


def _promise(facts: Mapping[str, Any]) -> tuple[float, bool, int, int]:
    """What speaks for a try before anybody read it."""
    right = float(facts.get("checks", facts.get("environment", 0.0)))
    answered = facts.get("ended") == "answered"
    return right, answered, -int(facts.get("failed_calls", 0)), int(facts.get("calls", 0))
