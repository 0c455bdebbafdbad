"""Every text of the product is there in Chinese, with the same placeholders, and compiled."""

import re
from pathlib import Path

import polib
import pytest

from artweb.locale import catalogue

PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%%|<code>|</code>")


@pytest.fixture(params=catalogue.catalogues(), ids=lambda file: file.parent.parent.name)
def file(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


def test_every_text_in_templates_and_code_is_translated(file: Path) -> None:
    translated = {(e.msgctxt, e.msgid) for e in polib.pofile(str(file)).translated_entries()}
    missing = {text: where for text, where in catalogue.texts().items() if text not in translated}
    assert missing == {}, "run python -m artweb.locale.catalogue and translate what is new"


def test_nothing_is_translated_that_nobody_says(file: Path) -> None:
    known = {(e.msgctxt, e.msgid) for e in polib.pofile(str(file))}
    assert known - catalogue.texts().keys() == set(), "run python -m artweb.locale.catalogue"


def test_translations_keep_the_placeholders(file: Path) -> None:
    for entry in polib.pofile(str(file)):
        given, kept = (sorted(PLACEHOLDER.findall(text)) for text in (entry.msgid, entry.msgstr))
        assert given == kept, entry.msgid


def test_the_compiled_catalogue_is_of_this_source(file: Path) -> None:
    source = {(e.msgctxt, e.msgid): e.msgstr for e in polib.pofile(str(file))}
    compiled = {(e.msgctxt, e.msgid): e.msgstr for e in polib.mofile(str(file.with_suffix(".mo")))}
    assert compiled == source


def test_texts_are_found_in_templates_and_in_code() -> None:
    found = catalogue.texts()
    assert "templates/runs/home.html" in found[None, "Start demo"]
    assert "training/models/runs.py" in found[None, "Baseline evaluation"]
    assert ("score source", "Checks") in found
    assert (None, "Every random choice follows from this number.") in found
