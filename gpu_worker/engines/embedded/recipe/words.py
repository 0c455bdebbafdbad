"""The words the dialogues are made of, and invented ones, so that nothing can be learned by heart.

Only vocabulary; how it becomes tables and dialogues is in `tables` and `dialogues`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence


def listed(text: str) -> tuple[str, ...]:
    return tuple(text.split())


THINGS = listed("""
    order invoice ticket booking parcel loan repair claim visit lesson permit contract delivery
    refund seat room flight trip shipment payment job case task report sample test photo book
    machine letter card bill course exam project item offer quote return meal table car bike boat
    device file form request message plan plot unit batch crate box purchase rental account policy
    dose scan
""")
PEOPLE = listed("""
    customer client member guest patient student driver owner tenant buyer supplier teacher user
    player author agent reader doctor worker partner visitor seller pilot farmer singer lender donor
    nurse guide
""")
STATES = listed("""
    packed shipped delivered delayed returned cancelled lost waiting open closed paid pending ready
    done late early sent received approved rejected active paused broken fixed new old sold free
    taken full empty booked checked planned started finished stopped moved stored missing found
    signed printed ordered opened locked clean dirty warm cold in_transit on_hold
""")
KINDS = listed("""
    red blue green black white yellow brown grey small large medium long short round square wood
    steel glass paper stone cotton silk lamp chair table kettle shirt shoe phone camera guitar piano
    math music art sport bread cheese apple lemon coffee tea gold silver basic plus premium north
    south east west
""")
GIVEN_NAMES = listed("""
    Ada Alan Amir Anna Ben Bella Boris Carl Chen Clara Dana David Diego Elif Elena Emil Emma Eva
    Felix Fiona Finn Gina Grace Greta Hana Henry Hugo Ida Igor Ivan Jana James Jonas Julia Kai Karim
    Kate Lara Leo Lena Lin Lucas Maria Mark Max Mila Mira Nadia Nora Noah Nina Olga Omar Oscar Paul
    Paula Peter Pia Rita Rosa Ravi Sam Sara Simon Sofia Tara Theo Tina Tom Uma Vera Victor Wei Will
    Yara Yuki Zoe
""")
FAMILY_NAMES = listed("""
    Adler Bauer Baker Berg Blom Brandt Castro Costa Cruz Dahl Diaz Evans Fischer Ford Garcia Gomez
    Green Hall Hansen Haas Hill Iversen Jensen Jones Kaya Keller Khan King Klein Koch Kumar Lang
    Larsen Lee Lopez Maier Marino Meyer Moore Moreau Novak Olsen Park Perez Petrov Quinn Reed Rossi
    Sato Silva Singh Smith Stone Tanaka Torres Vogel Wagner Walsh Wang Weber White Wolf Young
""")
TOWNS = listed("""
    Lima Oslo Porto Delhi Lyon Kyoto Quito Bergen Turin Leeds Dakar Hanoi Cork Ghent Basel Malmo
    Paris Rome Cairo Tokyo Milan Vienna Berlin Madrid Dublin Athens Prague Bern Nice Bonn Graz Seoul
    Osaka Accra
""")
MAIL_HOSTS = listed("""
    mail post inbox box home web net office town works zap fast blue sun
""")
MAIL_ENDS = listed("""
    com org net io de
""")
SHOPS = listed("""
    shop clinic library school hotel garage museum bank farm office store club agency
""")

_ONSETS = listed("""
    b br c ch d dr f fl g gr h j k kl l m n p pl qu r s sh st t tr v w y z
""")
_VOWELS = listed("""
    a e i o u ai ea io ou
""")
_CODAS = ("", "", "", "n", "r", "l", "s", "t", "m", "k", "nd", "rt", "x")


def invented(rng: random.Random, syllables: int = 2) -> str:
    """A lower-case word that means nothing."""
    parts = [rng.choice(_ONSETS) + rng.choice(_VOWELS) for _ in range(syllables)]
    return "".join(parts) + rng.choice(_CODAS)


def word(rng: random.Random, known: Sequence[str], share_invented: float = 0.15) -> str:
    """One of the known words or, sometimes, an invented one."""
    return invented(rng, rng.choice((1, 2, 2))) if rng.random() < share_invented else rng.choice(known)


def name(rng: random.Random, known: Sequence[str]) -> str:
    """A capitalised name, sometimes an invented one."""
    return word(rng, known, 0.35).capitalize()


def digits(rng: random.Random, count: int) -> str:
    """A number of `count` digits that does not start with 0."""
    return str(rng.randrange(10 ** (count - 1), 10**count))


def plural(noun: str) -> str:
    """Good enough for the nouns above."""
    if noun.endswith("y") and noun[-2:-1] not in tuple("aeiou"):
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")
