"""Do draws follow a distribution? Pearson's chi-square test, with ids that are rare counted together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from bench.bar import Void

LEAST_EXPECTED = 10.0
"""Draws a bin must expect; rarer ids share one."""
LEAST_P = 0.01
STEPS = 1000
"""Terms after which the series below have long converged."""


def follows(name: str, draws: Sequence[int], logprobs: Sequence[float]) -> float:
    """The p-value of `draws` under the distribution with these log-probabilities; Void at 0.01 or below."""
    observed, expected = binned(draws, logprobs)
    p = p_value(observed, expected)
    if not p > LEAST_P:
        raise Void(f"{name} do not follow the model's distribution: p = {p:.2g}, not above {LEAST_P}")
    return round(p, 4)


def binned(draws: Sequence[int], logprobs: Sequence[float]) -> tuple[list[float], list[float]]:
    """Observed and expected counts. Frequent ids have a bin each; rare ones fill bins in order."""
    counts = Counter(draws)
    observed, expected = [], []
    seen = hoped = 0.0
    for at, logprob in enumerate(logprobs):
        hope = math.exp(logprob) * len(draws)
        if hope >= LEAST_EXPECTED:
            observed.append(float(counts[at]))
            expected.append(hope)
            continue
        seen, hoped = seen + counts[at], hoped + hope
        if hoped >= LEAST_EXPECTED:
            observed.append(seen)
            expected.append(hoped)
            seen = hoped = 0.0
    if observed:  # what is left is too little for a bin of its own
        observed[-1] += seen
        expected[-1] += hoped
    return observed, expected


def p_value(observed: Sequence[float], expected: Sequence[float]) -> float:
    """How often chance alone strays as far as `observed` does; at least two bins."""
    if len(observed) < 2:
        raise ValueError("A chi-square test needs at least two bins.")
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True))
    return _upper_gamma((len(observed) - 1) / 2, statistic / 2)


def _upper_gamma(a: float, x: float) -> float:
    """The regularised incomplete gamma function Q(a, x): DLMF 8.11.4 below a + 1, else 8.9.2 (Lentz)."""
    if x <= 0:
        return 1.0
    scale = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        for n in range(1, STEPS):
            term *= x / (a + n)
            total += term
        return 1 - scale * total
    b = x + 1 - a
    c, d = math.inf, 1 / b
    fraction = d
    for n in range(1, STEPS):
        numerator = -n * (n - a)
        b += 2
        d = 1 / (numerator * d + b)
        c = b + numerator / c
        fraction *= c * d
    return scale * fraction
