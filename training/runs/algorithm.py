"""The algorithm of a run in words: "CISPO, mean over all tokens, …". Computing is left to the learner."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from gpu_worker.types import Job

LOSSES = {"cispo": "CISPO", "ppo": "PPO", "gspo": "GSPO"}
MEANS = {
    "token": gettext_lazy("mean over all tokens"),
    "try": gettext_lazy("mean over tries"),
    "constant": gettext_lazy("sum over tokens, divided by a constant"),
}
SCALES = {
    "batch": gettext_lazy("advantages in units of the batch's spread"),
    "group": gettext_lazy("advantages in units of their group's spread"),
    "none": gettext_lazy("advantages as they are"),
}
CORRECTIONS = {
    "truncate": gettext_lazy("importance weights up to %(cap)s"),
    "mask": gettext_lazy("tokens of a weight above %(cap)s left out"),
}


def phrases(config: Mapping[str, Any]) -> list[str]:
    """The loss, how it is averaged, scaled, corrected and held back, and how fresh the tries are."""
    knobs: dict[str, Any] = {field.name: field.default for field in fields(Job)} | dict(config)
    told = [LOSSES.get(knobs["loss"], str(knobs["loss"]))]
    if knobs["clip_low"] is not None or knobs["clip_high"] is not None:
        told.append(_("clip bounds of its own"))
    told += [str(MEANS.get(knobs["loss_mean"], "")), str(SCALES.get(knobs["advantage_scale"], ""))]
    if knobs["importance"] in CORRECTIONS:
        told.append(str(CORRECTIONS[knobs["importance"]]) % {"cap": f"{knobs['importance_cap']:g}"})
    told.append(_held_to_base(knobs))
    told.append(_("tries one step old") if knobs["off_policy_steps"] else _("on-policy"))
    return [phrase for phrase in told if phrase]


def on_policy(config: Mapping[str, Any]) -> bool:
    """Whether every update learns from tries of the very weights it changes."""
    steps = config.get("off_policy_steps", Job.off_policy_steps)
    return not steps and config.get("optimizer_steps", Job.optimizer_steps) == 1


def _held_to_base(knobs: Mapping[str, Any]) -> str:
    coefficient = knobs["kl_coefficient"]
    if not coefficient:
        return _("distance to base only shown")
    told = {"coefficient": f"{coefficient:g}"}
    if knobs["kl_in"] == "advantage":
        return _("distance to base lowers advantages (%(coefficient)s)") % told
    return _("distance to base in the loss (%(coefficient)s)") % told
