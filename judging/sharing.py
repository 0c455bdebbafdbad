"""What stands in several places of a judge's prompt is written once and referred to.

Two ways: a line that comes again is a name from then on (`=k7`), and texts that differ only in some words
(boards, forms, status reports) are written as those words after the name of their form (`=k7 "2 4 _ 8"`).
A name follows from a hash of what it stands for and of the prompt's mark, so nobody knows it beforehand, and
it counts only outside of quotes, where no text of a try ever stands.
"""

import hashlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from judging.quoting import shown

NAME = re.compile(r"^=[a-z]\d{0,4}(?= \"|$)", re.MULTILINE)
"""A reference, the only thing a line can begin with that is not one of our own words."""

_TEXT = re.compile(r'^(system|user|assistant|result|other): (".*")$', re.DOTALL)
_WORD = re.compile(r"\w+")
_PADDING = re.compile(r"[ \t]*([^\w\s])[ \t]*|[ \t]{2,}")
_PIECE = re.compile(r" ?[^\W\d_]{1,8}| ?_|\d{1,3}|[^\w\s]{1,2}|\s")
_LETTERS = "bcdfghjkmnpqrstvwxz"

REFERENCE = 3
"""Tokens a reference costs, about."""
FEWEST_WORDS, MOST_WORDS = 6, 400
FEWEST_TEXTS = 3
"""A form must have so many words to fill in and be used by so many texts."""


@dataclass(frozen=True)
class Shared:
    """`tries` with references in them, and the definitions these refer to, in the order of first use."""

    definitions: tuple[str, ...]
    tries: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class _Form:
    """Texts with the same words at the same places, but for those at `open_`."""

    head: str
    marks: tuple[str, ...]
    words: tuple[str, ...]
    open_: tuple[int, ...]

    def outline(self) -> str:
        """The text with … where the words differ."""
        words = ["…" if place in self.open_ else word for place, word in enumerate(self.words)]
        between = [mark + word for mark, word in zip(self.marks, words, strict=False)]
        return f"{self.head} form {shown(''.join(between) + self.marks[-1])}"


def share(tries: Sequence[Sequence[str]], mark: str) -> Shared:
    """The lines of the tries, what is in several places of them taken out where that is shorter."""
    counts = Counter(line for lines in tries for line in lines)
    namer = _Namer(mark)
    formed = _formed(counts, namer)
    written = {line: short for line, (_, short) in formed.items()}
    again = {
        line: namer.name(line)
        for line, count in counts.most_common()
        if _worth(written.get(line, line), count)
    }
    forms = dict.fromkeys(definition for definition, _ in formed.values())
    texts = [f"{name} is {written.get(line, line)}" for line, name in again.items()]
    short = written | again
    return Shared((*forms, *texts), tuple(tuple(short.get(line, line) for line in lines) for lines in tries))


class _Namer:
    """Names that follow from what they stand for, each given once; whoever comes first has the shorter."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._given: set[str] = set()

    def name(self, what: str) -> str:
        for attempt in itertools.count():
            said = f"{self._mark}\0{attempt}\0{what}".encode("utf-8", "surrogatepass")
            number, letter = divmod(int.from_bytes(hashlib.sha256(said).digest()), len(_LETTERS))
            digits = str(number % 10 ** min(attempt, 4)) if attempt else ""
            name = f"={_LETTERS[letter]}{digits}"
            if name not in self._given:
                break
        self._given.add(name)
        return name


def _worth(line: str, count: int) -> bool:
    """Whether `count` references and the definition are shorter than the line so many times."""
    return count * _length(line) > _length(line) + (count + 2) * REFERENCE


def _length(text: str) -> int:
    """Tokens, about: no tokenizer is loaded for this."""
    return len(_PIECE.findall(text))


def _formed(lines: Iterable[str], namer: _Namer) -> dict[str, tuple[str, str]]:
    """For each line that a form shortens: the form's definition and the line written with it."""
    alike: dict[tuple[str, tuple[str, ...]], list[tuple[str, tuple[str, ...]]]] = {}
    for line in lines:
        found = _taken_apart(line)
        if found:
            head, marks, words = found
            alike.setdefault((head, marks), []).append((line, words))
    formed: dict[str, tuple[str, str]] = {}
    for (head, marks), members in alike.items():
        if len(members) < FEWEST_TEXTS:
            continue
        form = _Form(head, marks, members[0][1], _open([words for _, words in members]))
        formed |= _written_with(form, members, namer)
    return formed


def _written_with(
    form: _Form, members: list[tuple[str, tuple[str, ...]]], namer: _Namer
) -> dict[str, tuple[str, str]]:
    outline = form.outline()
    filled = {line: " ".join(words[place] for place in form.open_) for line, words in members}
    after = sum(_length(words) + REFERENCE for words in filled.values()) + _length(outline) + REFERENCE
    if not form.open_ or after >= sum(map(_length, filled)):
        return {}
    name = namer.name(outline)
    return {line: (f"{name} is {outline}", f"{name} {shown(words)}") for line, words in filled.items()}


def _open(texts: Sequence[tuple[str, ...]]) -> tuple[int, ...]:
    """The places at which the texts differ; all of them where most do, so that a board is read whole."""
    differing = [place for place, words in enumerate(zip(*texts, strict=True)) if len(set(words)) > 1]
    return tuple(differing if 2 * len(differing) < len(texts[0]) else range(len(texts[0])))


def _taken_apart(line: str) -> tuple[str, tuple[str, ...], tuple[str, ...]] | None:
    """Whose text it is, what stands between its words, and the words; None where it is not a plain text."""
    found = _TEXT.match(line)
    if not found:
        return None
    text = _PADDING.sub(lambda padding: padding.group(1) or " ", json.loads(found.group(2)))
    words = tuple(_WORD.findall(text))
    if not FEWEST_WORDS <= len(words) <= MOST_WORDS or "…" in text:
        return None
    return found.group(1), tuple(_WORD.split(text)), words
