"""A training killed with SIGKILL at any moment and run again ends as if nothing had happened."""

import contextlib
import json
import multiprocessing
import random
import time
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess as Process
from pathlib import Path

import pytest

from gpu_worker.checkpoints import newest_verified
from tests.gpu_worker import small_run

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["tests.gpu_worker.small_run", "torch._dynamo"])
"""Forks processes that have everything imported: a training takes half a second, importing four."""


class Training:
    """The small run as a process of its own; every report it makes is a line of `log`."""

    def __init__(self, model: Path, directory: Path, knobs: dict[str, int]) -> None:
        self.model, self.knobs = model, knobs
        self.directory, self.log = directory / "checkpoints", directory / "log"
        self.log.parent.mkdir()

    def start(self) -> tuple[Process, Connection]:
        """The process, and where it says its hash; that ends when the crew that it forked is gone too."""
        said, theirs = SERVER.Pipe(duplex=False)
        arguments = (self.model, self.directory, self.log, self.knobs, theirs)
        process = SERVER.Process(target=small_run.main, args=arguments)
        process.start()
        theirs.close()
        return process, said

    def sha256(self) -> str:
        """Run to the end; the hash of the last weights as the process says it."""
        process, said = self.start()
        with said:
            sha256 = said.recv()
        process.join()
        assert process.exitcode == 0
        return str(sha256)

    def lines(self) -> list[str]:
        """Whole lines only: a kill may cut the last one."""
        return self.log.read_text().split("\n")[:-1] if self.log.exists() else []

    def killed_after(self, lines: int, pause: float) -> None:
        """Kill the process `pause` seconds after it has written so many more lines."""
        process, said = self.start()
        wanted = len(self.lines()) + lines
        while len(self.lines()) < wanted and process.is_alive():
            time.sleep(0.005)
        time.sleep(pause)
        process.kill()
        process.join()
        with said, contextlib.suppress(EOFError):
            said.recv()

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


def test_a_report_cut_by_a_kill_is_made_again(tiny_model: Path, tmp_path: Path, unkilled: Unkilled) -> None:
    knobs, sha256, expected = unkilled
    training = Training(tiny_model, tmp_path / "killed", knobs)
    first = next(iter(expected.values()))
    training.log.write_text(f"{first}\n{first[: len(first) // 2]}")
    assert (training.sha256(), training.reports()) == (sha256, expected)


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
