"""`manage.py train order-desk` with one seed, in a data directory of its own: how long until it is good.

    python -m bench.sides.order_desk '{"seed": 0, "steps": 0}'     steps 0 takes the environment's own

The figure is the wall time of the whole command, from nothing to the verdict of its own held-out test, if
that says 0.9 or more, and NEVER otherwise. The first validation that says 0.9 is told beside it.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

GOOD = 0.9
"""Held-out success that counts as learned."""
NEVER = 1e6
"""Seconds that stand for a run that did not get there."""
ROOT = Path(__file__).resolve().parent.parent.parent


def trained(seed: int, steps: int, data: Path) -> dict[str, Any]:
    command = [sys.executable, str(ROOT / "manage.py"), "train", "order-desk", "--seed", str(seed), "--json"]
    command += ["--steps", str(steps)] if steps else []
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ARTWEB_")}
    environment |= {"ARTWEB_DATA": str(data)}
    environment.pop("DATABASE_URL", None)
    began = time.time()
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    seconds = time.time() - began
    told = json.loads(done.stdout.strip().rpartition("\n")[2])
    success = told["trained"]["success"]
    return {
        "figure": seconds if success >= GOOD else NEVER,
        "seed": seed,
        "command_s": round(seconds, 2),
        "first_good_validation_s": first_good_validation(data, began),
        "success_before": told["baseline"]["success"],
        "success": success,
        "steps": told["steps"],
        "trajectories": told["trajectories"],
        "weights_sha256": told["weights_sha256"],
    }


def first_good_validation(data: Path, began: float) -> float | None:
    """Seconds from the command to the first validation of GOOD or more, as the run's events tell."""
    with sqlite3.connect(data / "artweb.sqlite3") as database:
        rows = database.execute(
            "select payload, created_at from training_event where kind = 'evaluation' order by seq"
        )
        for payload, created_at in rows:
            told = json.loads(payload)
            if told["label"] == "validation" and told["success"] >= GOOD:
                at = datetime.fromisoformat(f"{created_at}+00:00").timestamp()
                return round(at - began, 2)
    return None


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        print(json.dumps(trained(**json.loads(sys.argv[1]), data=Path(directory))))
