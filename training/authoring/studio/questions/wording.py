"""Words for a draft: a phrasing that was used little so far, the person's own names and values in it."""

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from types import ModuleType

from training.authoring.studio.questions import phrasings, phrasings_zh
from training.authoring.studio.questions.drafts import Draft
from training.authoring.studio.questions.nouns import ROW, ROW_ZH

SPACED = 0.25
"""How often a column's name is said with spaces for its underscores."""
_PLACE = re.compile(r"\{(\w+)\}")


def worded(draft: Draft, rng: random.Random, used: Counter[tuple[str, str]], language: str) -> str:
    """The question in words. `used` counts the phrasings that were taken."""
    said = phrasings_zh if language.startswith("zh") else phrasings
    fill = {name: _column(rng, name, value) for name, value in draft.words.items()}
    fill["noun"], fill["nouns"] = draft.view.nouns
    if draft.named:
        form = _least_used(rng, used, "row", _row_forms(draft, said))
        fill["row"] = _filled(form, {**fill, "key_column": draft.named[0], "key": draft.named[1]})
    if draft.more:
        fill["more"] = rng.choice(said.MORE[draft.more])
    text = _filled(_least_used(rng, used, draft.form, said.ASKING[draft.form]), fill)
    text = _quoted_before_full_stops(text, [*draft.words.values(), *(draft.named or ())])
    if text.startswith("the "):
        text = "T" + text[1:]
    asks_for_one = rng.choice(said.ONLY_ONE) if draft.form == "compare" else ""
    before = rng.choice(said.BEFORE)
    return before + text + asks_for_one + ("" if asks_for_one else rng.choice(said.AFTER))


def _quoted_before_full_stops(text: str, values: Sequence[str]) -> str:
    """A value that holds a dot, such as an address, is quoted where a full stop would seem a part of it."""
    for value in values:
        if "." in value:
            text = re.sub(rf"(?<!“)({re.escape(value)})\.(?=\s|$)", r"“\1”.", text)
    return text


def _row_forms(draft: Draft, said: ModuleType) -> Sequence[str]:
    """A row whose table has no telling name is named by column and value."""
    by_key = draft.named is not None and draft.named[0] == draft.view.key
    nameless = draft.view.nouns in (ROW, ROW_ZH)
    return said.ROWS if by_key and not nameless else said.OTHER_ROWS


def _column(rng: random.Random, place: str, name: str) -> str:
    """A column's name, now and then with spaces; values stay as they are."""
    if place.startswith(("column", "key_column")) and name.isascii() and rng.random() < SPACED:
        return name.replace("_", " ").strip() or name
    return name


def _least_used(rng: random.Random, used: Counter[tuple[str, str]], form: str, choices: Sequence[str]) -> str:
    fewest = min(used[form, choice] for choice in choices)
    choice = rng.choice([choice for choice in choices if used[form, choice] == fewest])
    used[form, choice] += 1
    return choice


def _filled(form: str, fill: Mapping[str, str]) -> str:
    """The form with its places filled; a space parts Chinese words from Latin ones and from numbers."""
    parts = _PLACE.split(form)
    text = ""
    for at, part in enumerate(parts):
        piece = fill[part] if at % 2 else part
        text += (" " if _touch(text[-1:], piece[:1]) else "") + piece
    return text


def _touch(before: str, after: str) -> bool:
    """Whether a Chinese sign meets a letter or digit of another script, or two words would grow together."""
    if not before or not after or not before.isalnum() or not after.isalnum():
        return False
    return not (_chinese(before) and _chinese(after))


def _chinese(sign: str) -> bool:
    return "\u3400" <= sign <= "\u9fff"
