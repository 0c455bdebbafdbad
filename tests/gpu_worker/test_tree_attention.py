"""The fused kernel's blocks equal plain matrix products, and so does a whole forest put together of them."""

import pytest
import torch
from torch import Tensor

from gpu_worker import tree_attention
from gpu_worker.tree_attention import CPU, CUDA, PLAIN, Edge, attention_over

EDGES = (Edge(0, 5, 12), Edge(5, 8, 8), Edge(8, 9, 12), Edge(9, 12, 12), Edge(12, 13, 13))
PARENTS = (-1, 0, 1, 2, 3, 4, 5, 6, 4, 8, 9, 10, -1)


def blocks(asking: int, asked: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(asking)
    shapes = [(1, 2, n, 8) for n in (asking, asked, asked, asking)]
    return [torch.randn(shape, generator=generator) for shape in shapes]


@pytest.mark.parametrize(("asking", "asked", "causal"), [(5, 5, True), (1, 1, True), (7, 3, False)])
def test_the_fused_block_equals_plain_products(asking: int, asked: int, causal: bool) -> None:
    q, k, v, grad = blocks(asking, asked)
    out, lse = PLAIN.forward(q, k, v, causal)
    torch.testing.assert_close(CPU.forward(q, k, v, causal), (out, lse))
    larger = lse + 0.3  # as if there were other blocks
    plain = PLAIN.backward(grad, q, k, v, out * 0.9, larger, causal)
    torch.testing.assert_close(CPU.backward(grad, q, k, v, out * 0.9, larger, causal), plain)


@pytest.mark.parametrize("kernel", [CPU, PLAIN])
@pytest.mark.parametrize("kv_heads", [1, 4])
def test_a_forest_equals_attention_under_a_dense_mask(
    kernel: tree_attention.Kernel, kv_heads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_attention, "kernel_for", lambda device: kernel)
    generator = torch.Generator().manual_seed(1)
    sizes = (4, kv_heads, kv_heads)
    given = [torch.randn(len(PARENTS), h, 8, generator=generator).requires_grad_() for h in sizes]
    allowed = torch.eye(len(PARENTS), dtype=torch.bool)
    for node, parent in enumerate(PARENTS):
        if parent >= 0:
            allowed[node] |= allowed[parent]
    q, k, v = (x.transpose(0, 1) for x in given)
    k, v = (x.repeat_interleave(4 // kv_heads, dim=0) for x in (k, v))
    scores = (q @ k.transpose(-1, -2)) / 8**0.5
    expected = (scores.masked_fill(~allowed, float("-inf")).softmax(-1) @ v).transpose(0, 1)
    found = attention_over(EDGES)(*given)
    torch.testing.assert_close(found, expected)
    grad = torch.randn(found.shape, generator=generator)
    torch.testing.assert_close(
        torch.autograd.grad(found, given, grad),
        torch.autograd.grad(expected, given, grad),
        rtol=1e-4,
        atol=1e-5,
    )


@pytest.mark.parametrize(("asking", "asked", "causal"), [(64, 64, True), (5, 70, False)])
def test_the_cuda_kernel_takes_what_it_is_given_and_gives_what_is_expected(
    asking: int, asked: int, causal: bool
) -> None:
    q, k, v, grad = (x.to("meta") for x in blocks(asking, asked))
    out, lse = CUDA.forward(q, k, v, causal)
    assert (out.shape, lse.shape) == (q.shape, q.shape[:3])
    parts = CUDA.backward(grad, q, k, v, out, lse, causal)
    assert [part.shape for part in parts] == [q.shape, k.shape, v.shape]
