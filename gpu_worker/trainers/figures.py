"""What a training step shows of learning: one micro-batch's numbers, and those of a whole step.

Shapes: T sampled tokens of a micro-batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Learned:
    """What one micro-batch contributes. Sums are over its sampled tokens; kl is None where not measured."""

    loss: float
    tokens: int
    nodes: int
    entropy: float
    clipped: int
    ratio_T: Tensor
    kl: float | None
    kl_tokens: int


def metrics(learned: Sequence[Learned], tokens: int) -> dict[str, float]:
    """Token means of what is shown; KL over the tokens of which it was measured."""
    measured = [(part.kl, part.kl_tokens) for part in learned if part.kl is not None]
    return {
        "entropy": sum(part.entropy for part in learned) / tokens,
        "clip_fraction": sum(part.clipped for part in learned) / tokens,
        **_spread(torch.cat([part.ratio_T for part in learned])),
        "kl": sum(kl for kl, _ in measured) / sum(count for _, count in measured),
        "tokens": float(tokens),
        "nodes": float(sum(part.nodes for part in learned)),
    }


def _spread(ratio_T: Tensor) -> dict[str, float]:
    """Percentiles of the ratios of learner to sampler (the nearest one below) and the largest."""
    sorted_T = ratio_T.sort().values
    last = len(sorted_T) - 1
    shares = {"ratio_p01": 0.01, "ratio_p50": 0.5, "ratio_p99": 0.99, "ratio_max": 1.0}
    return {name: sorted_T[int(share * last)].item() for name, share in shares.items()}


def joined(updates: Sequence[dict[str, float]]) -> dict[str, float]:
    """One step's numbers from those of its weight updates: sums of counts, the largest ratio, else means."""
    keys = {key for update in updates for key in update}
    values = {key: [update[key] for update in updates if key in update] for key in sorted(keys)}
    joined = {key: sum(v) / len(v) for key, v in values.items()}
    joined |= {key: sum(values[key]) for key in ("tokens", "nodes", "skipped")}
    return joined | {key: max(values[key]) for key in ("ratio_max",) if key in values}
