"""Which values a question can be about, and which texts would give away an answer that hedges.

A value is compared as the checks compare it (`judging.matching`), so what is promised here holds there.
"""

import unicodedata
from collections.abc import Iterable, Sequence

from judging.matching import stands_in

LONGEST = 60
"""Characters of a value that is asked for or asked about."""
MOST_HEDGES = 8
FRAMES = (
    "a an the is are was were be it its this that of for in on at to by as from with and or not no yes i we "
    "you he she they there here has have had do does did can could will would about all any one two each "
    "found find look looked up row rows record records table value values name entry column count answer "
    "according same other which what who when where how many much more number total only "
    "是 否 有 无 的 了 在 和 与 为 个 不 没 一 条 共 它 这 那 该 中 里 值 名 表 行 列 "
    "记录 结果 答案 根据 查询 数量 共有"
)
"""Words that right answers use as well; a value that is one of them tells nothing."""
ABSENT = (
    "not find",
    "not found",
    "couldn't find",
    "can't find",
    "cannot find",
    "didn't find",
    "unable to find",
    "unable to locate",
    "no rows",
    "no row",
    "no such",
    "no record",
    "no records",
    "no entry",
    "no match",
    "no matching",
    "no results",
    "not exist",
    "doesn't exist",
    "don't exist",
    "not listed",
    "not in the table",
    "没有找到",
    "没找到",
    "未找到",
    "找不到",
    "查不到",
    "没有查到",
    "没查到",
    "未查到",
    "查无",
    "不存在",
    "没有这",
    "没有该",
    "没有相关",
    "没有符合",
    "没有对应",
    "没有任何",
    "无此",
)
"""How an answer says that there is no such row; what no other answer says."""
ABSENT_TOO = (
    "nothing",
    "there is no",
    "there's no",
    "there are no",
    "no data",
    "isn't in",
    "is not in",
    "没有",
)
"""What says so as well, but may stand in other answers."""


def flat(cell: str) -> str:
    """A cell on one line, as tools show it."""
    return " ".join(cell.split())


def usable(value: str) -> bool:
    """Whether a question can name this value, or ask for it: short, visible, and something to read."""
    if not 0 < len(value) <= LONGEST or not any(sign.isalnum() for sign in value):
        return False
    return value == flat(value) and not any(unicodedata.category(sign)[0] == "C" for sign in value)


def telling(value: str) -> bool:
    """Whether an answer that says this value says something: not a word of every sentence, nor a letter."""
    if not usable(value) or (len(value) == 1 and value.isascii() and not value.isdigit()):
        return False
    return not stands_in(value, FRAMES)


def apart(texts: Sequence[str]) -> bool:
    """Whether none of the texts stands in another."""
    return not any(
        stands_in(text, other) for at, text in enumerate(texts) for i, other in enumerate(texts) if i != at
    )


def hedges(candidates: Iterable[str], right: Sequence[str], heard: str, most: int = MOST_HEDGES) -> list[str]:
    """The first `most` candidates that no right answer says.

    `right` are the right answers, `heard` is what an agent may say again without harm: the question, names.
    """
    chosen: dict[str, str] = {}
    for candidate in candidates:
        if len(chosen) == most:
            break
        said = any(stands_in(candidate, text) for text in (*right, heard))
        if not said and telling(candidate):
            chosen.setdefault(candidate.casefold(), candidate)
    return list(chosen.values())
