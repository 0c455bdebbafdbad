"""Finds an expected text in what an agent or a tool wrote, the way a fair reader would.

Case, kinds of dash, quote and space, Markdown stars, thousands separators and trailing zeros of a
decimal do not matter; word and number boundaries do: "12" is in "order 12." and not in "4128", "12.5",
"12-05" or "-12". What the texts mean is left to the judge.
"""

import re
import unicodedata
from functools import lru_cache

_PLAIN = str.maketrans(dict.fromkeys("‐‑‒–—−", "-") | dict.fromkeys("‘’ʼ", "'") | dict.fromkeys("“”„«»", '"'))
_MARKUP = re.compile(r"[*`]+")
_THOUSANDS = re.compile(r"(?<![\w.,])\d{1,3}(?:[, '\u00a0\u2009\u202f]\d{3})+(?![\w,])")
_DECIMAL = re.compile(r"(?<![\w.,])(\d+)\.(\d+)(?!\w|\.\w)")
_SPACES = re.compile(r"\s+")
_ENDS = " \t.,;:!?。，；：！？、"
_NO_WORD_GAPS = (
    ("\u3040", "\u30ff"),
    ("\u3400", "\u9fff"),
    ("\uac00", "\ud7af"),
    ("\uf900", "\ufaff"),
)


def stands_in(wanted: str, text: str, *, commas_separate: bool = False) -> bool:
    """True if `wanted` stands in `text` as whole words and numbers.

    commas_separate reads "4128,12" as two values (a row of a table) instead of one number.
    """
    needle = normal(wanted, commas_separate).strip(_ENDS)
    if not needle:
        return bool(wanted) and wanted in text
    hay = normal(text, commas_separate)
    at = hay.find(needle)
    while at >= 0:
        if _whole(hay, at, at + len(needle), commas_separate):
            return True
        at = hay.find(needle, at + 1)
    return False


@lru_cache(maxsize=4096)
def normal(text: str, commas_separate: bool = False) -> str:
    """The text with everything taken away that does not matter to a reader."""
    if not commas_separate:
        text = _THOUSANDS.sub(lambda number: re.sub(r"\D", "", number.group()), text)
    text = unicodedata.normalize("NFKC", text).translate(_PLAIN).casefold()
    text = _DECIMAL.sub(_shortest, _MARKUP.sub("", text))
    return _SPACES.sub(" ", text).strip()


def _shortest(number: re.Match[str]) -> str:
    fraction = number.group(2).rstrip("0")
    return f"{number.group(1)}.{fraction}" if fraction else number.group(1)


def _whole(text: str, start: int, end: int, commas_separate: bool) -> bool:
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    return not (
        _joined(text[start], before[::-1], commas_separate)
        or _joined(text[end - 1], after, commas_separate)
        or (text[start].isdigit() and before.endswith("-"))
    )


def _joined(edge: str, beyond: str, commas_separate: bool) -> bool:
    """Whether the word that ends with `edge` goes on into `beyond` (read away from the edge)."""
    if not beyond or not edge.isalnum() or _gapless(edge):
        return False
    if beyond[0].isalnum() or beyond[0] == "_":
        return not _gapless(beyond[0])
    further = beyond[1:2]
    if not further.isalnum() or _gapless(further):
        return False
    digits = edge.isdigit() or further.isdigit()
    if beyond[0] == ",":
        return edge.isdigit() and further.isdigit() and not commas_separate
    return beyond[0] in "@." or (beyond[0] in "-:" and digits)


def _gapless(character: str) -> bool:
    """Chinese, Japanese and Korean are written without gaps between words."""
    return any(low <= character <= high for low, high in _NO_WORD_GAPS)
