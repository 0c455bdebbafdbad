"""`manage.py up`: everything on this machine, one command, until Ctrl-C."""

import errno
import fcntl
import os
import socket
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from artweb import database
from artweb.children import ANYWHERE, children
from artweb.supervisor import Supervisor
from training import access
from training.authoring.toolbox import uploads
from training.models import Run
from training.runs import services


class Command(BaseCommand):
    help = "Start Redis, the site, a worker and the model server; print a sign-in link; stop on Ctrl-C."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="IPv4 address to listen on")
        parser.add_argument("--port", type=int, default=8000, help="port to listen on (default: 8000)")
        parser.add_argument("--no-demo", action="store_true", help="start no first training run")
        parser.add_argument("--no-model-server", action="store_true", help="start no model server")

    def handle(
        self, *, host: str, port: int, no_demo: bool, no_model_server: bool, **options: object
    ) -> None:
        refuse_to_show_tracebacks(host)
        make_private(settings.RUN_DIR)
        with only_one(settings.RUN_DIR / "up.lock"), listening(host, port) as site:
            database.prepare()
            call_command("clearsessions")
            uploads.sweep()
            found = children(site=site, host=host, model_server=not no_model_server)
            self.greet(host, site.getsockname()[1])
            if not no_demo and not Run.objects.exists():
                services.start_demo(owner=access.operator())
            connections.close_all()
            Supervisor(found).run()
        self.stdout.write("Stopped. The next “up” goes on from here.")

    def greet(self, host: str, port: int) -> None:
        """The site's socket is open already: a browser that is faster than the site waits in its queue."""
        shown = "localhost" if host in ("127.0.0.1", *ANYWHERE) else host
        link = f"http://{shown}:{port}{access.make_sign_in_link(access.operator())}"
        self.stdout.write(f"ArtWeb is starting. Sign in once, within a day, with\n\n    {link}\n")
        self.stdout.write("Ctrl-C stops everything.\n")
        self.stdout.flush()
        if host in ANYWHERE:
            self.stdout.write("Set ARTWEB_HOSTS to the names that other machines use for this one.\n")


def refuse_to_show_tracebacks(host: str) -> None:
    """Pages with tracebacks hold settings and code: they are for this machine only."""
    if settings.DEBUG and host not in ("localhost", "127.0.0.1"):
        raise CommandError("ARTWEB_DEBUG shows how the site works inside; leave it off, or leave --host out.")


def make_private(directory: Path) -> None:
    """A directory for sockets that only we may enter; refuses one that somebody else laid out."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"{directory} cannot be written: {error.strerror}.") from None
    if directory.is_symlink() or directory.stat().st_uid != os.getuid():
        raise CommandError(f"{directory} belongs to somebody else. Remove it, or set ARTWEB_DATA elsewhere.")
    directory.chmod(0o700)


@contextmanager
def only_one(path: Path) -> Iterator[None]:
    """Hold the lock of this data directory. The kernel lets go of it even when we are killed."""
    try:
        file = path.open("a+")
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}.") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise CommandError(
                f"ArtWeb runs already with the data in {settings.DATA_DIR} (process {file.read() or '?'}). "
                "Stop that one first, or set ARTWEB_DATA to another directory."
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def listening(host: str, port: int) -> socket.socket:
    """A socket that browsers can already connect to."""
    try:
        site = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        site.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        site.bind((host, port))
    except socket.gaierror:
        raise CommandError(f"{host} is not an address of this machine; try --host 127.0.0.1.") from None
    except OverflowError:
        raise CommandError(f"{port} is not a port; use a number from 1 to 65535.") from None
    except OSError as error:
        raise CommandError(_why_not(error, host, port)) from None
    site.listen(512)
    return site


def _why_not(error: OSError, host: str, port: int) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return f"Port {port} is in use; take another: python3 manage.py up --port {port + 1}"
        case errno.EACCES:
            return f"Port {port} is not open to you; take one above 1023, such as --port 8000."
        case errno.EADDRNOTAVAIL:
            return f"{host} is not an address of this machine; try --host 127.0.0.1."
    return f"Cannot listen on {host}:{port}: {error.strerror}."
