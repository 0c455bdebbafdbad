"""The arithmetic of GRPO against hand-computed numbers and against TRL's own loss."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from gpu_worker.grpo import advantages, cispo, is_tied, kl_to_base

TRL = json.loads((Path(__file__).parent / "data" / "trl_loss.json").read_text())["cases"]


def test_advantages_are_the_distance_from_the_group_mean_over_the_batch_std() -> None:
    first, second = advantages([[1.0, 0.0, 0.0, 1.0], [0.2, 0.4]], 1e-6)
    std = math.sqrt((4 * 0.25 + 2 * 0.01) / 6)
    assert first == pytest.approx((0.5 / std, -0.5 / std, -0.5 / std, 0.5 / std))
    assert second == pytest.approx((-0.1 / std, 0.1 / std))


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


@pytest.mark.parametrize("name", sorted(TRL))
def test_loss_and_gradient_equal_those_of_trl(name: str) -> None:
    case: dict[str, Any] = TRL[name]
    sampled_BT = torch.tensor(case["sampled_BT"], dtype=torch.bool)
    logprobs_BT = torch.tensor(case["logprobs_BT"], requires_grad=True)
    logprobs_T = logprobs_BT[sampled_BT]
    advantages_T = torch.tensor(case["advantages_B"])[:, None].expand(sampled_BT.shape)[sampled_BT]
    old_T = torch.tensor(case["old_logprobs_BT"])[sampled_BT]
    base_T = torch.tensor(case["base_logprobs_BT"])[sampled_BT]
    loss_T = cispo(logprobs_T, old_T, advantages_T, clip_low=1.0, clip_high=case["clip_high"]).loss_T
    loss = (loss_T + case["kl_coefficient"] * kl_to_base(logprobs_T, base_T)).sum() / sampled_BT.sum()
    loss.backward()
    assert loss.item() == pytest.approx(case["loss"], abs=1e-5)
    assert logprobs_BT.grad is not None
    torch.testing.assert_close(logprobs_BT.grad, torch.tensor(case["gradient_BT"]), atol=1e-5, rtol=0)
