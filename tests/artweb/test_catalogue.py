"""Every text of the product is there in Chinese, with the same placeholders, and compiled."""

import re
from pathlib import Path

import polib
import pytest

from artweb.locale import catalogue

PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%%|<code>|</code>")


def text_of(entry: polib.POEntry) -> catalogue.Text:
    return entry.msgctxt, entry.msgid, entry.msgid_plural or ""


def said_by(entry: polib.POEntry) -> str:
    """Its translation; Chinese says one and several alike."""
    said: str = entry.msgstr_plural[0] if entry.msgid_plural else entry.msgstr
    return said


@pytest.fixture(params=catalogue.catalogues(), ids=lambda file: file.parent.parent.name)
def file(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


def test_every_text_in_templates_and_code_is_translated(file: Path) -> None:
    translated = {text_of(e) for e in polib.pofile(str(file)).translated_entries()}
    missing = {text: where for text, where in catalogue.texts().items() if text not in translated}
    assert missing == {}, "run python -m artweb.locale.catalogue and translate what is new"


def test_nothing_is_translated_that_nobody_says(file: Path) -> None:
    known = {text_of(e) for e in polib.pofile(str(file))}
    assert known - catalogue.texts().keys() == set(), "run python -m artweb.locale.catalogue"


def test_translations_keep_the_placeholders(file: Path) -> None:
    for entry in polib.pofile(str(file)):
        told = entry.msgid_plural or entry.msgid
        given, kept = (sorted(PLACEHOLDER.findall(text)) for text in (told, said_by(entry)))
        assert given == kept, entry.msgid


def test_the_compiled_catalogue_is_of_this_source(file: Path) -> None:
    source = {text_of(e): said_by(e) for e in polib.pofile(str(file))}
    compiled = {text_of(e): said_by(e) for e in polib.mofile(str(file.with_suffix(".mo")))}
    assert compiled == source


def test_texts_are_found_in_templates_and_in_code() -> None:
    found = catalogue.texts()
    assert "templates/runs/home.html" in found[None, "Start demo", ""]
    assert "training/models/runs.py" in found[None, "Baseline evaluation", ""]
    assert ("score source", "Checks", "") in found
    assert (None, "Every random choice follows from this number.", "") in found
    assert (None, "%(count)s scenario", "%(count)s scenarios") in found
