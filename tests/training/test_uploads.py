"""Uploads nobody came back for are removed; fresh ones stay."""

import os
import time
from pathlib import Path

from django.conf import settings

from training.authoring.toolbox import uploads


def test_only_abandoned_uploads_are_swept() -> None:
    directory = Path(settings.FILE_UPLOAD_TEMP_DIR)
    fresh, old = directory / ("a" * 32), directory / ("b" * 32)
    for file in (fresh, old):
        file.write_text("x")
    long_ago = time.time() - uploads.ABANDONED_AFTER - 60
    os.utime(old, (long_ago, long_ago))
    uploads.sweep()
    assert fresh.exists() and not old.exists()
    fresh.unlink()
