"""Sockets that show a run live: who may watch is decided here, before a socket is accepted.

A browser says `{"seen": seq}` when it connects (or finds a gap) and `{"drawn": frames}`, how many it has
drawn since it last said so, after hub.SAYS_EVERY of them.
"""

import json
from urllib.parse import parse_qs, urlsplit

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.contrib.auth.models import User
from django.urls import URLPattern, URLResolver, path, re_path

from training.models import Run
from training.runs import hub
from training.runs.frames import Frame

LANGUAGES = {code for code, _ in settings.LANGUAGES}
NONSENSE = 4400
LONGEST_MESSAGE = 200
WIRE = "artweb.wire"
"""Where our server (artweb/web.py) offers to put a frame's bytes on the wire; any other gets the text."""


class RunConsumer(AsyncWebsocketConsumer):
    """One browser on one run's page."""

    channel_layer_alias = ""  # the hub listens, not every socket: without Redis a socket must open too
    viewer: hub.Viewer | None = None

    async def connect(self) -> None:
        self.run_id = int(self.scope["url_route"]["kwargs"]["run_id"])
        user = self.scope["user"]
        if not (self._same_site() and user.is_authenticated and await self._may_watch(user)):
            await self.close(hub.SIGNED_OUT)
            return
        await self.accept()
        self.viewer = hub.Viewer(
            user=user.pk,
            session=self.scope["session"].session_key or "",
            language=self._language(),
            send=self._send_frame,
            close=self._close_with,
            put_on_wire=self.scope.get("extensions", {}).get(WIRE),
        )
        self.hub = hub.join(self.run_id, self.viewer)

    async def dispatch(self, message: dict[str, object]) -> None:
        """Channels looks after old connections first, in a thread; what browsers say needs no database."""
        if message["type"] == "websocket.receive":
            await self.websocket_receive(message)
        else:
            await super().dispatch(message)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        message = _read(text_data)
        if message is None or self.viewer is None:
            await self.disconnect(NONSENSE)
            await self.close(NONSENSE)
            return
        kind, number = message
        was_full = not self.viewer.ready
        if kind == "seen":
            self.viewer.is_at(number)
        else:
            self.viewer.has_drawn(number)
        if kind == "seen" or was_full:
            self.hub.bell.set()

    async def disconnect(self, code: int) -> None:
        if self.viewer is not None:
            hub.leave(self.run_id, self.viewer)

    async def _send_frame(self, frame: Frame) -> None:
        await self.send(text_data=frame.text)

    async def _close_with(self, code: int) -> None:
        await self.close(code)

    def _language(self) -> str:
        asked = parse_qs(self.scope["query_string"].decode("latin-1")).get("language", [""])[0]
        return asked if asked in LANGUAGES else settings.LANGUAGE_CODE

    def _same_site(self) -> bool:
        """The page that opens the socket came from this very host and port."""
        headers = dict(self.scope["headers"])
        origin = urlsplit(headers.get(b"origin", b"").decode("latin-1"))
        return bool(origin.netloc) and origin.netloc == headers.get(b"host", b"").decode("latin-1")

    async def _may_watch(self, user: User) -> bool:
        if hub.sockets_of(user.pk) >= hub.SOCKETS_PER_USER:
            return False
        return await database_sync_to_async(Run.objects.filter(pk=self.run_id, owner=user).exists)()


def _read(text: str | None) -> tuple[str, int] | None:
    """("seen", seq) or ("drawn", frames), or None for anything else."""
    if text is None or len(text) > LONGEST_MESSAGE:
        return None
    try:
        message = json.loads(text)
    except ValueError:
        return None
    if not isinstance(message, dict) or len(message) != 1:
        return None
    kind, number = next(iter(message.items()))
    if kind not in ("seen", "drawn") or type(number) is not int or not 0 <= number < 2**53:
        return None
    return kind, number


websocket_urls: list[URLPattern | URLResolver] = [
    path("ws/runs/<int:run_id>/", RunConsumer.as_asgi()),
    re_path("", WebsocketDenier.as_asgi()),
]
