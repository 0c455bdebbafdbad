"""The web process: Daphne, keeping no more of a request's body than the site would read.

Daphne takes in a whole body before the site may refuse it. What goes beyond the limit is thrown away as it
arrives, so that nobody fills memory or disk; the site then answers that the body is too large.
"""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "artweb.settings")

from daphne.cli import CommandLineInterface  # noqa: E402
from daphne.http_protocol import WebRequest  # noqa: E402
from django.conf import settings  # noqa: E402

take_in = WebRequest.handleContentChunk


def take_in_what_is_allowed(request: WebRequest, data: bytes) -> None:
    """One byte more than is allowed is kept: by it the site sees that there was too much."""
    room = settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1 - request.content.tell()
    if room > 0:
        take_in(request, data[:room])


if __name__ == "__main__":
    WebRequest.handleContentChunk = take_in_what_is_allowed
    CommandLineInterface.entrypoint()
