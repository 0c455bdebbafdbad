"""Sampling's own forward pass computes what the decoder computes, for every family and number of tokens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from gpu_worker.engines.embedded.decoder import Decoder, causal
from gpu_worker.engines.embedded.network import Network
from tests.tiny_model import Family, build


def plain_attention(decoder: Decoder, tokens: int) -> Callable[[int, Tensor], Tensor]:
    """Causal attention within one sequence, for the packed q, k and v that the network hands over."""
    heads, kv_heads = decoder.shape.heads, decoder.shape.kv_heads

    def attend(layer: int, qkv_TAD: Tensor) -> Tensor:
        q, k, v = qkv_TAD[:tokens].transpose(0, 1).split((heads, kv_heads, kv_heads))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True, scale=1.0)
        return F.pad(out.transpose(0, 1).flatten(1), (0, 0, 0, len(qkv_TAD) - tokens))

    return attend


def both(decoder: Decoder, network: Network, tokens: int) -> tuple[Tensor, Tensor]:
    ids = torch.randint(3, 300, (tokens,), generator=torch.Generator().manual_seed(tokens))
    positions = torch.arange(tokens)
    with torch.inference_mode():
        here = network.logits(network(ids, positions, plain_attention(decoder, tokens)))
        return here, decoder.logits(decoder(ids[None], positions[None], causal))[0]


@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3"])
def test_it_agrees_with_the_decoder(tmp_path: Path, family: Family) -> None:
    decoder = Decoder.load(build(tmp_path, family=family, tied=family != "qwen2"))
    network = Network(decoder, 256)
    for tokens in (1, 8, 57, 130):
        here, there = both(decoder, network, tokens)
        assert there.std() > 0.1
        torch.testing.assert_close(here, there, atol=1e-5, rtol=0)


def test_it_computes_with_exchanged_weights_once_told(tiny_model: Path) -> None:
    decoder = Decoder.load(tiny_model)
    network = Network(decoder, 64)
    before, _ = both(decoder, network, 9)
    for parameter in decoder.parameters():
        parameter.data = parameter.data * 1.1
    network.settle()
    here, there = both(decoder, network, 9)
    torch.testing.assert_close(here, there, atol=1e-5, rtol=0)
    assert not torch.allclose(here, before, atol=1e-2)


def test_bfloat16_stays_near(tiny_model: Path) -> None:
    decoder = Decoder.load(tiny_model)
    here, there = both(decoder, Network(decoder, 64, torch.bfloat16), 57)
    assert here.dtype == torch.float32
    difference = (here.log_softmax(-1) - there.log_softmax(-1)).abs()
    assert 0 < difference.mean() < 0.02
