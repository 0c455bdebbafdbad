"""The trainers' norm equals torch's, forward and backward, and keeps the names of its parameters."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from gpu_worker.engines.embedded.decoder import Decoder, Norm
from gpu_worker.trainers.norm import TrainedNorm, install


@pytest.mark.parametrize("shape", [(7, 16), (5, 3, 8)])
def test_numbers_and_gradients_are_torchs(shape: tuple[int, ...]) -> None:
    generator = torch.Generator().manual_seed(0)
    plain = Norm(shape[-1], 1e-5)
    plain.weight.data.normal_(generator=generator)
    x, grad = (torch.randn(shape, generator=generator) for _ in range(2))
    inputs = [x.requires_grad_(), plain.weight]
    expected = F.rms_norm(x, plain.weight.shape, plain.weight, 1e-5)
    found = TrainedNorm(plain)(x)
    torch.testing.assert_close(found, expected)
    ours = torch.autograd.grad(found, inputs, grad)
    torch.testing.assert_close(ours, torch.autograd.grad(expected, inputs, grad))


def test_a_decoder_keeps_its_names(tiny_model: Path) -> None:
    decoder = Decoder.load(tiny_model)
    before = [name for name, _ in decoder.named_parameters()]
    install(decoder)
    assert [name for name, _ in decoder.named_parameters()] == before
    assert isinstance(decoder.model.norm, TrainedNorm)
    assert not any(isinstance(module, Norm) for module in decoder.modules())
