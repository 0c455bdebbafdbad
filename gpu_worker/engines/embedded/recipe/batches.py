"""Token batches: dialogues of about one length together, and the random strings of the copy warm-up.

Every batch follows from (seed, step) alone, so training can stop and go on anywhere.
Shapes: B rows, T tokens.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from tokenizers import Tokenizer
from torch import Tensor

from gpu_worker.engines.embedded.recipe.dialogues import CARELESS, Slips, write_dialogue
from gpu_worker.engines.embedded.recipe.tokenizer import (
    CALL,
    END_OF_TEXT,
    END_OF_TURN,
    SPECIAL,
    TURN,
    rendered,
)

LONGEST = 400
POOL = 12
"""Batches whose dialogues are drawn together and sorted by length."""


@dataclass(frozen=True)
class TokenBatch:
    """ids_BT padded on the right; learn_BT marks the tokens to be predicted."""

    ids_BT: Tensor
    learn_BT: Tensor


def dialogue_batch(
    tokenizer: Tokenizer, seed: int, step: int, rows: int, slips: Slips = CARELESS
) -> TokenBatch:
    """`rows` dialogues, of which what the assistant says is to be learned."""
    drawn = _pool(tokenizer, seed, step // POOL, rows * POOL, slips)
    order = random.Random(f"order {seed} {step // POOL}").sample(range(POOL), POOL)
    start = order[step % POOL] * rows
    return padded(tokenizer, drawn[start : start + rows])


_POOLS: dict[tuple[int, int, int, Slips], list[list[int]]] = {}


def _pool(tokenizer: Tokenizer, seed: int, number: int, count: int, slips: Slips) -> list[list[int]]:
    key = (seed, number, count, slips)
    if key not in _POOLS:
        _POOLS.clear()
        rng = random.Random(f"dialogues {seed} {number}")
        encoded: list[list[int]] = []
        while len(encoded) < count:
            texts = [rendered(write_dialogue(rng, slips)) for _ in range(count - len(encoded))]
            encodings = tokenizer.encode_batch(texts)
            encoded += [encoding.ids for encoding in encodings if len(encoding.ids) <= LONGEST]
        _POOLS[key] = sorted(encoded, key=len)
    return _POOLS[key]


def padded(tokenizer: Tokenizer, rows: list[list[int]]) -> TokenBatch:
    """Rows of token ids side by side, the assistant's tokens marked."""
    longest = max(map(len, rows))
    padding = tokenizer.token_to_id(END_OF_TEXT)
    ids_BT = torch.tensor([row + [padding] * (longest - len(row)) for row in rows])
    learn = [said_by_assistant(tokenizer, row) for row in rows]
    learn_BT = torch.tensor([marks + [False] * (longest - len(marks)) for marks in learn])
    return TokenBatch(ids_BT, learn_BT)


def said_by_assistant(tokenizer: Tokenizer, ids: list[int]) -> list[bool]:
    """Which tokens the assistant says: after its header, up to and with the end of its turn."""
    turn, end = tokenizer.token_to_id(TURN), tokenizer.token_to_id(END_OF_TURN)
    (header,) = tokenizer.encode("assistant\n").ids
    marks, speaking = [], False
    for at, token in enumerate(ids):
        marks.append(speaking)
        if at > 0 and token == header and ids[at - 1] == turn:
            speaking = True
        elif token == end:
            speaking = False
    return marks


def copy_batch(tokenizer: Tokenizer, seed: int, step: int, rows: int) -> TokenBatch:
    """Random tokens said twice; the second time is to be learned."""
    generator = torch.Generator().manual_seed(1_000_003 * seed + step)
    length = int(torch.randint(24, 72, (1,), generator=generator))
    kept = [tokenizer.token_to_id(token) for token in (*SPECIAL, *CALL)]
    first = torch.randint(0, tokenizer.get_vocab_size(), (rows, length), generator=generator)
    first[torch.isin(first, torch.tensor(kept))] = len(kept) + 40
    ids_BT = torch.cat((first, first), dim=1)
    learn_BT = torch.zeros_like(ids_BT, dtype=torch.bool)
    learn_BT[:, length + 1 :] = True
    return TokenBatch(ids_BT, learn_BT)
