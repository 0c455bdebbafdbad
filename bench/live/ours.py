"""Delay of live events on our run page, with a training beside it.

python -m bench.live.ours '{"browsers": 200, "rate": 20, "seconds": 20}'
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.live import latency, site


def main(browsers: int, rate: int, seconds: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        happened, arrived = work / "happened.txt", work / "arrived.json"
        asked = {"rate": rate, "seconds": seconds, "happened": str(happened)}
        with (
            site.up(work / "site", "--no-demo", "--no-model-server") as (port, cookie),
            site.training(work / "load"),
            subprocess.Popen(
                [sys.executable, "-m", "bench.live.writer", json.dumps(asked)],
                env=site.environment(work / "site"), cwd=site.ROOT, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            ) as writer,
        ):  # fmt: skip
            assert writer.stdin and writer.stdout
            run, seen = map(int, writer.stdout.readline().split())
            watched = {"port": port, "cookie": cookie, "path": f"/ws/runs/{run}/?language=en", "seen": seen}
            with site.browsers(arrived, count=browsers, says_every=64, **watched):
                writer.stdin.write("go\n")
                writer.stdin.flush()
                if writer.wait(seconds * 3 + 60):
                    raise SystemExit("The events could not be written.")
                time.sleep(latency.AFTERWARDS)
        return latency.told(happened, arrived, exact=False)


if __name__ == "__main__":
    print(json.dumps(main(**json.loads(sys.argv[1]))))
