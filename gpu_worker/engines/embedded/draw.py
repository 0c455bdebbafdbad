"""The choice of the next id: one uniform number per row, from the row's seed and position alone.

Shapes: R rows, V vocabulary, B blocks of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
BLOCK = 64
"""Ids that are searched one by one, once their block is found."""
BELOW_ONE = 1 - 2**-52


def uniforms(seeds: Sequence[int] | np.ndarray, positions: Tensor) -> Tensor:
    """One number in [0, 1) per row, from its seed and position alone (SplitMix64), as float64."""
    with np.errstate(over="ignore"):
        places = positions.cpu().numpy().astype(np.uint64)
        state = _mixed(np.array(seeds, dtype=np.uint64)) + places * GOLDEN
        bits = _mixed(state + GOLDEN) >> np.uint64(11)
    return torch.from_numpy(bits.astype(np.float64) * 2.0**-53).to(positions.device)


def _mixed(z: np.ndarray) -> np.ndarray:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def pick(
    logits_RV: Tensor, uniforms_R: Tensor, temperature_R: Tensor, top_p_R: Tensor
) -> tuple[Tensor, Tensor]:
    """The drawn ids [R] and their log-probabilities [R] at temperature 1 over the whole vocabulary.

    Draws by inverting the cumulated distribution at the row's uniform; temperature 0 takes the likeliest.
    """
    if bool(((temperature_R == 1) & (top_p_R >= 1)).all()):
        probabilities_RV = logits_RV.softmax(-1)
        ids_R = inverted(probabilities_RV, uniforms_R)
        return ids_R, probabilities_RV.gather(-1, ids_R.unsqueeze(-1)).squeeze(-1).log_()
    logprobs_RV = logits_RV.log_softmax(-1)
    greedy_R = temperature_R == 0
    warmth_R1 = temperature_R.masked_fill(greedy_R, 1.0).unsqueeze(-1)
    probabilities_RV = (logprobs_RV / warmth_R1).softmax(-1)
    cut = top_p_R < 1
    if cut.any():
        probabilities_RV[cut] = _nucleus(probabilities_RV[cut], top_p_R[cut])
    ids_R = inverted(probabilities_RV, uniforms_R)
    if greedy_R.any():
        ids_R = torch.where(greedy_R, logits_RV.argmax(-1), ids_R)
    return ids_R, logprobs_RV.gather(-1, ids_R.unsqueeze(-1)).squeeze(-1)


def inverted(probabilities_RV: Tensor, uniforms_R: Tensor) -> Tensor:
    """The first id [R] at which the cumulated weights exceed the row's uniform share of their sum.

    In two steps, first the block of ids and then the id in it, as adding up one after the other is slow.
    An id of weight zero is never found.
    """
    rows, size = probabilities_RV.shape
    if size % BLOCK:
        probabilities_RV = F.pad(probabilities_RV, (0, BLOCK - size % BLOCK))
    weights_RBV = probabilities_RV.view(rows, -1, BLOCK)
    block_R, share_R1 = _reached(weights_RBV.sum(-1), uniforms_R.unsqueeze(-1))
    within_RV = weights_RBV[torch.arange(rows, device=block_R.device), block_R]
    return block_R * BLOCK + _reached(within_RV, share_R1)[0]


def _reached(weights_RX: Tensor, uniforms_R1: Tensor) -> tuple[Tensor, Tensor]:
    """The index [R] that the uniforms fall into, and how far into it [R, 1], 0 … 1."""
    cumulated_RX = weights_RX.cumsum(-1, dtype=torch.float64)
    target_R1 = uniforms_R1.clamp(max=BELOW_ONE) * cumulated_RX[:, -1:]
    index_R1 = torch.searchsorted(cumulated_RX, target_R1, right=True)
    end_R1 = cumulated_RX.gather(-1, index_R1)
    own_R1 = weights_RX.gather(-1, index_R1)
    return index_R1.squeeze(-1), (1 - (end_R1 - target_R1) / own_R1).clamp_(0, BELOW_ONE)


def _nucleus(probabilities_RV: Tensor, top_p_R: Tensor) -> Tensor:
    """Zero outside the smallest set of likeliest ids whose probabilities reach top_p; never empty."""
    ordered, order = probabilities_RV.sort(dim=-1, descending=True, stable=True)
    before = ordered.cumsum(-1, dtype=torch.float64) - ordered
    ordered = ordered.masked_fill(before >= top_p_R.unsqueeze(-1), 0.0)
    ordered[:, 0] = probabilities_RV.amax(-1)
    return torch.zeros_like(probabilities_RV).scatter(-1, order, ordered)
