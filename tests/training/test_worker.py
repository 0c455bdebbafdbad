"""A whole run through lease, loop and recorder, with a tiny model; killed, ended, failed and paused."""

import contextlib
import errno
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection

from gpu_worker.checkpoints import DiskFull
from gpu_worker.engines.embedded.directory import ModelError
from gpu_worker.types import Group, JudgeFailed, Report, StepDone
from judging.llm import Refused
from tests.gpu_worker import small_run
from tests.tiny_model import build
from training.models import Agent, Checkpoint, Event, Run, Scenario, StepMetrics, Trajectory
from training.runs import lease, services, tasks, worker

pytestmark = pytest.mark.django_db(transaction=True)

KNOBS = ("steps", "groups_per_step", "group_size", "max_turns", "max_tokens", "max_context", "learning_rate",
         "lora_rank", "lora_alpha", "eval_every", "eval_scenarios", "val_scenarios", "seed",
         "samplers")  # fmt: skip


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("models") / "tiny-llama")


@pytest.fixture
def small_runs(user: User, model: Path) -> Iterator[Run]:
    """Runs of the same small job: next(small_runs) is queued and ready to be trained."""
    yield from queued(user, model)


@pytest.fixture
def crewed_runs(user: User, model: Path) -> Iterator[Run]:
    """The same with two processes that play."""
    yield from queued(user, model, samplers=2)


def queued(user: User, model: Path, **knobs: object) -> Iterator[Iterator[Run]]:
    job = small_run.small_job(Path("unused"))
    agent = Agent.objects.create(owner=user, name="Small", environment=job.environment, base_model=str(model))
    Scenario.objects.bulk_create(
        Scenario(agent=agent, key=s.id, split=s.split, messages=list(s.messages), expect=s.expect)
        for s in job.scenarios
    )
    config = {knob: getattr(job, knob) for knob in KNOBS} | knobs

    def runs() -> Iterator[Run]:
        for number in range(100):
            name = f"small-{number}"
            yield services.start_run(owner=user, agent=agent, name=name, config=config, request_id=name)

    yield runs()


@pytest.fixture
def pleasable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge that random text can please."""
    monkeypatch.setattr(worker, "judge_for", lambda job, environment, **how: small_run.judge)


def what_happened(run: Run) -> list[tuple[str, object]]:
    """Every event but those of owners coming and going, without row ids and seconds."""
    assert [event.seq for event in run.events.all()] == list(range(1, run.events.count() + 1))
    told = []
    for event in run.events.exclude(kind="state"):
        payload = {k: v for k, v in event.payload.items() if not k.endswith("_id")}
        if event.kind == "step":
            payload["metrics"] = {k: v for k, v in payload["metrics"].items() if "second" not in k}
        told.append((event.key, payload))
    return sorted(told, key=lambda pair: pair[0])


def trained(run: Run) -> Run:
    tasks.train(run.pk)
    run.refresh_from_db()
    assert run.state == "done", run.error
    return run


class Killable:
    """The program `killable_worker`."""

    def __init__(self) -> None:
        name = str(connection.settings_dict["NAME"])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.training.killable_worker"],
            env={**os.environ, "ARTWEB_TEST_DATABASE": name},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdin and self.process.stdout
        self.orders, self.answers = self.process.stdin, self.process.stdout
        assert self.answers.readline() == "ready\n"

    def start(self, run: Run, halts_in: int = 0) -> int:
        """The process that trains it; with `halts_in`, when it has halted in that step."""
        self.orders.write(f"{run.pk} {halts_in}\n")
        self.orders.flush()
        child = int(self.answers.readline())
        if halts_in:
            wait_until(lambda: process_state(child) == "T")
        return child

    def ended(self) -> int:
        return int(self.answers.readline())

    def finish(self, run: Run) -> Run:
        self.start(run)
        assert self.ended() == 0
        run.refresh_from_db()
        assert run.state == "done", (run.state, run.error)
        return run


@pytest.fixture
def killable() -> Iterator[Killable]:
    program = Killable()
    yield program
    program.orders.close()
    program.process.wait(60)
    program.answers.close()


def wait_until(true: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def process_state(pid: int) -> str:
    """As the kernel calls it: T is halted, Z dead but not buried; "" is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def test_a_run_leaves_everything_the_pages_need(small_runs: Iterator[Run], pleasable: None) -> None:
    run = trained(next(small_runs))
    assert (run.step, run.worker, run.lease_until, run.wish) == (6, "", None, "")
    assert run.summary["steps"] == 6 and run.summary["baseline"]["n"] == 6
    assert run.summary["trajectories"] == Trajectory.objects.filter(group__run=run).count()
    assert list(StepMetrics.objects.filter(run=run).values_list("step", flat=True)) == [1, 2, 3, 4, 5, 6]
    newest = Checkpoint.objects.filter(run=run).last()
    assert newest and newest.sha256 == run.summary["weights_sha256"] and newest.kept
    assert {e.kind for e in run.events.all()} >= {"state", "group", "step", "evaluation"}
    states = [e.payload["state"] for e in Event.objects.filter(run=run, kind="state")]
    assert states == ["queued", "preparing", "baseline", "training", "evaluating", "done"]
    assert Trajectory.objects.filter(group__run=run, advantage__isnull=False).exists()


