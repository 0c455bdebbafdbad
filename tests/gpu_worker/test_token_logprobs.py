"""Chunked log-probabilities: the same numbers and gradients as whole logits, and next to nothing kept."""

import pytest
import torch
from torch import Tensor

from gpu_worker import token_logprobs as module
from gpu_worker.token_logprobs import chunk_rows, token_logprobs


def tensors(rows: int, vocabulary: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    hidden_MC = torch.randn(rows, 8, generator=generator).requires_grad_()
    head_VC = torch.randn(vocabulary, 8, generator=generator)
    targets_M = torch.randint(vocabulary, (rows,), generator=generator)
    return hidden_MC, head_VC, targets_M, torch.randn(rows, generator=generator)


@pytest.mark.parametrize("head_learns", [False, True])
def test_numbers_and_gradients_are_those_of_whole_logits(
    head_learns: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(module.LOGITS, "cpu", 30 * 20)
    hidden_MC, head_VC, targets_M, weights_M = tensors(49, 30)
    learning = [hidden_MC, head_VC.requires_grad_(head_learns)][: 1 + head_learns]
    plain = (hidden_MC @ head_VC.T).log_softmax(-1)
    expected_M = plain.gather(-1, targets_M[:, None])[:, 0]
    found_M, entropy_M = token_logprobs(hidden_MC, head_VC, targets_M)
    torch.testing.assert_close(found_M, expected_M)
    torch.testing.assert_close(entropy_M, -(plain.exp() * plain).sum(-1))
    expected = torch.autograd.grad((expected_M * weights_M).sum(), learning)
    torch.testing.assert_close(torch.autograd.grad((found_M * weights_M).sum(), learning), expected)


def test_large_logits_are_no_trouble() -> None:
    hidden_MC, head_VC, targets_M, _ = tensors(5, 30)
    found_M, entropy_M = token_logprobs(hidden_MC.detach() * 1e4, head_VC, targets_M)
    plain = (hidden_MC.detach() * 1e4 @ head_VC.T).log_softmax(-1)
    torch.testing.assert_close(found_M, plain.gather(-1, targets_M[:, None])[:, 0])
    assert entropy_M.isfinite().all()


def test_nothing_of_the_vocabularys_size_is_kept_for_the_backward_pass() -> None:
    hidden_MC, head_VC, targets_M, _ = tensors(100, 5000)
    kept: list[Tensor] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: kept.append(x) or x, lambda x: x):
        token_logprobs(hidden_MC, head_VC, targets_M)
    assert sum(x.numel() for x in kept) == hidden_MC.numel()


@pytest.mark.parametrize(("vocabulary", "rows"), [(64, 1024), (32_768, 64), (10_000_000, 16)])
def test_the_larger_the_vocabulary_the_fewer_rows_at_a_time(vocabulary: int, rows: int) -> None:
    assert chunk_rows(vocabulary) == rows
