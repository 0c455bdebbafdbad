"""Is this base model one we can train? A cheap look at the files, without loading torch.

What only loading can tell (weights that do not fit, a hub id that does not exist) is left to the engine.
"""

import json
import re
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _

FAMILIES = ("llama", "qwen2", "qwen3")
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")


def complaint(base_model: str) -> str | None:
    """What is wrong with this base model, in a sentence a person can act on; None if nothing is."""
    if base_model == "embedded":
        return None
    directory = _directory(base_model)
    if directory:
        return _place_complaint(directory) or _directory_complaint(directory)
    if HUB_ID.fullmatch(base_model):
        return None
    return _(
        "There is no model directory %(path)s. Give “embedded”, the path of a directory with config.json "
        "and safetensors weights, or a hub id such as Qwen/Qwen3-0.6B."
    ) % {"path": base_model}


def _directory(base_model: str) -> Path | None:
    """The directory of that name, if there is one that we may look into."""
    try:
        directory = Path(base_model).expanduser()
        return directory if base_model and directory.is_dir() else None
    except (OSError, RuntimeError, ValueError):  # too long a name, nobody's home, no text at all
        return None


def _place_complaint(directory: Path) -> str | None:
    """The model server reads only certain directories; what it cannot serve is not worth training."""
    if any(directory.resolve().is_relative_to(root) for root in settings.MODEL_DIRS):
        return None
    told = {"path": directory, "home": settings.MODEL_DIRS[0], "parent": directory.resolve().parent}
    return (
        _(
            "The model directory %(path)s is outside the directories that models are used from. Move it to "
            "%(home)s, or start ArtWeb with ARTWEB_MODELS=%(parent)s."
        )
        % told
    )


def _directory_complaint(directory: Path) -> str | None:
    for pattern in ("config.json", "*.safetensors", "tokenizer*.json"):
        if not any(directory.glob(pattern)):
            lacking = {"path": directory, "file": pattern}
            return _("The model directory %(path)s has no %(file)s; it needs Hugging Face files.") % lacking
    try:
        config = json.loads((directory / "config.json").read_text())
        family = config["model_type"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        file = {"file": directory / "config.json"}
        return _("%(file)s is no model configuration: it is not JSON or has no model_type.") % file
    if family not in FAMILIES:
        known = {"path": directory, "family": family, "known": ", ".join(FAMILIES)}
        return _("The model in %(path)s is of the family %(family)s; ArtWeb trains %(known)s.") % known
    if not _has_chat_template(directory):
        lacking = {"path": directory}
        return _("The model in %(path)s has no chat template; use an instruct or chat model.") % lacking
    return None


def _has_chat_template(directory: Path) -> bool:
    if (directory / "chat_template.jinja").exists():
        return True
    settings = directory / "tokenizer_config.json"
    try:
        return bool(json.loads(settings.read_text()).get("chat_template"))
    except (OSError, ValueError, AttributeError, RecursionError):
        return False
