"""The six pages of the wizard, asked for over and over while the demo trains: the whole site by `up`.

    python -m bench.sides.wizard '{"seconds": 40}'

The figure is the 95th percentile over all answers, in milliseconds, from the request to the last byte, with
a browser's cookies; the run must be training before and after, else nothing was measured.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = ("describe", "tools", "scenarios", "reward", "compute", "review")


def started(data: Path) -> tuple[subprocess.Popen[str], str]:
    """`up` with its demo, and the sign-in link it prints."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ARTWEB_")}
    environment.pop("DATABASE_URL", None)
    environment.pop("REDIS_URL", None)
    site = subprocess.Popen(
        [sys.executable, str(ROOT / "manage.py"), "up", "--port", str(port)],
        env=environment | {"ARTWEB_DATA": str(data)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert site.stdout is not None
    for line in site.stdout:
        link = re.search(r"http://\S+/sign-in/\S+", line)
        if link:
            return site, link[0]
    raise SystemExit("The site did not start.")


def signed_in(link: str) -> httpx.Client:
    browser = httpx.Client(timeout=60, follow_redirects=True)
    page = browser.get(link)
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
    assert token is not None
    home = browser.post(link, data={"csrfmiddlewaretoken": token[1]}, headers={"Referer": link})
    home.raise_for_status()
    return browser


def training(browser: httpx.Client, root: str) -> bool:
    return 'class="state state-training"' in browser.get(f"{root}/runs/1/").text


def measured(browser: httpx.Client, root: str, seconds: float) -> dict[str, Any]:
    agents = browser.get(f"{root}/agents/").text
    agent = re.search(r"/agents/(\d+)/", agents)
    assert agent is not None, "there is no agent"
    taken: dict[str, list[float]] = {page: [] for page in PAGES}
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for page in PAGES:
            began = time.perf_counter()
            browser.get(f"{root}/agents/{agent[1]}/{page}/").raise_for_status()
            taken[page].append(1000 * (time.perf_counter() - began))
    every = sorted(one for page in taken.values() for one in page)
    return {
        "figure": every[int(0.95 * len(every))],
        "median_ms": statistics.median(every),
        "slowest_ms": every[-1],
        "answers": len(every),
        "median_by_page_ms": {page: round(statistics.median(found), 1) for page, found in taken.items()},
    }


def main(seconds: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as directory:
        site, link = started(Path(directory))
        root = link.split("/sign-in/")[0]
        try:
            with contextlib.closing(signed_in(link)) as browser:
                while not training(browser, root):
                    time.sleep(0.5)
                found = measured(browser, root, seconds)
                assert training(browser, root), "the training was over before the pages were measured"
                return found
        finally:
            site.send_signal(signal.SIGTERM)
            site.wait(60)


if __name__ == "__main__":
    print(json.dumps(main(**json.loads(sys.argv[1]))))
