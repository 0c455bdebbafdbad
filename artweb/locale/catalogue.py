"""The catalogue of translated texts: finds them in templates and Python, and compiles what is translated.

Sentences of the engine room, which knows no languages, come from `training.phrasebook`.

`python -m artweb.locale.catalogue` adds new texts to the .po files (empty, to be translated by hand),
drops those that are gone and writes the .mo files; no gettext program is needed.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import polib
from django.utils.translation.template import templatize

from training import phrasebook
from training.runs import knobs

LOCALES = Path(__file__).resolve().parent
ROOT = LOCALES.parent.parent
PACKAGES = ("artweb", "training", "judging")
PLAIN = {"_", "gettext", "gettext_lazy"}
WITH_CONTEXT = {"pgettext", "pgettext_lazy"}
QUOTED = r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
IN_TEMPLATES = re.compile(
    rf"\b(?:_|gettext)\(u?{QUOTED}\)|\bpgettext\(u?{QUOTED}, u?{QUOTED}\)|\bngettext\(u?{QUOTED}, u?{QUOTED},"
)

Text = tuple[str | None, str, str]
"""(context or None, msgid, what is said of several or empty)"""


def texts() -> dict[Text, set[str]]:
    """Every text that is to be translated, with the files it stands in."""
    found: dict[Text, set[str]] = {}
    for template in sorted((ROOT / "templates").rglob("*.html")):
        for text in _of_template(template):
            found.setdefault(text, set()).add(str(template.relative_to(ROOT)))
    for package in PACKAGES:
        for module in sorted((ROOT / package).rglob("*.py")):
            for text in _of_module(module):
                found.setdefault(text, set()).add(str(module.relative_to(ROOT)))
    for knob, sentence in knobs.sentences().items():
        if knob not in knobs.HIDDEN:
            found.setdefault((None, sentence, ""), set()).add("gpu_worker/types.py")
    for sentence, where in phrasebook.templates().items():
        found.setdefault((None, sentence, ""), set()).add(where)
    return found


def catalogues() -> list[Path]:
    return sorted(LOCALES.glob("*/LC_MESSAGES/django.po"))


def update(file: Path) -> int:
    """Bring one catalogue up to date and compile it; returns how many texts have no translation yet."""
    catalogue = polib.pofile(str(file), wrapwidth=108)
    wanted = texts()
    for entry in list(catalogue):
        if _text(entry) not in wanted:
            catalogue.remove(entry)
    for context, msgid, several in wanted.keys() - {_text(entry) for entry in catalogue}:
        plural = {"msgid_plural": several, "msgstr_plural": {0: ""}} if several else {}
        catalogue.append(polib.POEntry(msgctxt=context, msgid=msgid, **plural))
    for entry in catalogue:
        entry.occurrences = [(name, "") for name in sorted(wanted[_text(entry)])]
        flags = {"python-format"} if "%(" in entry.msgid or "%%" in entry.msgid else set()
        entry.flags = sorted(flags)
    catalogue.sort(key=lambda entry: (entry.occurrences[0][0], entry.msgid))
    catalogue.save()
    catalogue.save_as_mofile(str(file.with_suffix(".mo")))
    return len(catalogue.untranslated_entries())


def _text(entry: polib.POEntry) -> Text:
    return entry.msgctxt, entry.msgid, entry.msgid_plural


def _of_template(template: Path) -> Iterator[Text]:
    found = IN_TEMPLATES.findall(templatize(template.read_text(), origin=str(template)))
    for plain, context, msgid, one, several in found:
        if plain:
            yield None, ast.literal_eval(plain), ""
        elif one:
            yield None, ast.literal_eval(one), ast.literal_eval(several)
        else:
            yield ast.literal_eval(context), ast.literal_eval(msgid), ""


def _of_module(module: Path) -> Iterator[Text]:
    for call in ast.walk(ast.parse(module.read_text())):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        words = [word.value for word in call.args if isinstance(word, ast.Constant)]
        if call.func.id in PLAIN and len(words) == 1 and isinstance(words[0], str):
            yield None, words[0], ""
        elif call.func.id in WITH_CONTEXT and len(words) == 2:
            yield str(words[0]), str(words[1]), ""
        elif call.func.id == "ngettext" and len(words) == 2:
            yield None, str(words[0]), str(words[1])


if __name__ == "__main__":
    from django.conf import settings

    settings.configure(USE_I18N=False)
    for one in catalogues():
        sys.stdout.write(f"{one.parent.parent.name}: {update(one)} texts to translate\n")
