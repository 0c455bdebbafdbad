"""Kills trainings with SIGKILL at random moments, lets them go on, and compares how they end.

    python -m bench.sides.kills '{"kills": 200, "samplers": 2, "ahead": 0}'

Every life of a training is a fork of this process, which has loaded everything and computed nothing, so a
life costs what the training costs. A training is killed up to LIVES times, each time after a random part of
what an undisturbed one takes, and then runs to its end. A kill counts as survived when the weights its
training ends with have the hash of the undisturbed training's.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from gpu_worker.types import Report, Wish
from tests import tiny_model
from tests.gpu_worker import small_run

LIVES = 4
"""Kills that one training suffers at most."""
JOB = {"steps": 4, "groups_per_step": 2, "eval_every": 2, "eval_scenarios": 3, "val_scenarios": 2}
SAID_EVERY = 10
HUNG_AFTER = 120.0
"""Seconds after which a training that should end by itself counts as hung."""


class Life:
    """One process of a training; it writes the hash of the final weights into its directory."""

    def __init__(self, model: Path, directory: Path, knobs: dict[str, Any]) -> None:
        self.told = directory / "sha256"
        self.pid = _forked(lambda: self._live(model, directory, knobs))

    def _live(self, model: Path, directory: Path, knobs: dict[str, Any]) -> None:
        torch.set_num_threads(1)
        job = small_run.small_job(directory / "checkpoints", **JOB, **knobs)
        self.told.write_text(small_run.run(model, job, _go).weights_sha256)

    def ended_within(self, seconds: float) -> bool:
        """Wait for the end, no longer than that. Raises RuntimeError when it ended with an error."""
        until = time.monotonic() + seconds
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid and status:
                raise RuntimeError(f"a training ended with status {status}")
            if pid:
                return True
            if time.monotonic() >= until:
                return False
            time.sleep(0.002)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def _go(report: Report) -> Wish:
    return "go"


def _forked(work: Callable[[], object]) -> int:
    """The process id of a child that does `work` and ends."""
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
        os._exit(0)
    except BaseException:  # a forked process must not run its parent's code, whatever happened
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(1)


class Trainings:
    """The same training again and again: undisturbed once, then killed."""

    def __init__(self, root: Path, knobs: dict[str, Any]) -> None:
        self.root, self.knobs, self.made = root, knobs, 0
        self.model = root / "model"
        os.waitpid(_forked(lambda: tiny_model.build(self.model)), 0)

    def undisturbed(self) -> tuple[str, float]:
        """Hash and seconds; of two runs, as the first one also warms the disk's caches."""
        hashes = []
        for _ in range(2):
            began = time.monotonic()
            hashes.append(self.ended(self._directory()))
            seconds = time.monotonic() - began
        if hashes[0] != hashes[1]:
            raise RuntimeError("two undisturbed trainings end with different weights")
        return hashes[0], seconds

    def killed(self, rng: random.Random, most: int, seconds: float) -> tuple[int, str]:
        """How often one training was killed (at most `most` times), and the hash it ended with."""
        directory, kills = self._directory(), 0
        while kills < most:
            life = Life(self.model, directory, self.knobs)
            if life.ended_within(rng.random() * seconds):
                return kills, life.told.read_text()
            life.kill()
            kills += 1
        return kills, self.ended(directory)

    def ended(self, directory: Path) -> str:
        life = Life(self.model, directory, self.knobs)
        if not life.ended_within(HUNG_AFTER):
            life.kill()
            raise RuntimeError(f"a training did not end within {HUNG_AFTER:g} s")
        return life.told.read_text()

    def _directory(self) -> Path:
        self.made += 1
        directory = self.root / str(self.made)
        directory.mkdir()
        return directory


def survived(options: dict[str, int], root: Path) -> dict[str, Any]:
    knobs = {"samplers": options["samplers"], "off_policy_steps": options["ahead"]}
    trainings, rng = Trainings(root, knobs), random.Random(options["seed"])
    expected, seconds = trainings.undisturbed()
    kills = same = 0
    began, said = time.monotonic(), 0
    while kills < options["kills"]:
        suffered, found = trainings.killed(rng, min(LIVES, options["kills"] - kills), seconds)
        kills += suffered
        same += suffered if found == expected else 0
        if kills >= said + SAID_EVERY:
            said = kills
            left = (time.monotonic() - began) / kills * (options["kills"] - kills)
            print(f"kills {kills}, identical {same}, {left:.0f} s to go", file=sys.stderr, flush=True)
    return {"figure": same, "kills": kills, "seconds_undisturbed": round(seconds, 2), "sha256": expected}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as root:
        print(json.dumps(survived(json.loads(sys.argv[1]), Path(root))))