def test_a_second_delivery_has_no_effect(small_runs: Iterator[Run], pleasable: None) -> None:
    run = trained(next(small_runs))
    events = run.last_seq
    tasks.train(run.pk)
    tasks.train(run.pk + 1000)
    run.refresh_from_db()
    assert (run.last_seq, run.epoch) == (events, 1)


def pause(run_id: int) -> None:
    services.pause_run(Run.objects.get(pk=run_id))
    connection.close()


def test_a_paused_run_goes_on_to_the_same_end(small_runs: Iterator[Run], pleasable: None) -> None:
    whole, paused = trained(next(small_runs)), next(small_runs)
    claimed = lease.claim(paused.pk)
    assert claimed

    def pause_after_two(report: Report) -> None:
        if isinstance(report, StepDone) and report.step == 2:
            with ThreadPoolExecutor() as somebody:  # as the page would, in another process
                somebody.submit(pause, paused.pk).result()

    worker.work(claimed, watch=pause_after_two)
    paused.refresh_from_db()
    assert (paused.state, paused.wish) == ("paused", "") and 2 <= paused.step < 6
    services.resume_run(paused)
    trained(paused)
    assert paused.summary["weights_sha256"] == whole.summary["weights_sha256"]
    assert what_happened(paused) == what_happened(whole)


def test_a_judge_that_fails_too_often_pauses_the_run_until_it_is_mended(
    small_runs: Iterator[Run], pleasable: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, lost = trained(next(small_runs)), next(small_runs)

    async def mute(group: Group) -> Group:
        if group.step == 3 and len(group.trajectories) > 1:
            raise JudgeFailed("The provider is out of order.")
        return await small_run.judge(group)

    with monkeypatch.context() as for_a_while:
        for_a_while.setattr(worker, "judge_for", lambda job, environment, **how: mute)
        tasks.train(lost.pk)
    lost.refresh_from_db()
    assert (lost.state, lost.step) == ("paused", 2)
    assert "had no usable judgement, more than 20%" in lost.error and "press Resume" in lost.error
    services.resume_run(lost)
    assert trained(lost).summary["weights_sha256"] == whole.summary["weights_sha256"]


def test_a_wish_made_while_nobody_worked_is_granted_first(small_runs: Iterator[Run]) -> None:
    run = next(small_runs)
    claimed = lease.claim(run.pk)
    assert claimed
    Run.objects.filter(pk=run.pk).update(wish="stop")
    assert worker.work(claimed) is None
    run.refresh_from_db()
    assert run.state == "cancelled" and run.finished_at


def test_a_failure_is_told_in_a_sentence_and_can_be_resumed(
    small_runs: Iterator[Run], pleasable: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = next(small_runs)
    with monkeypatch.context() as broken:
        broken.setattr(worker, "LoraTrainer", lambda model, job: 1 / 0)
        tasks.train(run.pk)
    run.refresh_from_db()
    assert run.state == "failed"
    assert run.error.startswith("Something unforeseen happened (ZeroDivisionError")
    line = Event.objects.filter(run=run, kind="log").get()
    assert line.payload["level"] == "error" and "Traceback" in line.payload["text"]
    services.resume_run(run)
    trained(run)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ModelError("The model in x has no chat template."), "has no chat template"),
        (DiskFull("There is no room for a checkpoint."), "no room for a checkpoint"),
        (OSError(errno.ENOSPC, "No space left on device"), "The disk is full"),
        (OperationalError("database or disk is full"), "The disk is full"),
        (MemoryError(), "ran out of memory"),
        (
            RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate"),
            "ran out of memory",
        ),
        (PermissionError(errno.EACCES, "Permission denied", "/data/x"), "Check the permissions"),
        (ValueError("odd\nsecond line"), "(ValueError: odd)"),
    ],
)
def test_every_known_failure_has_its_words(error: Exception, words: str) -> None:
    assert words in worker.why(error)


