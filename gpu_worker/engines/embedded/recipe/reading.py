"""How well a network reads: the share of look-ups it would write token for token as a careful person does.

The dialogues come from a generator seed never trained on, with slips turned off.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from tokenizers import Tokenizer

from gpu_worker.engines.embedded.decoder import Decoder
from gpu_worker.engines.embedded.recipe.batches import DESKS, Lesson, padded
from gpu_worker.engines.embedded.recipe.tokenizer import CALL, rendered
from gpu_worker.engines.embedded.recipe.train import predictions


@dataclass(frozen=True)
class Reading:
    """Shares of 1: whole calls written right, and tokens inside calls written right."""

    calls: float
    tokens: float
    count: int


@torch.no_grad()
def measure_reading(
    network: Decoder, tokenizer: Tokenizer, dialogues: int = 200, seed: int = 1, lesson: Lesson = DESKS
) -> Reading:
    """Teacher-forced, greedy: from `<tool_call>` on, is every next token of the call the likeliest?"""
    rng = random.Random(f"reading {seed}")
    rows = [tokenizer.encode(rendered(lesson.write(rng))).ids for _ in range(dialogues)]
    rows = sorted((row for row in rows if len(row) <= lesson.longest), key=len)
    right: list[list[bool]] = []
    for start in range(0, len(rows), 20):
        batch = padded(tokenizer, rows[start : start + 20])
        logits_NV, targets_N = predictions(network, batch)
        right += _calls(tokenizer, targets_N.tolist(), (logits_NV.argmax(-1) == targets_N).tolist())
    tokens = [hit for call in right for hit in call]
    return Reading(sum(map(all, right)) / len(right), sum(tokens) / len(tokens), len(right))


def _calls(tokenizer: Tokenizer, targets: list[int], hits: list[bool]) -> list[list[bool]]:
    """The hits of each call, from after `<tool_call>` to `</tool_call>`."""
    opening, closing = (tokenizer.token_to_id(token) for token in CALL)
    calls: list[list[bool]] = []
    inside = False
    for target, hit in zip(targets, hits, strict=True):
        if target == opening:
            inside = True
            calls.append([])
        elif inside:
            calls[-1].append(hit)
            inside = target != closing
    return calls
