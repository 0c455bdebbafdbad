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
from django.utils.translation import gettext_lazy

from gpu_worker import types
from gpu_worker.algorithms import BOUNDS

HIDDEN = {"run", "directory", "scenarios", "tools", "system_prompt"}
"""Not knobs: names, places and texts that are shown elsewhere."""


@dataclass(frozen=True)
class Knob:
    name: str
    value: Any
    sentence: str
    changed: bool
    written: str
    """The value as people read it."""


@dataclass(frozen=True)
class Shelf:
    """Knobs that belong together."""

    title: str
    knobs: list[Knob]


SHELVES = (
    (
        gettext_lazy("Practice"),
        (
            "environment",
            "base_model",
            "seed",
            "steps",
            "groups_per_step",
            "group_size",
            "sampling_budget",
            "curriculum",
            "tie_tolerance",
        ),
    ),
    (
        gettext_lazy("Tries"),
        (
            "max_turns",
            "max_tokens",
            "max_context",
            "temperature",
            "samplers",
            "sampler_dtype",
            "off_policy_steps",
        ),
    ),
    (
        gettext_lazy("Algorithm"),
        (
            "loss",
            "clip_low",
            "clip_high",
            "loss_mean",
            "advantage_scale",
            "importance",
            "importance_cap",
            "kl_coefficient",
            "kl_in",
        ),
    ),
    (
        gettext_lazy("Weights"),
        (
            "learning_rate",
            "final_learning_rate",
            "weight_decay",
            "max_grad_norm",
            "optimizer_steps",
            "lora_rank",
            "lora_alpha",
        ),
    ),
    (
        gettext_lazy("Reward"),
        ("reward", "mix", "judge_model", "rubric", "second_look", "control", "most_dropped", "budget"),
    ),
    (
        gettext_lazy("Measuring and keeping"),
        (
            "eval_every",
            "eval_scenarios",
            "val_scenarios",
            "keep_checkpoints",
        ),
    ),
)


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


def shelves(config: dict[str, Any]) -> list[Shelf]:
    """Every knob with its value in this run, shelf by shelf."""
    found = {knob.name: knob for knob in knobs(config)}
    return [Shelf(str(title), [found[name] for name in names]) for title, names in SHELVES]


def knobs(config: dict[str, Any]) -> list[Knob]:
    """Every knob with its value in this run; `changed` if it has a default and this is not it."""
    shown = []
    for field in fields(types.Job):
        if field.name in HIDDEN or field.name not in sentences():
            continue
        required = field.default is MISSING and field.default_factory is MISSING
        default = field.default if field.default_factory is MISSING else field.default_factory()
        value = config.get(field.name, None if required else default)
        changed = not required and value != default
        sentence = _(sentences()[field.name])
        shown.append(Knob(field.name, value, sentence, changed, _written(field.name, value, config)))
    return shown


def _written(name: str, value: Any, config: dict[str, Any]) -> str:
    if isinstance(value, bool):
        return _("on") if value else _("off")
    if value is None and name in ("clip_low", "clip_high"):
        low, high = BOUNDS[config.get("loss", types.Job.loss)]
        return _("%(bound)s, the loss's own") % {"bound": f"{low if name == 'clip_low' else high:g}"}
    if isinstance(value, dict):
        return ", ".join(f"{part} {weight:g}" for part, weight in value.items()) or "–"
    return "–" if value in (None, "") else str(value)
