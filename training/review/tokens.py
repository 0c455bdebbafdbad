"""The tokens of a try, as the model saw and sampled them, a window at a time.

Needs only the tokenizer file of the base model; torch is never loaded here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

import gpu_worker

WINDOW = 400
EMBEDDED = Path(gpu_worker.__file__).parent / "engines" / "embedded" / "weights"
UNFINISHED = "\ufffd"

SURE = ((0.9, 0), (0.6, 1), (0.3, 2), (0.1, 3), (0.02, 4))
"""Probability of a sampled token, from sure (0) to a surprise (5)."""


@dataclass(frozen=True)
class Token:
    place: int
    id: int
    text: str
    sampled: bool
    logprob: float | None
    surprise: int

    @property
    def probability(self) -> float | None:
        return None if self.logprob is None else exp(self.logprob)


@dataclass(frozen=True)
class Window:
    """Tokens `start` to `start + len(tokens)` of a segment of `total` tokens."""

    tokens: list[Token]
    segment: int
    segments: int
    start: int
    total: int
    readable: bool

    @property
    def end(self) -> int:
        return self.start + len(self.tokens)

    @property
    def before(self) -> int | None:
        return max(0, self.start - WINDOW) if self.start else None

    @property
    def after(self) -> int | None:
        return self.end if self.end < self.total else None


def window(segments: Sequence[dict[str, Any]], base_model: str, segment: int, start: int) -> Window:
    """A window of one segment; places outside are moved to the nearest one there is."""
    segment = max(0, min(segment, len(segments) - 1))
    chosen = segments[segment] if segments else {"ids": [], "logprobs": [], "mask": []}
    total = len(chosen["ids"])
    start = max(0, min(start, max(0, total - 1)))
    end = min(total, start + WINDOW)
    ids = chosen["ids"][start:end]
    tokenizer = tokenizer_of(base_model)
    texts = pieces(tokenizer, ids) if tokenizer else [str(one) for one in ids]
    tokens = [
        Token(start + offset, token_id, text, sampled, logprob, surprise(logprob) if sampled else 0)
        for offset, (token_id, text, logprob, sampled) in enumerate(
            zip(ids, texts, chosen["logprobs"][start:end], chosen["mask"][start:end], strict=True)
        )
    ]
    return Window(tokens, segment, len(segments), start, total, tokenizer is not None)


def surprise(logprob: float | None) -> int:
    """0 for a token the model was sure of, up to 5 for one it hardly expected or that has no number."""
    if logprob is None:
        return 5
    probability = exp(min(0.0, logprob))
    return next((level for floor, level in SURE if probability >= floor), 5)


def pieces(tokenizer: Tokenizer, ids: Sequence[int]) -> list[str]:
    """The text of each token. A character spread over several tokens stands at the last of them."""
    texts: list[str] = []
    waiting: list[int] = []
    for token_id in ids:
        waiting.append(token_id)
        text = tokenizer.decode(waiting, skip_special_tokens=False)
        if text.endswith(UNFINISHED) and len(waiting) < 4:
            texts.append("")
            continue
        texts.append(text)
        waiting = []
    return texts


@lru_cache(maxsize=4)
def tokenizer_of(base_model: str) -> Tokenizer | None:
    """The tokenizer of a base model that lies on this machine; None where there is none to read."""
    directory = EMBEDDED if base_model == "embedded" else Path(base_model).expanduser()
    file = directory / "tokenizer.json"
    return Tokenizer.from_file(str(file)) if file.is_file() else None
