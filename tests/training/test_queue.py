"""The line of waiting runs: who is next, what a person may move, and what workers take meanwhile."""

import threading
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.conftest import MakeRun
from training.models import Run, StepMetrics
from training.runs import lease, line, queries, tasks

pytestmark = pytest.mark.django_db


@pytest.fixture
def waiting(make_run: MakeRun) -> list[Run]:
    """Three runs in line, a, b and c."""
    now = timezone.now()
    return [make_run(name, queued_at=now + timedelta(seconds=at)) for at, name in enumerate("abc")]


def order() -> list[str]:
    names = dict(Run.objects.values_list("pk", "name"))
    return [names[pk] for pk in lease.waiting()]


def test_the_first_in_line_is_taken_whichever_run_the_worker_was_told_about(
    waiting: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[int] = []
    monkeypatch.setattr("training.runs.worker.work", lambda claimed: taken.append(claimed.run_id))
    for told in (waiting[2], waiting[0], waiting[1], waiting[1]):
        tasks.train(told.pk)
    assert taken == [run.pk for run in waiting]


@pytest.mark.parametrize(
    ("who", "to", "expected"), [(2, 0, "cab"), (0, 2, "bca"), (1, 0, "bac"), (1, 1, "abc"), (0, 99, "bca")]
)
def test_a_run_moves_to_the_place_it_is_given(waiting: list[Run], who: int, to: int, expected: str) -> None:
    assert line.move(waiting[who], to)
    assert "".join(order()) == expected
    claimed = lease.claim_next()
    assert claimed and Run.objects.get(pk=claimed.run_id).name == expected[0]


def test_runs_of_the_same_moment_can_be_told_apart_once_they_are_moved(make_run: MakeRun) -> None:
    now = timezone.now()
    first, second = make_run("a", queued_at=now), make_run("b", queued_at=now)
    line.move(second, 0)
    assert order() == ["b", "a"]
    line.move(first, 0)
    assert order() == ["a", "b"]


def test_what_is_not_waiting_cannot_be_moved(waiting: list[Run]) -> None:
    claimed = lease.claim_next()
    assert claimed and not line.move(waiting[0], 2)
    assert order() == ["b", "c"]


def test_a_person_never_passes_the_runs_of_somebody_else(waiting: list[Run], other_user: User) -> None:
    Run.objects.filter(pk=waiting[1].pk).update(owner=other_user)
    line.move(waiting[2], 0)
    assert order() == ["c", "b", "a"]
    assert [(found.run.name, found.place) for found in line.waiting(other_user)] == [("b", 2)]


def test_a_run_that_was_begun_goes_before_all_that_wait(waiting: list[Run]) -> None:
    line.move(waiting[2], 0)
    claimed = lease.claim_next()
    assert claimed
    Run.objects.filter(pk=claimed.run_id).update(lease_until=timezone.now() - timedelta(seconds=1))
    again = lease.claim_next()
    assert again and again.run_id == claimed.run_id == waiting[2].pk


def test_a_run_taken_back_to_the_line_is_first_again(waiting: list[Run]) -> None:
    claimed = lease.claim_next()
    assert claimed
    lease.release(claimed)
    assert order() == ["a", "b", "c"]


def test_a_worker_that_looked_before_the_line_was_reordered_takes_nothing_by_it(waiting: list[Run]) -> None:
    seen = [(run.pk, run.epoch) for run in waiting]
    line.move(waiting[2], 0)
    assert lease.claim(*seen[0]) is None
    claimed = lease.claim_next()
    assert claimed and claimed.run_id == waiting[2].pk


def test_a_reorder_between_look_and_claim_is_honoured(
    waiting: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    look, moved = lease._line, []

    def look_then_move() -> list[tuple[int, int]]:
        found = look()
        if not moved:
            moved.append(line.move(waiting[2], 0))
        return found

    monkeypatch.setattr(lease, "_line", look_then_move)
    claimed = lease.claim_next()
    assert moved and claimed and claimed.run_id == waiting[2].pk


@pytest.mark.django_db(transaction=True)
def test_two_workers_and_somebody_who_reorders_never_lose_or_share_a_run(make_run: MakeRun) -> None:
    now = timezone.now()
    runs = [make_run(f"r{at:02}", queued_at=now + timedelta(seconds=at)) for at in range(12)]
    taken: list[list[int]] = [[], []]
    gate = threading.Barrier(3)

    def work(mine: list[int]) -> None:
        gate.wait()
        while (claimed := lease.claim_next()) is not None:
            mine.append(claimed.run_id)
        connection.close()

    def reorder() -> None:
        gate.wait()
        for run in reversed(runs):
            line.move(run, 0)
        connection.close()

    threads = [threading.Thread(target=work, args=[mine]) for mine in taken]
    threads.append(threading.Thread(target=reorder))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken[0] + taken[1]) == [run.pk for run in runs]
    assert set(Run.objects.values_list("state", flat=True)) == {"preparing"}


def test_the_place_and_the_time_until_it_starts_are_told(waiting: list[Run]) -> None:
    Run.objects.update(estimate={"seconds": [120, 240]})
    line_of_ann = line.waiting(waiting[0].owner)
    assert line_of_ann[0].words.startswith("Next in line. It starts by itself")
    assert line_of_ann[1].words == "Number 2 in line, starts in about 2 min to 4 min."
    assert line_of_ann[2].words == "Number 3 in line, starts in about 4 min to 8 min."
    assert line.words_of(waiting[2]) == line_of_ann[2].words


def test_the_run_under_way_counts_by_its_steps(waiting: list[Run]) -> None:
    lease.claim_next()
    for step in range(1, 4):
        StepMetrics.objects.create(run=waiting[0], step=step, values={"seconds": 10.0})
    Run.objects.filter(pk=waiting[0].pk).update(state="training", step=3, steps=9)
    starts = line.waiting(waiting[0].owner)[0].starts
    assert starts is not None and (starts.low, starts.high) == (60, pytest.approx(69))


def test_without_an_estimate_no_time_is_told(waiting: list[Run]) -> None:
    assert line.waiting(waiting[0].owner)[1].words.startswith("Number 2 in line. It starts by itself")


def test_the_page_moves_a_run_and_says_so(client: Client, user: User, waiting: list[Run]) -> None:
    client.force_login(user)
    before = queries.home_mark(user)
    page = client.post(reverse("place", args=[waiting[2].pk]), {"to": "0"}, headers={"HX-Request": "true"})
    text = page.content.decode()
    assert "c is number 1 in line now." in text
    assert text.index(f'id="queued-{waiting[2].pk}"') < text.index(f'id="queued-{waiting[0].pk}"')
    assert queries.home_mark(user) != before
    assert client.post(reverse("place", args=[waiting[2].pk]), {"to": "1"}).headers["Location"] == "/"
    assert order() == ["a", "c", "b"]


@pytest.mark.parametrize("to", ["", "x", "-1", "²", "9" * 40])
def test_a_place_that_is_none_breaks_nothing(client: Client, user: User, waiting: list[Run], to: str) -> None:
    client.force_login(user)
    assert client.post(reverse("place", args=[waiting[1].pk]), {"to": to}).status_code == 302
    assert sorted(order()) == ["a", "b", "c"]


def test_the_runs_of_somebody_else_cannot_be_moved(
    client: Client, other_user: User, waiting: list[Run]
) -> None:
    client.force_login(other_user)
    assert client.post(reverse("place", args=[waiting[2].pk]), {"to": "0"}).status_code == 404
    assert order() == ["a", "b", "c"]
    client.logout()
    assert client.post(reverse("place", args=[waiting[2].pk]), {"to": "0"}).status_code == 302
    assert client.get(reverse("place", args=[waiting[2].pk])).status_code == 405
    assert order() == ["a", "b", "c"]
