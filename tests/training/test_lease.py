"""No run ever has two owners, and none is left without one."""

import os
import subprocess
import sys
import threading
import time
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from tests.conftest import MakeRun
from training.models import Event, Run
from training.runs import lease, processes, reconciler

pytestmark = pytest.mark.django_db


def make_lease_end(run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(lease_until=timezone.now() - timedelta(seconds=1))


def end_owner(run: Run) -> None:
    """Have the run be owned by a process of this host that is gone."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    host = processes.this_process().rsplit(":", 2)[0]
    Run.objects.filter(pk=run.pk).update(worker=f"{host}:{gone.pid}:1")


def test_a_claim_gives_a_new_epoch_and_a_second_claim_nothing(run: Run) -> None:
    claimed = lease.claim(run.pk)
    assert claimed == lease.Lease(run.pk, 1)
    assert lease.claim(run.pk) is None
    run.refresh_from_db()
    assert (run.state, run.epoch, run.attempts) == ("preparing", 1, 1)
    assert run.worker == processes.this_process()
    assert run.lease_until and timedelta(0) < run.lease_until - timezone.now() <= lease.LEASE


@pytest.mark.django_db(transaction=True)
def test_of_many_claims_at_once_one_wins(make_run: MakeRun) -> None:
    run = make_run()
    found: list[lease.Lease | None] = []
    gate = threading.Barrier(4)

    def claim() -> None:
        gate.wait()
        found.append(lease.claim(run.pk))
        connection.close()

    threads = [threading.Thread(target=claim) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([claimed for claimed in found if claimed]) == 1
    run.refresh_from_db()
    assert run.epoch == 1


def test_a_lease_that_ended_may_be_taken_and_the_old_one_is_worth_nothing(run: Run) -> None:
    old = lease.claim(run.pk)
    assert old and lease.renew(old)
    make_lease_end(run)
    new = lease.claim(run.pk)
    assert new == lease.Lease(run.pk, 2)
    assert not lease.renew(old)
    assert lease.renew(new)


def test_the_lease_of_a_dead_process_on_this_host_may_be_taken_at_once(run: Run) -> None:
    lease.claim(run.pk)
    end_owner(run)
    assert lease.waiting() == [run.pk]
    assert lease.claim(run.pk) == lease.Lease(run.pk, 2)


def test_an_owner_on_another_host_is_believed_until_its_lease_ends(run: Run) -> None:
    lease.claim(run.pk)
    Run.objects.filter(pk=run.pk).update(worker="elsewhere-0123:1:1")
    assert lease.waiting() == []
    assert lease.claim(run.pk) is None


def test_a_process_id_that_was_given_to_somebody_else_counts_as_dead() -> None:
    host = processes.this_process().rsplit(":", 2)[0]
    assert processes.owner_lives(processes.this_process())
    assert not processes.owner_lives(f"{host}:{os.getpid()}:1")


def test_a_released_run_waits_in_the_queue_and_the_attempt_does_not_count(run: Run) -> None:
    claimed = lease.claim(run.pk)
    assert claimed
    lease.release(claimed)
    run.refresh_from_db()
    assert (run.state, run.attempts, run.worker) == ("queued", 0, "")
    assert lease.waiting() == [run.pk]
    assert not lease.renew(claimed)


def test_a_run_that_kills_every_worker_fails_and_says_so(run: Run) -> None:
    for _ in range(lease.MOST_ATTEMPTS):
        assert lease.claim(run.pk)
        make_lease_end(run)
    assert lease.claim(run.pk) is None
    run.refresh_from_db()
    assert run.state == "failed"
    assert "3 times" in run.error
    assert [event.kind for event in Event.objects.filter(run=run)] == ["log", "state"]


def test_finished_runs_are_nobodys_business(make_run: MakeRun) -> None:
    for state in ("done", "failed", "cancelled", "paused", "draft"):
        assert lease.claim(make_run(state, state=state).pk) is None
    assert lease.waiting() == []


def test_the_reconciler_sends_the_oldest_waiting_run(make_run: MakeRun) -> None:
    now = timezone.now()
    make_run("later", queued_at=now)
    first = make_run("sooner", queued_at=now - timedelta(seconds=5))
    sent: list[int] = []
    assert reconciler.sweep(sent.append) == sent == [first.pk]


def test_the_reconciler_sends_a_run_whose_worker_died(run: Run) -> None:
    sent: list[int] = []
    lease.claim(run.pk)
    assert reconciler.sweep(sent.append) == []
    end_owner(run)
    assert reconciler.sweep(sent.append) == [run.pk]


@pytest.mark.django_db(transaction=True)
def test_a_heartbeat_renews_and_notices_that_the_run_changed_hands(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "RENEW_EVERY", 0.02)
    claimed = lease.claim(run.pk)
    assert claimed
    lost = threading.Event()
    make_lease_end(run)
    with lease.Heartbeat(claimed, lambda: True, lambda reason: lost.set()):
        deadline = time.monotonic() + 60
        while run.lease_until is None or run.lease_until < timezone.now():
            assert not lost.wait(0.05) and time.monotonic() < deadline
            run.refresh_from_db()
        Run.objects.filter(pk=run.pk).update(epoch=7)
        assert lost.wait(60)


@pytest.mark.django_db(transaction=True)
def test_a_heartbeat_stops_renewing_for_a_trainer_that_hangs(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "RENEW_EVERY", 0.02)
    claimed = lease.claim(run.pk)
    assert claimed
    reasons: list[str] = []
    with lease.Heartbeat(claimed, lambda: False, reasons.append) as heartbeat:
        heartbeat._thread.join(60)
    assert "no progress" in reasons[0]
