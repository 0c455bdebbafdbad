"""C5's race as both sides know it, and how its result is read. Standard library only.

A side trains and leaves an adapter after every step, with the training seconds until then; clocks
stand still while a peer's adapter is written. Only afterwards are the adapters examined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

GOAL = 0.8
"""Mean held-out reward that ends the race."""
EVERY = 1
"""Steps between adapters."""
GROUPS = 16
TRIES = 8
STEPS = 80
"""Most steps; the learning rate's cosine is laid over them."""
FINAL_RATE = 0.1
SCENARIOS = 1200
"""Practice scenarios both sides draw from."""
EXAM = 256
"""Held-out scenarios, tried once each."""
SURE, SURE_STEPS = 0.85, 3
"""A side stops when its mean training reward was as high as this for so many steps: the race is over then."""


@dataclass(frozen=True)
class Adapter:
    """What a side had learned after a step, and how long that took."""

    step: int
    seconds: float
    directory: str


def is_over(rewards: Sequence[float], seconds: float, limit: float) -> bool:
    """Whether a side may stop training: it is surely there, or its time is up."""
    return seconds >= limit or (len(rewards) >= SURE_STEPS and min(rewards[-SURE_STEPS:]) >= SURE)


def finish(
    adapters: Sequence[Adapter], examined: Callable[[Adapter], float]
) -> tuple[Adapter | None, list[tuple[int, float]]]:
    """The first adapter that reaches the goal, or None, and the results until then (step, reward)."""
    results = []
    for adapter in adapters:
        reward = examined(adapter)
        results.append((adapter.step, round(reward, 4)))
        if reward >= GOAL:
            return adapter, results
    return None, results
