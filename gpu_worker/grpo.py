"""GRPO's arithmetic as pure functions: rewards to advantages, log-probabilities to a loss.

It knows nothing of models, batches or packing; `trainers/` calls it on one micro-batch at a time.

Shapes: T sampled tokens of a micro-batch (tool results and template tokens are not among them).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


def is_tied(rewards: Sequence[float], tolerance: float) -> bool:
    """Whether a group's rewards are so close together that it teaches nothing.

    Looks at the spread of the rewards themselves: the difference from a computed mean is never exactly
    zero for many equal floats, and normalising such a rest would blow it up to full size.
    """
    return max(rewards) - min(rewards) <= tolerance


def advantages(rewards: Sequence[Sequence[float]], tolerance: float) -> list[tuple[float, ...] | None]:
    """How much better each try was than its group, in units of the batch's spread; None for tied groups.

    A_gi = (r_gi - mean_i r_gi) / sqrt(mean over all kept tries of (r_gi - mean_i r_gi)^2):
    the group mean as baseline, one standard deviation for the whole batch (ScaleRL, arXiv 2510.13786),
    so that a group with a tiny spread is not blown up as it is by GRPO's own group std.
    """
    centred = [None if is_tied(group, tolerance) else _centred(group) for group in rewards]
    kept = [value for group in centred if group is not None for value in group]
    if not kept:
        return [None] * len(rewards)
    std = (sum(value * value for value in kept) / len(kept)) ** 0.5
    return [None if group is None else tuple(value / std for value in group) for group in centred]


def _centred(rewards: Sequence[float]) -> list[float]:
    mean = sum(rewards) / len(rewards)
    return [reward - mean for reward in rewards]


@dataclass(frozen=True)
class TokenLoss:
    """The loss of each sampled token, and what is shown of it."""

    loss_T: Tensor
    ratio_T: Tensor
    clipped_T: Tensor


def cispo(
    logprobs_T: Tensor, old_logprobs_T: Tensor, advantages_T: Tensor, *, clip_low: float, clip_high: float
) -> TokenLoss:
    """-stop_gradient(clip(ratio, 1 - clip_low, 1 + clip_high)) * A * logprob, for each token.

    CISPO (MiniMax-M1, arXiv 2506.13585; ScaleRL, arXiv 2510.13786): the importance ratio is
    clipped and used as a weight, so no token loses its gradient as it would under PPO's clip.
    The caller sums and divides by the number of sampled tokens in the whole batch (token mean).
    """
    ratio_T = torch.exp(logprobs_T.detach() - old_logprobs_T)
    weight_T = ratio_T.clamp(1 - clip_low, 1 + clip_high)
    return TokenLoss(-weight_T * advantages_T * logprobs_T, ratio_T, weight_T != ratio_T)


def kl_to_base(logprobs_T: Tensor, base_logprobs_T: Tensor) -> Tensor:
    """An estimate of KL(policy || base) for each token from one sample: exp(d) - d - 1, d = base - policy.

    Never negative and low in variance (Schulman, "Approximating KL divergence", estimator k3).
    """
    difference_T = base_logprobs_T - logprobs_T
    return torch.exp(difference_T) - difference_T - 1
