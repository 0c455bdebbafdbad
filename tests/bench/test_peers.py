"""Peers' environments are sections of one file, each with exact pins."""

import re

import pytest

from bench import peers
from bench.bar import NotRun


def test_each_section_has_its_own_pins() -> None:
    text = "# What these are.\n\n# [one]\na==1\n# why b\nb==2\n\n# [two]\na==3\n"
    assert peers.sections(text) == {"one": ["a==1", "b==2"], "two": ["a==3"]}


def test_a_pin_before_the_first_section_is_refused() -> None:
    with pytest.raises(ValueError, match="before the first section"):
        peers.sections("a==1\n# [one]\n")


def test_every_peer_is_pinned_exactly() -> None:
    found = peers.sections(peers.REQUIREMENTS.read_text())
    assert {"trl", "art"} <= set(found)
    pins = [pin for pins in found.values() for pin in pins]
    assert [pin for pin in pins if not re.match(r"[\w.\[\]-]+==[\w.+-]+$|--no-deps$", pin)] == []


def test_an_unknown_environment_is_said_to_be_unknown() -> None:
    with pytest.raises(NotRun, match=r"no section \[nobody\]"):
        peers.python_of("nobody")
