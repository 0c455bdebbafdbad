"""What the rows of a table are called, from the name a person gave the table.

English plurals get their singular; a name that is not English stays as it is, for one row and for many.
"""

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ROW = ("row", "rows")
ROW_ZH = ("记录", "记录")
GENERIC = _words("""
    table sheet data dataset file list export untitled csv book worksheet tabelle daten tabla
    datos feuille tableau liste arkusz лист таблица данные 表 数据 工作表 列表 清单 データ シート 시트 데이터
""")
"""Names that say nothing about the rows."""
_TRAILING = _words("""
    export final copy list table data dataset csv all new old v1 v2 v3 sheet
""")
_TRAILING_ZH = ("数据表", "列表", "清单", "名单", "数据", "表")
_IRREGULAR = {
    "people": "person",
    "children": "child",
    "men": "man",
    "women": "woman",
    "criteria": "criterion",
    "movies": "movie",
    "cookies": "cookie",
    "caches": "cache",
    "axes": "axis",
    "analyses": "analysis",
    "buses": "bus",
    "statuses": "status",
    "bonuses": "bonus",
    "viruses": "virus",
    "quizzes": "quiz",
    "leaves": "leaf",
    "shelves": "shelf",
}
_UNCHANGED = _words("""
    news series species stock inventory staff equipment furniture software
""")
_COMMON = _words("""
    account address agent animal appointment article asset author bill book booking branch
    building call campaign car category city claim class client company complaint contact
    contract country course customer delivery department device doctor document driver employee
    event expense flight game guest hotel invoice issue item job lead lesson line loan machine
    meeting member message movie offer office order parcel part patient payment person phone
    plant player policy position post price problem product project property purchase question
    quote rate recipe record region rental request reservation restaurant return review role room
    sale sample school section seller seminar sensor service shipment shop song station store
    student subscription supplier survey task teacher team tenant test ticket tour train
    transaction trip unit user vehicle vendor venue visit warehouse worker
""")
_PLURALS = {singular: plural for plural, singular in _IRREGULAR.items()}


def nouns_for(name: str, language: str = "en") -> tuple[str, str]:
    """What one row and several rows of the table `name` are called."""
    fallback = ROW_ZH if language.startswith("zh") else ROW
    said = _said(name)
    if not any(sign.isalpha() for sign in said) or said.casefold() in GENERIC or len(said) > 40:
        return fallback
    if not said.isascii():
        return said, said
    one, many = _number(said)
    return (one, one) if language.startswith("zh") else (one, many)


def _said(name: str) -> str:
    """The name in words, without what people add to file names."""
    spaced = re.sub(r"([a-z])([A-Z])", r"\1 \2", re.sub(r"[\W_]+", " ", name)).strip()
    words = spaced.split()
    while len(words) > 1 and (words[-1].isdigit() or words[-1].casefold() in _TRAILING):
        words.pop()
    while words and words[0].isdigit():
        words.pop(0)
    if words and _plain_english(words):
        words = [word.lower() if word.istitle() else word for word in words]
    said = " ".join(words)
    for ending in _TRAILING_ZH:
        if said.endswith(ending) and len(said) > len(ending):
            return said.removesuffix(ending)
    return said


def _plain_english(words: list[str]) -> bool:
    """Whether the last word looks like an English plural: others may be German nouns, which keep capitals."""
    last = words[-1].lower()
    return last.isascii() and (last in _IRREGULAR or _singular(last) != last)


def _number(said: str) -> tuple[str, str]:
    """Singular and plural of an ASCII name, by its last word."""
    head, _, last = said.rpartition(" ")
    lead = f"{head} " if head else ""
    if last.lower() in _COMMON or last.lower() in _PLURALS:
        return said, lead + _plural(last)
    return lead + _singular(last), said


def _plural(word: str) -> str:
    """Of a common English word."""
    low = word.lower()
    if low in _PLURALS:
        return _PLURALS[low]
    if low.endswith("y") and low[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if low.endswith(("s", "x", "z", "ch", "sh")) else "s")


def _singular(word: str) -> str:
    low = word.lower()
    if low in _IRREGULAR:
        return _IRREGULAR[low]
    if low in _UNCHANGED or len(low) < 4 or not low.endswith("s"):
        return word
    if low.endswith(("ss", "us", "is", "as", "os")):
        return word
    if low.endswith("ies") and len(low) > 4:
        return word[:-3] + "y"
    if low.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    return word[:-1]
