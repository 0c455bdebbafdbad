"""Which texts ask the same thing: the same words but for order, politeness and little words."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ALIKE = 0.85
"""Two texts with this share of their telling words in common ask the same."""
_WORD = re.compile(r"[^\W_]+(?:[.,:/@_'-][^\W_]+)*")
_CHINESE = re.compile("[\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
_LITTLE = _words("""
    a an the is are was were be been being it its it's this that these those of for in on at to
    by as from with and or i you we me my your our he she they them his her their have has had do
    does did can could will would should may might please hi hello hey thanks thank good morning
    tell give show find look looking up let know need needs want wanted question quick one more
    so just what what's which who whose when where how much many there here out check get see
    sorry now than then s t m
""")
_LITTLE_SIGNS = re.compile(
    "请问|请|麻烦|帮我|告诉我|我想知道|我需要|查一下|查询|统计一下|一下|是什么|什么|多少|谢谢|你好|您好|能|吗|呢|的|了|是|为"
    "|在|和|我|你|您|有|哪|条|个|一|那|这"
)
MOST_NEAR = 400
"""Texts that one is compared with, those that came last; beyond that, texts differ too little to tell."""
Content = frozenset[tuple[str, int]]
"""The telling words of a text, each with how often it came before."""


def content(text: str) -> Content:
    """Whole words, and pairs of signs where words have no gaps."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    words = [word for word in _WORD.findall(_CHINESE.sub(" ", plain)) if word not in _LITTLE]
    signs = [part for run in _CHINESE.findall(plain) for part in _LITTLE_SIGNS.sub(" ", run).split()]
    words += [part[at : at + 2] for part in signs for at in range(max(1, len(part) - 1))]
    seen: Counter[str] = Counter()
    found = []
    for word in words or [plain.strip()]:
        found.append((word, seen[word]))
        seen[word] += 1
    return frozenset(found)


class Texts:
    """Texts that are there already; tells which of them ask the same as another."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._count = 0
        self._first: dict[Content, int] = {}
        self._contents: dict[int, Content] = {}
        self._with: dict[tuple[str, int], list[int]] = defaultdict(list)
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        words = content(text)
        number = self._count
        self._count += 1
        if words not in self._first:
            self._first[words] = number
            self._contents[number] = words
            for word in words:
                self._with[word].append(number)

    def like(self, text: str) -> list[int]:
        """Numbers, in the order of adding, of texts that ask the same: of equal ones only the first."""
        words = content(text)
        if words in self._first:
            return [self._first[words]]
        return sorted(number for number in self._near(words) if _alike(words, self._contents[number]))

    def _near(self, words: Content) -> set[int]:
        """Texts that may be alike: they share one of the rarest words, as all but a few must be shared."""
        unshared = int(len(words) * (1 - ALIKE)) + 1
        postings = sorted((self._with.get(word, []) for word in words), key=len)[:unshared]
        return {number for posting in postings for number in posting[-MOST_NEAR:]}


def _alike(one: Content, other: Content) -> bool:
    """Whether nearly all words are the same, and every number and name with a digit."""
    shared = len(one & other)
    if shared < ALIKE * (len(one) + len(other) - shared):
        return False
    return not any(_numbered(word) for word, _ in one ^ other)


def _numbered(word: str) -> bool:
    return any(sign.isdigit() for sign in word)


def duplicates(texts: Iterable[str]) -> list[tuple[int, int]]:
    """Pairs of positions (earlier, later) of texts that ask the same; of equal ones each with the first."""
    known = Texts()
    found: list[tuple[int, int]] = []
    for at, text in enumerate(texts):
        found += [(other, at) for other in known.like(text)]
        known.add(text)
    return found
