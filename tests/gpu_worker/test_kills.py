"""A training killed with SIGKILL at any moment and run again ends as if nothing had happened."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpu_worker.checkpoints import newest_verified

ROOT = Path(__file__).parent.parent.parent


class Training:
    """The small run as a process of its own; every report it makes is a line of `log`."""

    def __init__(self, model: Path, directory: Path, knobs: dict[str, int]) -> None:
        self.directory, self.log = directory / "checkpoints", directory / "log"
        self.log.parent.mkdir()
        self.command = [sys.executable, "-m", "tests.gpu_worker.small_run"]
        self.command += [str(model), str(self.directory), str(self.log), json.dumps(knobs)]

    def start(self) -> subprocess.Popen[bytes]:
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        return subprocess.Popen(self.command, cwd=ROOT, env=environment, stdout=subprocess.PIPE)

    def sha256(self) -> str:
        """Run to the end; the hash of the last weights as the program says it."""
        process = self.start()
        said, _ = process.communicate()
        assert process.returncode == 0
        return said.decode().strip()

    def lines(self) -> list[str]:
        """Whole lines only: a kill may cut the last one."""
        return self.log.read_text().splitlines() if self.log.exists() else []

    def killed_after(self, lines: int, pause: float) -> None:
        """Kill the program `pause` seconds after it has written so many more lines."""
        process = self.start()
        wanted = len(self.lines()) + lines
        while len(self.lines()) < wanted and process.poll() is None:
            time.sleep(0.001)
        time.sleep(pause)
        process.send_signal(signal.SIGKILL)
        process.communicate()

    def reports(self) -> dict[str, str]:
        """Each report once, by its key; a report made twice must say the same both times."""
        found: dict[str, str] = {}
        for line in self.lines():
            kind, content = json.loads(line)
            key = _key(kind, content)
            assert found.setdefault(key, line) == line, f"{key} was reported twice, differently"
        return found


def _key(kind: str, content: dict[str, object]) -> str:
    group, evaluation = content.get("group"), content.get("evaluation")
    if isinstance(group, dict):
        return f"{kind} {content['label']} {group['step']} {group['index']}"
    if isinstance(evaluation, dict):
        return f"{kind} {evaluation['label']} {evaluation['step']}"
    return f"{kind} {content.get('phase', '')} {content.get('step', '')} {content.get('index', '')}"


PIPELINES = {
    "in one process": {"samplers": 0},
    "with a crew": {"samplers": 2},
    "one step off": {"samplers": 2, "off_policy_steps": 1},
}
Unkilled = tuple[dict[str, int], str, dict[str, str]]


@pytest.fixture(scope="module", params=PIPELINES)
def unkilled(
    request: pytest.FixtureRequest, tiny_model: Path, tmp_path_factory: pytest.TempPathFactory
) -> Unkilled:
    knobs = PIPELINES[request.param]
    training = Training(tiny_model, tmp_path_factory.mktemp("kills") / "unkilled", knobs)
    return knobs, training.sha256(), training.reports()


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))])
def test_a_killed_run_ends_with_the_unkilled_runs_weights_and_reports(
    tiny_model: Path, tmp_path: Path, unkilled: Unkilled, seed: int
) -> None:
    """Three kills each: six seeds and three pipelines are 54 moments, nine of them in the quick suite."""
    knobs, sha256, expected = unkilled
    rng = random.Random(seed)
    training = Training(tiny_model, tmp_path / "killed", knobs)
    for _ in range(3):
        training.killed_after(rng.randint(1, 12), rng.random() * 0.1)
    assert training.sha256() == sha256
    found = training.reports()
    resumed = {key for key in found if key.startswith("PhaseChanged training")}
    assert {k: v for k, v in found.items() if k not in resumed} == {
        k: v for k, v in expected.items() if not k.startswith("PhaseChanged training")
    }
    newest, rejected = newest_verified(training.directory)
    assert newest is not None and newest.file.sha256 == sha256
    assert rejected == []
