"""Seconds a training step takes while browsers watch it, or without any site.

    python -m bench.live.steps '{"browsers": 200, "first": 4, "last": 34}'     0 browsers: `train` alone

With browsers it is the demo of `up`: the same task, knobs and seed as `train order-desk`. The figure is the
mean over the steps from `first` to `last`, as the loop reports them.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.live import site


def main(browsers: int, first: int, last: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        data = work / "data"
        if browsers:
            watched(data, browsers, last)
        else:
            with site.training(data):
                site.wait_for_steps(data, last, lambda: True)
        seconds = site.step_seconds(data)[first - 1 : last]
    return {"figure": statistics.fmean(seconds), "steps": len(seconds), "browsers": browsers}


def watched(data: Path, browsers: int, last: int) -> None:
    arrived = data.with_name("arrived.json")
    with site.up(data, "--no-model-server") as (port, cookie):
        site.wait_for_steps(data, 1, lambda: True)
        watching = {"port": port, "cookie": cookie, "path": "/ws/runs/1/?language=en"}
        with site.browsers(arrived, count=browsers, says_every=64, **watching):
            site.wait_for_steps(data, last, lambda: True)
        record = json.loads(arrived.read_text())
        if not all(record["arrivals"]):
            raise SystemExit("A browser saw nothing of the training it watched.")


if __name__ == "__main__":
    print(json.dumps(main(**json.loads(sys.argv[1]))))