def test_a_judge_that_refuses_with_hostile_words_fails_the_run_in_its_sentence(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(job: object) -> None:
        raise Refused("the judge said \ud800\0 <b>")

    monkeypatch.setattr(worker.jobs, "job_for", refuse)
    tasks.train(run.pk)
    run.refresh_from_db()
    assert (run.state, run.error) == ("failed", "the judge said ?\N{REPLACEMENT CHARACTER} <b>")


def test_a_worker_that_is_told_to_leave_gives_the_run_back(
    small_runs: Iterator[Run], killable: Killable
) -> None:
    run = next(small_runs)
    child = killable.start(run, halts_in=2)
    os.kill(child, signal.SIGTERM)
    os.kill(child, signal.SIGCONT)
    assert killable.ended() == 0
    run.refresh_from_db()
    assert (run.state, run.worker) == ("queued", "")
    killable.finish(run)
    assert run.epoch == 2


def kill_and_compare(runs: Iterator[Run], killable: Killable, moments: list[float]) -> None:
    """Kill a run at each share of an unkilled run's time; all must end as that one did."""
    whole = next(runs)
    began = time.monotonic()
    killable.finish(whole)
    duration = time.monotonic() - began
    for moment in moments:
        run = next(runs)
        child = killable.start(run)
        time.sleep(moment * duration)
        with contextlib.suppress(ProcessLookupError):  # it was quicker than the first one
            os.kill(child, signal.SIGKILL)
        killable.ended()
        run.refresh_from_db()
        assert run.pk in lease.waiting() or run.state == "done"
        if run.state != "done":
            killable.finish(run)
        assert run.summary["weights_sha256"] == whole.summary["weights_sha256"], moment
        assert what_happened(run) == what_happened(whole), moment


def test_a_killed_worker_is_replaced_and_nothing_is_lost_or_doubled(
    small_runs: Iterator[Run], killable: Killable
) -> None:
    kill_and_compare(small_runs, killable, [0.3, 0.7])


def players_of(pid: int) -> list[int]:
    """The processes that play for a worker, oldest first."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_losing_a_process_that_plays_is_as_good_as_losing_the_worker(
    crewed_runs: Iterator[Run], killable: Killable
) -> None:
    whole, run = killable.finish(next(crewed_runs)), next(crewed_runs)
    child = killable.start(run, halts_in=3)
    os.kill(players_of(child)[-1], signal.SIGKILL)
    os.kill(child, signal.SIGCONT)
    assert killable.ended() == worker.LOST
    run.refresh_from_db()
    assert run.pk in lease.waiting() and run.state in Run.ACTIVE
    killable.finish(run)
    assert run.summary["weights_sha256"] == whole.summary["weights_sha256"]
    assert what_happened(run) == what_happened(whole)


def test_a_killed_worker_takes_its_players_with_it(crewed_runs: Iterator[Run], killable: Killable) -> None:
    run = next(crewed_runs)
    child = killable.start(run, halts_in=2)
    players = players_of(child)
    os.kill(child, signal.SIGKILL)
    killable.ended()
    assert len(players) == 2
    wait_until(lambda: all(process_state(pid) in ("", "Z") for pid in players), 60)


@pytest.mark.slow
def test_twenty_kills_at_random_moments_change_nothing(small_runs: Iterator[Run], killable: Killable) -> None:
    moments = random.Random(20)
    kill_and_compare(small_runs, killable, [moments.uniform(0.0, 1.0) for _ in range(20)])
