"""Gates: what two sides must agree on before they are timed. Raises `Void` where they do not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench.bar import Void

LOGPROB_TOLERANCE = 1e-4
"""Largest difference of a log-probability between the two sides, in fp32."""
LEAST_COSINE = 0.9999
"""Between the gradients of the two sides, in fp32."""


def same_prompts(ours: Sequence[Mapping[str, Any]], theirs: Sequence[Mapping[str, Any]]) -> None:
    if any(list(a["prompt_ids"]) != list(b["prompt_ids"]) for a, b in zip(ours, theirs, strict=True)):
        raise Void("the sides do not read the same ids from the same prompt")


def close(name: str, ours: Iterable[float], theirs: Iterable[float]) -> float:
    """The largest difference of log-probabilities that must be the same."""
    return within(name, max(abs(a - b) for a, b in zip(ours, theirs, strict=True)))


def within(name: str, difference: float) -> float:
    if not difference <= LOGPROB_TOLERANCE:
        raise Void(f"{name} differ by {difference:.2g}, more than {LOGPROB_TOLERANCE:g}")
    return float(f"{difference:.2g}")


def parallel(cosine: float) -> float:
    if not cosine >= LEAST_COSINE:
        raise Void(f"the gradients' cosine is {cosine:.6f}, less than {LEAST_COSINE}")
    return round(cosine, 8)
