"""The keys of this installation: made on first start, in a file only its owner can read."""

import contextlib
import json
import os
import secrets
import tempfile
from pathlib import Path

from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured

NAMES = ("django", "model_server", "encryption")


def load_secrets(path: Path) -> dict[str, str]:
    """Read the secrets file, making it (mode 0600) when there is none.

    Raises ImproperlyConfigured for a file that is not whole or that others may read.
    """
    try:
        if not path.exists():
            _make(path)
        others = path.stat().st_mode & 0o077
        found = json.loads(path.read_text())
    except OSError as error:
        raise ImproperlyConfigured(f"The keys in {path} cannot be used: {error.strerror}.") from error
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(_is_key(found.get(name)) for name in NAMES):
        raise ImproperlyConfigured(
            f"{path} does not hold the keys it should. Restore it from a backup; if there is none, delete "
            "it, and everybody signs in anew."
        )
    if others:
        raise ImproperlyConfigured(f"{path} holds keys and others may open it. Run: chmod 600 {path}")
    return found


def _make(path: Path) -> None:
    """Two processes may start at once: the file is linked into place, so one wins and both read it."""
    fresh = {
        "django": secrets.token_urlsafe(48),
        "model_server": secrets.token_urlsafe(32),
        "encryption": Fernet.generate_key().decode(),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)  # mode 0600
    try:
        with os.fdopen(handle, "w") as file:
            json.dump(fresh, file)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):  # another process was faster; its keys count
            os.link(draft, path)
    finally:
        os.unlink(draft)


def _is_key(value: object) -> bool:
    return isinstance(value, str) and len(value) >= 32
