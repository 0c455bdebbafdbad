"""Which message a token belongs to: stretches of tokens that were all given, or all drawn.

Stored are token ids with a mask, and messages; nobody noted which belongs to which. Every turn of the agent
is one stretch of drawn tokens, in order, so the last stretch is its last message, and so on backwards:
what the agent "said" before the try began (examples in a scenario) was never drawn.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any


@dataclass(frozen=True)
class Stretch:
    """Tokens `start` up to `end` of one segment, all drawn or all given.

    A drawn one is message `message`; a given one brings the messages `first` up to, not including,
    `message`. `message` is None where there are more stretches than messages to tell them by.
    """

    start: int
    end: int
    drawn: bool
    first: int
    message: int | None

    @property
    def length(self) -> int:
        return self.end - self.start


def stretches(
    segments: Sequence[Mapping[str, Any]], messages: Sequence[Mapping[str, Any]]
) -> list[list[Stretch]]:
    """Of each segment in order."""
    runs = [_runs(segment["mask"]) for segment in segments]
    turns = iter(_turns(messages, sum(drawn for each in runs for _start, _end, drawn in each)))
    return [
        _told(each, [next(turns) if drawn else None for *_places, drawn in each], len(messages))
        for each in runs
    ]


def _told(runs: Sequence[tuple[int, int, bool]], numbers: Sequence[int | None], after: int) -> list[Stretch]:
    """A given stretch leads up to the message that is drawn next, or to the end of the messages."""
    first, found = 0, []
    for (start, end, drawn), number, following in zip(runs, numbers, [*numbers[1:], after], strict=True):
        begins = first if number is None else number
        found.append(Stretch(start, end, drawn, begins, number if drawn else following))
        first = first if number is None else number + 1
    return found


def drawn_messages(messages: Sequence[Mapping[str, Any]], segments: Sequence[Mapping[str, Any]]) -> list[int]:
    """Numbers of the messages that the agent said in this try, in order."""
    count = sum(drawn for segment in segments for _start, _end, drawn in _runs(segment["mask"]))
    return [number for number in _turns(messages, count) if number is not None]


def _turns(messages: Sequence[Mapping[str, Any]], count: int) -> list[int | None]:
    """The last `count` messages of the agent; None in front where there are too few."""
    said = [number for number, message in enumerate(messages) if message.get("role") == "assistant"]
    missing: list[int | None] = [None] * max(0, count - len(said))
    return [*missing, *said[max(0, len(said) - count) :]]


def _runs(mask: Iterable[object]) -> list[tuple[int, int, bool]]:
    """Start, end and kind of everything alike."""
    found, start = [], 0
    for drawn, alike in groupby(map(bool, mask)):
        end = start + sum(1 for _ in alike)
        found.append((start, end, drawn))
        start = end
    return found
