"""The arithmetic of GRPO against hand-computed numbers and against TRL's own loss."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from gpu_worker.grpo import (
    TokenLoss,
    advantages,
    cispo,
    correction,
    gspo,
    is_tied,
    kl_to_base,
    less_kl,
    mean_weights,
    ppo,
)

TRL = json.loads((Path(__file__).parent / "data" / "trl_loss.json").read_text())["cases"]


def test_advantages_are_the_distance_from_the_group_mean_over_the_batch_std() -> None:
    first, second = advantages([[1.0, 0.0, 0.0, 1.0], [0.2, 0.4]], 1e-6)
    std = math.sqrt((4 * 0.25 + 2 * 0.01) / 6)
    assert first == pytest.approx((0.5 / std, -0.5 / std, -0.5 / std, 0.5 / std))
    assert second == pytest.approx((-0.1 / std, 0.1 / std))


def test_advantages_in_units_of_their_group_or_of_nothing() -> None:
    rewards = [[1.0, 0.0, 0.0, 1.0], [0.2, 0.4], [0.3, 0.3]]
    by_group = advantages(rewards, 1e-6, "group")
    assert by_group == [pytest.approx((1.0, -1.0, -1.0, 1.0)), pytest.approx((-1.0, 1.0)), None]
    undivided = advantages(rewards, 1e-6, "none")
    assert undivided == [pytest.approx((0.5, -0.5, -0.5, 0.5)), pytest.approx((-0.1, 0.1)), None]


def test_tied_groups_have_no_advantages_and_no_say_in_the_std() -> None:
    with_tie = advantages([[0.0, 1.0], [0.7, 0.7]], 1e-6)
    assert with_tie == [pytest.approx((-1.0, 1.0)), None]


def test_a_batch_of_ties_teaches_nothing() -> None:
    assert advantages([[0.0, 0.0], [1.0, 1.0]], 1e-6) == [None, None]


@pytest.mark.parametrize("tries", [3, 5, 8, 18])
def test_equal_rewards_are_a_tie_whatever_their_mean_rounds_to(tries: int) -> None:
    for hundredths in range(101):
        assert is_tied([hundredths / 100] * tries, 1e-6)
        assert is_tied([hundredths / 100] * tries, 0.0)


def test_a_difference_above_the_tolerance_is_no_tie() -> None:
    assert not is_tied([0.5, 0.51], 1e-6)
    assert is_tied([0.5, 0.51], 0.02)


def test_cispo_weights_the_log_probability_by_the_clipped_ratio() -> None:
    logprobs_T = torch.tensor([-1.0, -1.0, -1.0], requires_grad=True)
    old_T = torch.log(torch.tensor([0.5, 0.01, 3.0])) - 1.0
    loss = cispo(logprobs_T, old_T, torch.tensor([2.0, 1.0, -1.0]), clip_low=0.5, clip_high=4.0)
    assert loss.ratio_T.tolist() == pytest.approx([2.0, 100.0, 1 / 3])
    assert loss.clipped_T.tolist() == [False, True, True]
    assert loss.loss_T.tolist() == pytest.approx([4.0, 5.0, -0.5])
    loss.loss_T.sum().backward()
    assert logprobs_T.grad is not None
    assert logprobs_T.grad.tolist() == pytest.approx([-4.0, -5.0, 0.5])


def test_kl_is_zero_at_the_base_and_positive_elsewhere() -> None:
    logprobs_T = torch.tensor([-1.0, -1.0])
    kl_T = kl_to_base(logprobs_T, torch.tensor([-1.0, -0.5]))
    assert kl_T.tolist() == pytest.approx([0.0, math.exp(0.5) - 0.5 - 1])


def test_ppo_takes_the_gradient_from_tokens_that_went_far_enough() -> None:
    ratios, pulls = [1.5, 1.5, 0.5, 0.5, 1.1], [1.0, -1.0, 1.0, -1.0, 2.0]
    logprobs_T = torch.full((5,), -1.0, requires_grad=True)
    old_T = -1.0 - torch.log(torch.tensor(ratios))
    loss = ppo(logprobs_T, old_T, torch.tensor(pulls), clip_low=0.2, clip_high=0.28)
    assert loss.loss_T.tolist() == pytest.approx([-1.28, 1.5, -0.5, 0.8, -2.2])
    assert loss.clipped_T.tolist() == [True, False, False, True, False]
    loss.loss_T.sum().backward()
    assert logprobs_T.grad is not None
    assert logprobs_T.grad.tolist() == pytest.approx([0.0, 1.5, -0.5, 0.0, -2.2])


def test_gspo_compares_whole_tries_and_learns_through_their_ratio() -> None:
    logprobs_T = torch.tensor([-1.0, -2.0, -3.0, -1.0], requires_grad=True)
    old_T = torch.tensor([-1.1, -2.0, -3.2, -1.5])
    try_T, pulls_T = torch.tensor([0, 0, 0, 1]), torch.tensor([1.0, 1.0, 1.0, 2.0])
    loss = gspo(logprobs_T, old_T, pulls_T, try_T, clip_low=0.2, clip_high=0.2)
    first = math.exp((0.1 + 0.0 + 0.2) / 3)
    assert loss.ratio_T.tolist() == pytest.approx([first] * 3 + [math.exp(0.5)])
    assert loss.loss_T.tolist() == pytest.approx([-first] * 3 + [-2.4])
    assert loss.clipped_T.tolist() == [False, False, False, True]
    (loss.loss_T * mean_weights("try", try_T, tokens=4, tries=2, max_tokens=9)).sum().backward()
    assert logprobs_T.grad is not None
    assert logprobs_T.grad.tolist() == pytest.approx([-first / 3 / 2] * 3 + [0.0])


def test_kl_lowers_the_advantages_of_tokens_farther_from_the_base_than_their_mean() -> None:
    found_T = less_kl(torch.tensor([1.0, 1.0, -1.0]), torch.tensor([0.5, 0.1, 0.0]), 0.2, 2.0)
    assert found_T.tolist() == pytest.approx([0.4, 1.2, -0.6])


def test_a_correction_weighs_tokens_up_to_its_cap_or_leaves_them_out() -> None:
    proximal_T, sampled_T = torch.log(torch.tensor([0.5, 0.9, 0.3, 0.3])), torch.log(torch.tensor([0.5] * 4))
    sampled_T[2] = math.log(0.1)
    assert correction(proximal_T, sampled_T, "truncate", 1.5).tolist() == pytest.approx([1, 1.5, 1.5, 0.6])
    assert correction(proximal_T, sampled_T, "mask", 2.0).tolist() == pytest.approx([1, 1.8, 0, 0.6])
    assert correction(proximal_T, sampled_T, "mask", 1.5).tolist() == pytest.approx([1, 0, 0, 0])


def test_what_a_token_counts_under_each_mean() -> None:
    try_T = torch.tensor([0, 1, 1, 1, 1])
    size = {"tokens": 10, "tries": 4, "max_tokens": 8}
    assert mean_weights("token", try_T, **size).tolist() == pytest.approx([0.1] * 5)
    assert mean_weights("try", try_T, **size).tolist() == pytest.approx([1 / 4] + [1 / 16] * 4)
    assert mean_weights("constant", try_T, **size).tolist() == pytest.approx([1 / 32] * 5)


def our_loss(case: dict[str, Any], logprobs_BT: torch.Tensor) -> torch.Tensor:
    """What ArtWeb computes for a recorded case of TRL's, which names things in its own way."""
    sampled_BT = torch.tensor(case["sampled_BT"], dtype=torch.bool)
    try_T = torch.arange(len(sampled_BT))[:, None].expand(sampled_BT.shape)[sampled_BT]
    logprobs_T, advantages_T = logprobs_BT[sampled_BT], torch.tensor(case["advantages_B"])[try_T]
    old_T, base_T, sampler_T = (
        torch.tensor(case[f"{name}_logprobs_BT"])[sampled_BT] for name in ("old", "base", "sampler")
    )
    low, high = case["epsilon_low"], case["epsilon_high"]
    loss: TokenLoss
    if case["loss_type"] == "cispo":
        loss = cispo(logprobs_T, old_T, advantages_T, clip_low=1.0, clip_high=high - 1)
    elif case["importance_sampling_level"] == "sequence":
        loss = gspo(logprobs_T, old_T, advantages_T, try_T, clip_low=low, clip_high=high)
    else:
        loss = ppo(logprobs_T, old_T, advantages_T, clip_low=low, clip_high=high)
    loss_T = loss.loss_T
    if case["importance"] != "none":
        loss_T = loss_T * correction(old_T, sampler_T, case["importance"], case["importance_cap"])
    loss_T = loss_T + case["beta"] * kl_to_base(logprobs_T, base_T)
    how: dict[str, Any] = {"cispo": "token", "dapo": "token", "grpo": "try", "dr_grpo": "constant"}
    size = {"tokens": len(try_T), "tries": len(sampled_BT), "max_tokens": case["max_tokens"]}
    return (loss_T * mean_weights(how[case["loss_type"]], try_T, **size)).sum()


@pytest.mark.parametrize("name", sorted(TRL))
def test_loss_and_gradient_equal_those_of_trl(name: str) -> None:
    case: dict[str, Any] = TRL[name]
    logprobs_BT = torch.tensor(case["logprobs_BT"], requires_grad=True)
    loss = our_loss(case, logprobs_BT)
    loss.backward()
    assert loss.item() == pytest.approx(case["loss"], abs=1e-5)
    assert logprobs_BT.grad is not None
    torch.testing.assert_close(logprobs_BT.grad, torch.tensor(case["gradient_BT"]), atol=1e-5, rtol=0)


def test_the_recorded_cases_tell_the_losses_apart() -> None:
    losses = [round(case["loss"], 5) for case in TRL.values()]
    assert len(set(losses)) == len(losses)
