"""The tokens of a try, as the model saw and sampled them, a window at a time.

Needs only the tokenizer file of the base model; torch is never loaded here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

import gpu_worker
from training.review.tries.measured import Values, ratio
from training.review.tries.spoken import Stretch

WINDOW = 400
"""Tokens of the table at a time."""
STRIP = 16_384
"""Tokens a browser draws at a time."""
OVERVIEW = 240
"""Bars of the overview."""
EMBEDDED = Path(gpu_worker.__file__).parent / "engines" / "embedded" / "weights"
UNFINISHED = "\ufffd"


@dataclass(frozen=True)
class Token:
    place: int
    id: int
    text: str
    sampled: bool
    logprob: float | None
    entropy: float | None
    ratio: float | None
    """Importance by the checkpoint that was asked. Like the entropy None where nothing was measured."""

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


def window(
    segments: Sequence[Mapping[str, Any]],
    base_model: str,
    segment: int,
    start: int,
    measured: Sequence[Values] = (),
) -> Window:
    """A window of one segment; places outside are moved to the nearest one there is."""
    segment = max(0, min(segment, len(segments) - 1))
    chosen = segments[segment] if segments else {"ids": [], "logprobs": [], "mask": []}
    total = len(chosen["ids"])
    start = max(0, min(start, max(0, total - 1)))
    end = min(total, start + WINDOW)
    ids, logprobs = chosen["ids"][start:end], chosen["logprobs"][start:end]
    tokenizer = tokenizer_of(base_model)
    texts = pieces(tokenizer, ids) if tokenizer else [str(one) for one in ids]
    found = _measured(measured, segment, logprobs, start) or _nothing(len(ids))
    columns = (ids, texts, chosen["mask"][start:end], logprobs, found["entropies"], found["ratios"])
    tokens = [Token(start + offset, *column) for offset, column in enumerate(zip(*columns, strict=True))]
    return Window(tokens, segment, len(segments), start, total, tokenizer is not None)


def strip(
    segments: Sequence[Mapping[str, Any]],
    stretches: Sequence[Sequence[Stretch]],
    base_model: str,
    segment: int,
    start: int,
    measured: Sequence[Values] = (),
) -> dict[str, Any]:
    """Up to STRIP tokens of one segment for a browser to draw, as compact as JSON can be.

    `stretches` are [start, end, drawn, first message, message] and, as the overview does, span the whole
    segment. An overview's bar is the largest surprise (−log probability) of its share of the tokens.
    "entropies" and "ratios" (importance) are there if they were measured.
    """
    segment = max(0, min(segment, len(segments) - 1))
    chosen = segments[segment] if segments else {"ids": [], "logprobs": [], "mask": []}
    total = len(chosen["ids"])
    start = max(0, min(start, max(0, total - 1))) // STRIP * STRIP
    ids, tokenizer = chosen["ids"][start : start + STRIP], tokenizer_of(base_model)
    logprobs = chosen["logprobs"][start : start + STRIP]
    return {
        "segment": segment,
        "start": start,
        "total": total,
        "readable": tokenizer is not None,
        "ids": ids,
        "texts": pieces(tokenizer, ids) if tokenizer else [str(one) for one in ids],
        "logprobs": logprobs,
        "stretches": [
            [one.start, one.end, int(one.drawn), one.first, one.message]
            for one in (stretches[segment] if segments else ())
        ],
        "overview": overview(chosen["logprobs"], chosen["mask"]),
        **_measured(measured, segment, logprobs, start),
    }


def _measured(
    measured: Sequence[Values], segment: int, logprobs: Sequence[float | None], start: int
) -> dict[str, list[float | None]]:
    """Entropy and importance of the tokens from `start` on, of which these are the sampler's logprobs."""
    if not measured:
        return {}
    part = slice(start, start + len(logprobs))
    ratios = map(ratio, measured[segment]["logprobs"][part], logprobs)
    return {
        "entropies": [_rounded(value, 4) for value in measured[segment]["entropies"][part]],
        "ratios": [_rounded(value, 6) for value in ratios],
    }


def _nothing(length: int) -> dict[str, list[float | None]]:
    return {"entropies": [None] * length, "ratios": [None] * length}


def _rounded(value: float | None, places: int) -> float | None:
    return None if value is None else round(value, places)


def overview(logprobs: Sequence[float | None], mask: Sequence[object]) -> list[float]:
    """The largest surprise of each share of a segment, in nats; 0 where nothing was drawn."""
    apart = max(1, -(-len(mask) // OVERVIEW))
    drawn = [-(value or 0.0) if one else 0.0 for value, one in zip(logprobs, mask, strict=True)]
    return [round(max(0.0, *drawn[at : at + apart]), 2) for at in range(0, len(drawn), apart)]


def pieces(tokenizer: Tokenizer, ids: Sequence[int]) -> list[str]:
    """The text of each token. A character spread over several tokens stands at the last of them."""
    different = list(dict.fromkeys(ids))
    alone = tokenizer.decode_batch([[one] for one in different], skip_special_tokens=False)
    whole = {one: text for one, text in zip(different, alone, strict=True) if not text.endswith(UNFINISHED)}
    texts: list[str] = []
    waiting: list[int] = []
    for token_id in ids:
        if not waiting and token_id in whole:
            texts.append(whole[token_id])
            continue
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
