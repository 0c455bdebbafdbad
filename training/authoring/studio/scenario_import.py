"""The errands that bring scenarios from a file: first a look into it, then all of it.

How files are read and what columns mean is in `scenario_files.py`; the form between the two errands is in
`scenario_files_views.py`. Only the desk imports this.
"""

from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _

from training.authoring.office.errands import Doing, Failed
from training.authoring.studio import audit, scenario_files, scenarios
from training.authoring.studio.scenario_records import Records, Refused, read
from training.authoring.toolbox import uploads
from training.models import Errand

SAMPLE = 10
"""Rows that are kept to be shown while the person says what the columns mean."""
LONGEST_CELL = 2000
"""Characters of a cell in the sample."""
TOLD = 20
"""Problems that are kept to be told."""


def look(doing: Doing) -> dict[str, Any]:
    """Errand: read a file and keep its columns, a guess at what they mean, and its first rows.

    arguments: upload and filename, as `uploads.keep` returns them.
    """
    doing.progress(0, 0, _("Reading %(file)s") % {"file": doing.arguments["filename"][-100:]})
    records = _records(doing.arguments)
    sample = [{"number": row.number, "values": _short(row.values)} for row in records.rows[:SAMPLE]]
    return {
        "format": records.format,
        "columns": list(records.columns),
        "rows": len(records.rows),
        "sample": sample,
        "mapping": scenario_files.guessed(records),
        "problems": list(records.problems[:TOLD]),
        "next": reverse("map_scenarios", args=[doing.agent.pk, doing.errand.pk]),
    }


def bring(doing: Doing) -> dict[str, Any]:
    """Errand: add the scenarios of a file that was looked into.

    arguments: look, the errand that read it; mapping, field → column.
    """
    looked = Errand.objects.get(pk=doing.arguments["look"], agent=doing.agent, kind="read_scenarios")
    doing.progress(0, 0, _("Reading %(file)s") % {"file": looked.arguments["filename"][-100:]})
    records = _records(looked.arguments)
    try:
        fixed = audit.questions_of(doing.agent)
        found = scenario_files.imported(records, doing.arguments["mapping"], fixed=fixed)
        doing.progress(0, len(found.questions), _("Adding the scenarios"))
        made = scenarios.add_questions(doing.agent, found.questions, source="imported")
    except (Refused, scenarios.Refused) as refused:
        raise Failed(str(refused)) from None
    uploads.path_of(looked.arguments["upload"]).unlink(missing_ok=True)
    return {"made": len(made), "problems": list(found.problems[:TOLD])}


def _records(told: Any) -> Records:
    path = uploads.path_of(told["upload"])
    try:
        return read(path.read_bytes(), told["filename"])
    except FileNotFoundError:
        raise Failed(_("The file is no longer here: upload it again.")) from None
    except Refused as refused:
        path.unlink(missing_ok=True)
        raise Failed(str(refused)) from None


def _short(values: dict[str, Any]) -> dict[str, Any]:
    """The cells of a row, none too long to be kept with the errand."""
    return {
        name: value[:LONGEST_CELL] if isinstance(value, str) else value
        for name, value in values.items()
        if isinstance(value, str) or len(str(value)) <= LONGEST_CELL
    }
