"""Words that mean nothing, in the letters of many languages, so that a model has to copy what it reads.

Only spelling: `registers` makes columns, values and tables of it. No word here is meant to be a real one;
the syllables merely sound like the language they are named after.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from gpu_worker.engines.embedded.recipe import words
from gpu_worker.engines.embedded.recipe.words import listed

Rng = random.Random


SYLLABLES: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "english": (
        listed(
            "b bl br c ch cl cr d dr f fl fr g gr h j k l m n p pl pr qu r s sh sl sp st t th tr v w wh y z"
        ),
        listed("a e i o u ai ea ee ou oo oa ie"),
        ("", "", "", "n", "r", "l", "s", "t", "ck", "nd", "st", "m", "p", "ng", "x"),
    ),
    "german": (
        listed("b br d f g gl h k kn kr l m n p pf r s sch schl sp st t tr v w z zw"),
        listed("a a e e i o u ä ö ü au ei ie"),
        ("", "", "", "", "", "n", "n", "r", "l", "t", "ng", "ß", "ch", "cht", "rt", "ck", "tz", "nd"),
    ),
    "romance": (
        listed("b c ch d f g gu h j l ll m n ñ p qu r s t v x z ç br cr pr tr pl"),
        listed("a e i o u é è á í ó ú ã õ â ê î ô à ù ia eau oi ão"),
        ("", "", "", "", "s", "n", "r", "l", "z", "m", "x"),
    ),
    "slavic": (
        listed("b c cz č d ď dz g h j k l ł m n ń p r ř rz s ś sz š t v w z ż ź ž"),
        listed("a e i o u y ą ę ó á é í ě ů ý ő ű"),
        ("", "", "", "n", "k", "c", "ł", "š", "wicz", "sk", "r", "m"),
    ),
    "nordic": (
        listed("b bj d f fj g h j k kj l m n p r s sj sk st t tv v ş ğ ð þ"),
        listed("a e i o u y å ä ö ø æ ı ü ee aa"),
        ("", "", "", "n", "r", "l", "t", "gg", "ng", "rd", "k", "sen"),
    ),
    "cyrillic": (
        listed("б в г д ж з к л м н п р с т ф х ц ч ш щ ст пр кр тр вл й"),
        listed("а е и о у ы э ю я ё"),
        ("", "", "", "н", "р", "л", "т", "й", "ль", "ск", "ст", "в", "м"),
    ),
    "greek": (
        listed("β γ δ ζ θ κ λ μ ν ξ π ρ σ τ φ χ ψ"),
        listed("α ε η ι ο υ ω ά έ ί ό"),
        ("", "", "", "ς", "ν", "ρ"),
    ),
}
IDEOGRAPHS = (0x4E00, 0x9F00)
KANA = ((0x3042, 0x3094), (0x30A2, 0x30F3))
HANGUL = (0xAC00, 0xD7A3)
ARABIC = (0x0627, 0x064A)
SHARES = (
    ("english", 30),
    ("german", 17),
    ("romance", 12),
    ("cyrillic", 12),
    ("chinese", 12),
    ("japanese", 5),
    ("slavic", 4),
    ("nordic", 4),
    ("greek", 2),
    ("korean", 1),
    ("arabic", 1),
)
SPACED = ("english", "romance", "cyrillic", "slavic", "nordic", "greek", "german")
"""Scripts whose names may be of two words."""
LETTERS = "".join(
    (
        "".join(map(chr, range(0x00C0, 0x0100))),
        "".join(map(chr, range(0x0410, 0x0450))),
        "Ёё°§·ąćęłńśźżŁŚŻčďěňřšťůžČŘŠŽőűăğışŞİĞāēīū",
    )
)
"""Letters of two bytes that get a token of their own."""


def some_script(rng: Rng) -> str:
    """One of the scripts, common ones more often."""
    names, weights = zip(*SHARES, strict=True)
    return rng.choices(names, weights)[0]


KNOWN = tuple(
    word.lower()
    for word in (
        *(*words.THINGS, *words.PEOPLE, *words.STATES, *words.KINDS, *words.TOWNS, *words.SHOPS),
        *(*words.GIVEN_NAMES, *words.FAMILY_NAMES),
    )
    if word.isalpha()
)
SPLICED = {"english": 0.5, "german": 0.3, "romance": 0.5, "slavic": 0.2, "nordic": 0.2}
"""How often a word of a script is spliced of two known ones."""


def spliced(rng: Rng, script: str) -> str:
    """The beginning of one known word and the end of another, with one accent where the script has them.

    Such words are cut into the tokens of real ones, which is where a model is tempted to guess.
    """
    first, second = rng.choice(KNOWN), rng.choice(KNOWN)
    word = first[: rng.randint(2, 5)] + second[rng.randint(0, 2) :][-rng.randint(2, 5) :]
    accented = [vowel for vowel in SYLLABLES[script][1] if not vowel.isascii() and len(vowel) == 1]
    if not accented or rng.random() < 0.5:
        return word
    at = rng.randrange(len(word))
    return word[:at] + rng.choice(accented) + word[at + 1 :]


def word_in(rng: Rng, script: str, short: bool = False) -> str:
    """A lower-case word in the letters of a script; of scripts without syllables two to four signs."""
    if rng.random() < SPLICED.get(script, 0):
        return spliced(rng, script)
    if script in SYLLABLES:
        onsets, vowels, codas = SYLLABLES[script]
        count = 1 if short else rng.choices((1, 2, 3), (2, 5, 2))[0]
        parts = (rng.choice(onsets) + rng.choice(vowels) + rng.choice(codas) for _ in range(count))
        return "".join(parts)
    count = rng.choices((1, 2, 3, 4), (1, 6, 2, 2))[0]
    return "".join(_SIGNS[script](rng) for _ in range(min(count, 2) if short else count))


def name_in(rng: Rng, script: str) -> str:
    """A name as people and towns have them: a capital first where the script has capitals."""
    return _capital(word_in(rng, script))


def _capital(word: str) -> str:
    return word[0].upper() + word[1:]


def _ideograph(rng: Rng) -> str:
    """Half of the time one of the first thousand that a fixed order puts first, so that some repeat."""
    low, high = IDEOGRAPHS
    if rng.random() < 0.5:
        return chr(low + (rng.randrange(1000) * 7919) % (high - low))
    return chr(rng.randrange(low, high))


def _japanese(rng: Rng) -> str:
    if rng.random() < 0.5:
        return _ideograph(rng)
    low, high = rng.choice(KANA)
    return chr(rng.randrange(low, high))


_SIGNS: dict[str, Callable[[Rng], str]] = {
    "chinese": _ideograph,
    "japanese": _japanese,
    "korean": lambda rng: chr(rng.randrange(*HANGUL)),
    "arabic": lambda rng: chr(rng.randrange(*ARABIC)),
}


def phrase_in(rng: Rng, script: str, words: int) -> str:
    """Some words in a row, the first with a capital."""
    gap = " " if script in SYLLABLES else ""
    return _capital(gap.join(word_in(rng, script, short=True) for _ in range(words)))


def styled(rng: Rng, parts: list[str], style: str) -> str:
    """The parts of a name in one style of writing names."""
    if style == "snake":
        return "_".join(parts)
    if style == "camel":
        return parts[0] + "".join(map(_capital, parts[1:]))
    if style == "Camel":
        return "".join(map(_capital, parts))
    if style == "Title":
        return " ".join(map(_capital, parts))
    if style == "UPPER":
        return "_".join(parts).upper()
    if style == "Solid":
        return _capital("".join(parts))
    return " ".join(parts)
