"""The web process: Daphne, keeping no more of a request's body than the site would read.

Daphne takes in a whole body before the site may refuse it. What goes beyond the limit is thrown away as it
arrives, so that nobody fills memory or disk; the site then answers that the body is too large.

Daphne also makes a frame anew for each socket that the same text goes to, and passes it on in many steps. A
socket's scope here has a function besides, which puts the bytes of a frame that was made once on its wire.
"""

import gc
import os
from contextlib import suppress
from functools import partial
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "artweb.settings")

from daphne.cli import CommandLineInterface  # noqa: E402
from daphne.http_protocol import WebRequest  # noqa: E402
from daphne.server import Server  # noqa: E402
from daphne.ws_protocol import WebSocketProtocol  # noqa: E402
from django.conf import settings  # noqa: E402
from django.urls import get_resolver  # noqa: E402

import artweb.asgi  # noqa: E402, F401

WIRE = "artweb.wire"
"""The extension of a scope that training.runs.consumers looks for."""
take_in = WebRequest.handleContentChunk


def take_in_what_is_allowed(request: WebRequest, data: bytes) -> None:
    """One byte more than is allowed is kept: by it the site sees that there was too much."""
    # The request learns its own path only when its body is there.
    room = most_bytes(request.channel._path.partition(b"?")[0]) + 1 - request.content.tell()
    if room > 0:
        take_in(request, data[:room])


def most_bytes(path: bytes) -> int:
    """Files are sent only to addresses that end in upload/, with a form around them."""
    forms = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    return settings.UPLOAD_MAX_SIZE + forms if path.endswith(b"/upload/") else forms


create_application = Server.create_application


def create_application_with_wire(server: Server, protocol: Any, scope: dict[str, Any]) -> object:
    if scope["type"] == "websocket":
        scope["extensions"] = {WIRE: partial(put_on_wire, protocol)}
    return create_application(server, protocol, scope)


def put_on_wire(protocol: WebSocketProtocol, frame: bytes) -> None:
    """Send a whole frame; what the network does not take at once follows as anything else Daphne sends."""
    if protocol.state != protocol.STATE_OPEN:
        return
    transport = protocol.transport
    waiting = transport._tempDataLen or transport.offset < len(transport.dataBuffer)
    sent = 0
    if not (waiting or transport.disconnecting):
        with suppress(OSError):  # full, or the other side is gone, which the next write finds out as ever
            sent = transport.socket.send(frame)
    if sent < len(frame):
        transport.write(frame[sent:])


def load_everything() -> None:
    """What every page needs, before the first of them is asked for; none of it is ever garbage."""
    _ = get_resolver().url_patterns
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)  # a full collection halts every socket for tens of milliseconds


if __name__ == "__main__":
    load_everything()
    WebRequest.handleContentChunk = take_in_what_is_allowed
    Server.create_application = create_application_with_wire
    CommandLineInterface.entrypoint()
