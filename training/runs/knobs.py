"""A run's configuration, each knob with the sentence that explains it.

The sentences are the attribute docstrings of `gpu_worker.types.Job`, read from its source: Python
keeps no docstrings of attributes at run time, and a second list would drift from the first.
"""

import ast
import inspect
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Any

from django.utils.translation import gettext as _

from gpu_worker import types

HIDDEN = {"run", "directory", "scenarios", "system_prompt"}
"""Not knobs: names, places and texts that are shown elsewhere."""


@dataclass(frozen=True)
class Knob:
    name: str
    value: Any
    sentence: str
    changed: bool


@cache
def sentences() -> dict[str, str]:
    """Knob name -> its sentence in English, in the order of `Job`."""
    job = ast.parse(inspect.getsource(types.Job)).body[0]
    assert isinstance(job, ast.ClassDef)
    found: dict[str, str] = {}
    for field, after in zip(job.body, job.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(after, ast.Expr):
            assert isinstance(field.target, ast.Name) and isinstance(after.value, ast.Constant)
            found[field.target.id] = str(after.value.value)
    return found


def knobs(config: dict[str, Any]) -> list[Knob]:
    """Every knob with its value in this run; `changed` if it has a default and this is not it."""
    shown = []
    for field in fields(types.Job):
        if field.name in HIDDEN or field.name not in sentences():
            continue
        default = None if field.default is MISSING else field.default
        value = config.get(field.name, default)
        if value is None:
            continue
        shown.append(Knob(field.name, value, _(sentences()[field.name]), default not in (None, value)))
    return shown
