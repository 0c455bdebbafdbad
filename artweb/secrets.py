"""The keys of this installation: made on first start, in a file only its owner can read."""

import contextlib
import json
import os
import secrets
from pathlib import Path

from cryptography.fernet import Fernet


def load_secrets(path: Path) -> dict[str, str]:
    """Read the secrets file, making it (mode 0600) when there is none.

    Two processes may start at once: the file is linked into place, so one of them wins and both read it.
    """
    if not path.exists():
        fresh = {
            "django": secrets.token_urlsafe(48),
            "model_server": secrets.token_urlsafe(32),
            "encryption": Fernet.generate_key().decode(),
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(fresh, file)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):  # another process was faster; its keys count
            os.link(draft, path)
        draft.unlink()
    found: dict[str, str] = json.loads(path.read_text())
    return found
