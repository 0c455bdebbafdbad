"""GRPO's arithmetic as pure functions: rewards to advantages, log-probabilities to a loss.

It knows nothing of models, batches or packing; `trainers/` calls it on one micro-batch at a time. Which
choices go together is said in `algorithms.py`.

Shapes: T sampled tokens of a micro-batch (tool results and template tokens are not among them), B tries.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor


def is_tied(rewards: Sequence[float], tolerance: float) -> bool:
    """Whether a group's rewards are so close together that it teaches nothing.

    Looks at the spread of the rewards themselves: the difference from a computed mean is never exactly
    zero for many equal floats, and normalising such a rest would blow it up to full size.
    """
    return max(rewards) - min(rewards) <= tolerance


def advantages(
    rewards: Sequence[Sequence[float]],
    tolerance: float,
    scale: Literal["batch", "group", "none"] = "batch",
) -> list[tuple[float, ...] | None]:
    """How much better each try was than the mean of its group; None for tied groups. In units of

    batch  sqrt(mean over all kept tries of (r_gi - mean_i r_gi)^2): one spread for the whole batch
           (ScaleRL, arXiv 2510.13786), so that a group with a tiny one is not blown up
    group  the standard deviation of the group (GRPO, arXiv 2402.03300)
    none   rewards, undivided (Dr. GRPO, arXiv 2503.20783)
    """
    centred = [None if is_tied(group, tolerance) else _centred(group) for group in rewards]
    kept = [value for group in centred if group is not None for value in group]
    batch = spread(kept) if kept else 1.0

    def scaled(group: list[float]) -> tuple[float, ...]:
        unit = {"batch": batch, "group": spread(group), "none": 1.0}[scale]
        return tuple(value / unit for value in group)

    return [None if group is None else scaled(group) for group in centred]


def _centred(rewards: Sequence[float]) -> list[float]:
    mean = sum(rewards) / len(rewards)
    return [reward - mean for reward in rewards]


def spread(centred: Sequence[float]) -> float:
    """sqrt of the mean square."""
    return float((sum(value * value for value in centred) / len(centred)) ** 0.5)


@dataclass(frozen=True)
class TokenLoss:
    """The loss of each sampled token, and what is shown of it. `mean_weights` says what each counts."""

    loss_T: Tensor
    ratio_T: Tensor
    clipped_T: Tensor


def cispo(
    logprobs_T: Tensor, old_logprobs_T: Tensor, advantages_T: Tensor, *, clip_low: float, clip_high: float
) -> TokenLoss:
    """-stop_gradient(clip(ratio, 1 - clip_low, 1 + clip_high)) * A * logprob, for each token.

    CISPO (MiniMax-M1, arXiv 2506.13585; ScaleRL, arXiv 2510.13786): the importance ratio is
    clipped and used as a weight, so no token loses its gradient as it would under PPO's clip.
    """
    ratio_T = torch.exp(logprobs_T.detach() - old_logprobs_T)
    weight_T = ratio_T.clamp(1 - clip_low, 1 + clip_high)
    return TokenLoss(-weight_T * advantages_T * logprobs_T, ratio_T, weight_T != ratio_T)


def ppo(
    logprobs_T: Tensor, old_logprobs_T: Tensor, advantages_T: Tensor, *, clip_low: float, clip_high: float
) -> TokenLoss:
    """-min(ratio * A, clip(ratio, 1 - clip_low, 1 + clip_high) * A), for each token.

    PPO's clip (arXiv 1707.06347), with a higher upper bound as DAPO has it (arXiv 2503.14476): a token
    whose ratio has left the bounds in the direction its advantage pulls gets no gradient.
    """
    return _clipped(torch.exp(logprobs_T - old_logprobs_T), advantages_T, clip_low, clip_high)


def gspo(
    logprobs_T: Tensor,
    old_logprobs_T: Tensor,
    advantages_T: Tensor,
    try_T: Tensor,
    *,
    clip_low: float,
    clip_high: float,
) -> TokenLoss:
    """-min(s * A, clip(s, 1 - clip_low, 1 + clip_high) * A), the same for all tokens of a try, where
    s = exp(mean over the tokens of the try of (logprob - old logprob)).

    GSPO (arXiv 2507.18071): the ratio of whole tries, as a geometric mean; its gradient goes through s.
    The paper's mean over tries is loss_mean "try". try_T says which try a token is of; all are here.
    """
    tokens_B = try_T.bincount()
    sums_B = torch.zeros(len(tokens_B), device=try_T.device).index_add(0, try_T, logprobs_T - old_logprobs_T)
    ratio_B = torch.exp(sums_B / tokens_B.clamp(min=1))
    return _clipped(ratio_B[try_T], advantages_T, clip_low, clip_high)


def _clipped(ratio_T: Tensor, advantages_T: Tensor, clip_low: float, clip_high: float) -> TokenLoss:
    bounded_T = ratio_T.clamp(1 - clip_low, 1 + clip_high)
    free_T, held_T = ratio_T * advantages_T, bounded_T * advantages_T
    return TokenLoss(-torch.min(free_T, held_T), ratio_T.detach(), held_T < free_T)


def kl_to_base(logprobs_T: Tensor, base_logprobs_T: Tensor) -> Tensor:
    """An estimate of KL(policy || base) for each token from one sample: exp(d) - d - 1, d = base - policy.

    Never negative and low in variance (Schulman, "Approximating KL divergence", estimator k3).
    """
    difference_T = base_logprobs_T - logprobs_T
    return torch.exp(difference_T) - difference_T - 1


def less_kl(advantages_T: Tensor, kl_T: Tensor, mean_kl: float, coefficient: float) -> Tensor:
    """Advantages A + coefficient * (mean_kl - kl), for each token, where kl = logprob - base logprob of the
    policy that sampled, and mean_kl is its mean over all tokens of the batch.

    The penalty is a part of the reward, not of the gradient (OpenPipe/ART, `kl_penalty_coef`); taking
    the mean off keeps it from lowering all advantages alike.
    """
    return advantages_T + coefficient * (mean_kl - kl_T)


def correction(proximal_T: Tensor, sampled_T: Tensor, how: Literal["truncate", "mask"], cap: float) -> Tensor:
    """Weights of tokens that one policy sampled and another, `proximal`, is about to learn from.

    truncate  min(w, cap), w = exp(proximal - sampled): truncated importance sampling
    mask      w where 1/cap <= w <= cap, else 0: masked importance sampling, IcePop
    Both: OpenReview 8MHqvb4lK9. Log-probabilities in, no gradient out.
    """
    weight_T = torch.exp(proximal_T.detach() - sampled_T)
    if how == "truncate":
        return weight_T.clamp(max=cap)
    return weight_T.where((weight_T >= 1 / cap) & (weight_T <= cap), 0.0)


def mean_weights(
    how: Literal["token", "try", "constant"], try_T: Tensor, *, tokens: int, tries: int, max_tokens: int
) -> Tensor:
    """What each token's loss counts, so that the sum over all micro-batches is a mean over

    token     all `tokens` of the batch (DAPO, arXiv 2503.14476)
    try       `tries`, of each try's mean over its tokens (GRPO, arXiv 2402.03300)
    constant  `tries` times max_tokens, so that no length is preferred (Dr. GRPO, arXiv 2503.20783)
    """
    if how == "try":
        return 1.0 / (tries * try_T.bincount()[try_T])
    count = tokens if how == "token" else tries * max_tokens
    return torch.full(try_T.shape, 1.0 / count, device=try_T.device)
