"""Token batches: dialogues of about one length together, and the random strings of the copy warm-up.

Every batch follows from (seed, step) alone, so training can stop and go on anywhere.
Shapes: B rows, T tokens.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from tokenizers import Tokenizer
from torch import Tensor

from gpu_worker.engines.embedded.recipe.demonstrations import BLUNDERING, FAULTLESS, write_practice
from gpu_worker.engines.embedded.recipe.dialogues import CAREFUL, CARELESS, Dialogue, write_dialogue
from gpu_worker.engines.embedded.recipe.tokenizer import (
    CALL,
    END_OF_TEXT,
    END_OF_TURN,
    SPECIAL,
    TURN,
    rendered,
)

POOL = 12
"""Batches whose dialogues are drawn together and sorted by length."""


@dataclass(frozen=True)
class Lesson:
    """What is read for a while: who writes it, and from how many tokens on a dialogue is left out."""

    write: Callable[[random.Random], Dialogue]
    longest: int


DESKS = Lesson(partial(write_dialogue, slips=CAREFUL), 400)
CARELESS_DESKS = Lesson(partial(write_dialogue, slips=CARELESS), 400)
REGISTERS = Lesson(partial(write_practice, slips=CAREFUL, blunders=FAULTLESS, freely=False), 704)
FREE_REGISTERS = Lesson(partial(write_practice, slips=CAREFUL, blunders=FAULTLESS, freely=True), 704)
CARELESS_REGISTERS = Lesson(partial(write_practice, slips=CARELESS, blunders=BLUNDERING, freely=True), 704)


@dataclass(frozen=True)
class TokenBatch:
    """ids_BT padded on the right; learn_BT marks the tokens to be predicted."""

    ids_BT: Tensor
    learn_BT: Tensor


def dialogue_batch(
    tokenizer: Tokenizer, seed: int, step: int, rows: int, lesson: Lesson = CARELESS_DESKS
) -> TokenBatch:
    """`rows` dialogues, of which what the assistant says is to be learned."""
    drawn = _pool(tokenizer, seed, step // POOL, rows * POOL, lesson)
    order = random.Random(f"order {seed} {step // POOL}").sample(range(POOL), POOL)
    start = order[step % POOL] * rows
    return padded(tokenizer, drawn[start : start + rows])


_POOLS: dict[tuple[int, int, int, Lesson], list[list[int]]] = {}


def _pool(tokenizer: Tokenizer, seed: int, number: int, count: int, lesson: Lesson) -> list[list[int]]:
    key = (seed, number, count, lesson)
    if key not in _POOLS:
        _POOLS.clear()
        rng = random.Random(f"dialogues {seed} {number}")
        encoded: list[list[int]] = []
        while len(encoded) < count:
            texts = [rendered(lesson.write(rng)) for _ in range(count - len(encoded))]
            encodings = tokenizer.encode_batch(texts)
            encoded += [encoding.ids for encoding in encodings if len(encoding.ids) <= lesson.longest]
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
