"""Knobs saved under a name, to start other runs with. A deleted preset can be brought back for a while.

What a knob may be is the jobs' business; a preset from another time that no longer fits is refused when it
is applied.
"""

from typing import Any

from django.contrib.auth.models import User
from django.core import signing
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from training.models import Agent, Preset
from training.phrasebook import said
from training.runs import jobs
from training.runs.rows import clean

LONGEST_NAME = 80
MOST = 100
UNDO_WITHIN = 600
"""Seconds in which a deletion can be taken back."""
SALT = "preset"
OF_THE_AGENT = ("environment", "system_prompt", "base_model", "judge_model", "rubric")
"""What belongs to the agent and not to how it is trained."""


class Refused(Exception):
    """The preset cannot be saved or applied; the text says why and what to do."""


def of(owner: User) -> QuerySet[Preset]:
    return Preset.objects.filter(owner=owner)


def save(*, agent: Agent, name: str) -> Preset:
    """The agent's knobs under a name; the same name again replaces them."""
    name = clean(name).strip()
    if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
        raise Refused(_("Give the preset a name of 1 to 80 visible characters."))
    if of(agent.owner).exclude(name=name).count() >= MOST:
        raise Refused(_("There are too many presets; delete some first."))
    config = {knob: value for knob, value in agent.config.items() if knob not in OF_THE_AGENT}
    return Preset.objects.update_or_create(owner=agent.owner, name=name, defaults={"config": config})[0]


def apply(preset: Preset, agent: Agent) -> None:
    """Give the agent the preset's knobs in place of its own."""
    kept = {knob: value for knob, value in agent.config.items() if knob in OF_THE_AGENT}
    config = {**preset.config, **kept}
    refused = jobs.complaint(config)
    if refused:
        raise Refused(said(refused))
    Agent.objects.filter(pk=agent.pk).update(config=config, edits=F("edits") + 1, edited_at=timezone.now())
    agent.refresh_from_db()


def delete(preset: Preset) -> str:
    """Delete it; the text that is returned brings it back."""
    told: dict[str, Any] = {"owner": preset.owner_id, "name": preset.name, "config": preset.config}
    preset.delete()
    return signing.dumps(told, salt=SALT, compress=True)


def bring_back(owner: User, undo: str) -> Preset | None:
    """The preset that was deleted, unless that was long ago, somebody else's, or the name is taken again."""
    try:
        told = signing.loads(undo, salt=SALT, max_age=UNDO_WITHIN)
    except signing.BadSignature:
        return None
    if told["owner"] != owner.pk or of(owner).filter(name=told["name"]).exists():
        return None
    return Preset.objects.create(owner=owner, name=told["name"], config=told["config"])
