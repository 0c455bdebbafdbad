"""Finds a model's directory and reads the files in it, with a sentence for whatever is wrong with them.

Only JSON is read here, without torch; the weights are read in `tensors.py`. Nothing in a model directory is
ever run. What the tokenizer and chat template mean is left to `chat.py`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

EMBEDDED = Path(__file__).parent / "weights"
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
WANTED = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json")


class ModelError(Exception):
    """A model cannot be used; the text says why, in a sentence a person can act on."""


def locate(model: str | Path) -> Path:
    """The directory of `model`: "embedded", a local directory, or a hub id (downloaded once).

    Raises ModelError when there is no such directory and the hub cannot give it.
    """
    if str(model) == "embedded":
        return EMBEDDED
    path = Path(model).expanduser()
    if path.is_dir():
        return path
    if path.exists():
        raise ModelError(f"{path} is a file; a model is a directory with config.json and safetensors in it.")
    if not HUB_ID.fullmatch(str(model)):
        raise ModelError(f"There is no model directory {path}.")
    return _download(str(model))


def _download(hub_id: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, RepositoryNotFoundError

    patterns = [*WANTED, "*.jinja", "model*.safetensors", "model.safetensors.index.json"]
    try:
        return Path(snapshot_download(hub_id, allow_patterns=patterns))
    except RepositoryNotFoundError as error:
        raise ModelError(
            f"There is no directory {hub_id}, and the hub has no open model of that name."
        ) from error
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError) as error:
        raise ModelError(
            f"There is no directory {hub_id}, and the model hub cannot be reached to download it; "
            "give a local model directory, or try again with network."
        ) from error


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in `path`; ModelError when it is missing or is not one."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ModelError(f"The model directory {path.parent} has no {path.name}.") from error
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path} cannot be read as JSON: {error}.") from error
    if not isinstance(value, dict):
        raise ModelError(f"{path} does not hold a JSON object.")
    return value


def read_optional_json(path: Path) -> dict[str, Any]:
    return read_json(path) if path.exists() else {}
