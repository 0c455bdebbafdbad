"""Which encoding a text file is in, and its text."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from charset_normalizer import from_bytes

from gpu_worker.tools.tables.sheet import TableError

ENCODINGS = (
    "utf-8", "utf-16", "gb18030", "big5", "cp932", "euc_jp", "cp949", "cp1252", "latin-1", "cp1250", "cp1251",
    "koi8-r", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp874",
)  # fmt: skip
"""What a person may choose. Python's names."""
SAMPLE = 64 * 2**10
"""Bytes a guess is made from."""
PIECE = 2**18
"""Bytes decoded at once."""
MOST_BAD = 100
"""Bytes that may be no text, besides one in twenty."""
REPLACED = "\ufffd"
"""Stands where a byte is no text in the encoding."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_GUESSED = [name for name in ENCODINGS if name not in ("utf-8", "utf-16")]
_BETWEEN = re.compile(rb"[0-9,;|\t\r\n\"]+")
_WITHIN_WORDS = re.compile(r"[^\W\d_][³¹¿][^\W\d_]|£[a-zó]")
_NO_ASCII = re.compile("[^\x00-\x7f]")
_COMMON_KOREAN = re.compile(
    "[이가는을를의에은하고지기리사인대자시정보전도로서아일해한구상제주연수어부장명번호객품문태완료성"
    "김박최강조윤임오신권황안송류홍원화동영민경남북광산울천세종용우소미국나라거무중간계회생선물배송"
    "금액결학교과단공방식비안내유형등급분여반내발행입출년월요목록코드]"
)
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True)
class Decoded:
    """A file's text, the name of its encoding, and how many control characters became spaces."""

    text: str
    encoding: str
    controls: int


def decoded(raw: bytes, wanted: str = "") -> Decoded:
    """The text of a file; `wanted` is the encoding a person chose. Raises TableError."""
    if wanted and wanted not in ENCODINGS:
        raise TableError(f"The encoding {wanted[:40]} is not known. Known are {', '.join(ENCODINGS)}.")
    marked, start = _marked(raw)
    if wanted == "utf-16":
        name = marked if "16" in marked else _wide(raw)
    else:
        name = wanted or marked or _guessed(raw)
    return _decoded(raw, start, name)


def without_controls(text: str) -> tuple[str, int]:
    """The text with a space for every control character and half surrogate pair, and how many there were."""
    return _CONTROLS.subn(" ", text)


def _decoded(raw: bytes, start: int, name: str) -> Decoded:
    """The bytes from `start` on, piece by piece, as long as most of them are text."""
    decoder = codecs.getincrementaldecoder(name)(errors="replace")
    pieces: list[str] = []
    length = controls = bad = 0
    for at in range(start, len(raw), PIECE):
        text = decoder.decode(raw[at : at + PIECE], final=at + PIECE >= len(raw))
        text, found = without_controls(text)
        pieces.append(text)
        length, controls, bad = length + len(text), controls + found, bad + text.count(REPLACED)
        if bad + controls > MOST_BAD + length / 20:
            told = f"More than {bad + controls:,} bytes are no text in {name}."
            raise TableError(f"{told} Save the table as CSV in UTF-8.")
    return Decoded("".join(pieces), name, controls)


def _marked(raw: bytes) -> tuple[str, int]:
    """The encoding a byte order mark names, and the mark's length."""
    return next(((name, len(mark)) for mark, name in _MARKS if raw.startswith(mark)), ("", 0))


def _guessed(raw: bytes) -> str:
    text = raw.decode("utf-8", errors="replace")
    bad = text.count(REPLACED)
    if b"\x00" in raw[:SAMPLE]:
        return _wide(raw)
    if bad == 0 or bad * 20 <= len(raw) - len(text):
        return "utf-8"
    lines = _telling(raw)
    for sample in (lines, _different_cells(lines)):
        best = from_bytes(sample, cp_isolation=_GUESSED).best()
        if best:
            return _likelier(_python_name(best.encoding), sample)
    return "cp1252"


def _wide(raw: bytes) -> str:
    """UTF-16 without a mark: the zero bytes of common characters stand on one side."""
    even, odd = raw[0:SAMPLE:2].count(0), raw[1:SAMPLE:2].count(0)
    if min(even, odd) * 4 > max(even, odd) or max(even, odd) * 4 < min(len(raw), SAMPLE) / 2:
        raise TableError("This is not a text file: it has zero bytes. Save the table as CSV in UTF-8.")
    return "utf-16-be" if even > odd else "utf-16-le"


def _telling(raw: bytes) -> bytes:
    """Lines that are not plain ASCII tell more about the encoding than others."""
    found, size = [], 0
    for line in raw[: 16 * SAMPLE].splitlines(keepends=True):
        if not line.isascii():
            found.append(line[:SAMPLE])
            size += len(found[-1])
        if size > SAMPLE:
            break
    return b"".join(found) or raw[:SAMPLE]


def _different_cells(lines: bytes) -> bytes:
    """Each cell once and without figures: what repeats in every row looks like noise to the guess."""
    return b" ".join(dict.fromkeys(_BETWEEN.sub(b"\n", lines).splitlines()))


def _likelier(name: str, sample: bytes) -> str:
    """The encoding itself, or one that is often taken for it.

    Polish letters stand where western encodings have signs, which do not stand within words. Chinese read as
    Korean is made of syllables that Koreans hardly ever write.
    """
    text = sample.decode(name, "replace")
    if name in ("cp1252", "latin-1") and _WITHIN_WORDS.search(text):
        return "cp1250"
    if name == "cp949" and len(_COMMON_KOREAN.findall(text)) * 5 < len(_NO_ASCII.findall(text)):
        return "gb18030"
    return name


def _python_name(name: str) -> str:
    return "latin-1" if name == "latin_1" else name.replace("koi8_r", "koi8-r")
