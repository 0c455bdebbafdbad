"""Errands: done once, seen to the end, called off when asked, found again when lost."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone, translation
from django.utils.translation import gettext

from training.authoring.office import errands, tasks
from training.authoring.office.errands import Doing, Failed
from training.models import Errand

pytestmark = pytest.mark.django_db


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Ids of errands that the queue was told of."""
    told: list[int] = []
    monkeypatch.setattr(tasks, "send", told.append)
    return told


@pytest.fixture
def errand(django_user_model: type[User], sent: list[int]) -> Errand:
    return errands.start(owner=django_user_model.objects.create(username="ada"), kind="count", upto=3)


def counted(doing: Doing) -> dict[str, Any]:
    for number in range(doing.arguments["upto"]):
        doing.progress(number, doing.arguments["upto"], "counting", cost=0.01 * number)
    return {"counted": doing.arguments["upto"]}


def carried_out(errand: Errand, work: errands.Work) -> Errand:
    taken = errands.take(errand.pk)
    assert taken is not None
    errands.carry_out(taken, work)
    errand.refresh_from_db()
    return errand


def test_an_errand_is_done_once_and_its_result_kept(errand: Errand) -> None:
    done = carried_out(errand, counted)
    assert (done.state, done.result, done.done, done.total) == ("done", {"counted": 3}, 2, 3)
    assert done.cost == pytest.approx(0.02)
    assert errands.take(errand.pk) is None


def test_the_queue_hears_of_it_when_it_is_written_down(
    sent: list[int], django_user_model: type[User], django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        errand = errands.start(owner=django_user_model.objects.create(username="eve"), kind="count")
    assert sent == [errand.pk]


def test_a_refusal_is_shown_and_an_accident_is_not_explained_in_tracebacks(errand: Errand) -> None:
    def refuse(doing: Doing) -> dict[str, Any]:
        raise Failed("Row 3 has no name.")

    assert carried_out(errand, refuse).error == "Row 3 has no name."
    assert errand.state == "failed"


@pytest.mark.parametrize(
    ("language", "said"), [("en", "Choose a file first."), ("zh-hans", "请先选择文件。")]
)
def test_an_errand_speaks_the_language_of_the_page_that_asked(user: User, language: str, said: str) -> None:
    def refuse(doing: Doing) -> dict[str, Any]:
        raise Failed(gettext("Choose a file first."))

    with translation.override(language):
        asked = errands.start(owner=user, kind="read_table")
    assert carried_out(asked, refuse).error == said


def test_an_accident_fails_the_errand_with_its_kind(errand: Errand) -> None:
    def break_down(doing: Doing) -> dict[str, Any]:
        raise ZeroDivisionError("secret details")

    failed = carried_out(errand, break_down)
    assert failed.state == "failed" and "ZeroDivisionError" in failed.error and "secret" not in failed.error


def test_one_that_nobody_began_is_called_off_at_once(errand: Errand) -> None:
    errands.cancel(errand)
    assert errand.state == "cancelled"
    assert errands.take(errand.pk) is None


def test_one_under_way_ends_at_its_next_sign_of_life(errand: Errand) -> None:
    def cancelled_on_the_way(doing: Doing) -> dict[str, Any]:
        doing.progress(1, 3)
        errands.cancel(Errand.objects.get(pk=doing.errand.pk))
        doing.progress(2, 3)
        raise AssertionError("went on")

    assert carried_out(errand, cancelled_on_the_way).state == "cancelled"


def test_a_lost_message_is_sent_again_by_whoever_looks_but_not_at_every_look(
    errand: Errand, sent: list[int]
) -> None:
    errands.look_after(errand)
    assert sent == []
    Errand.objects.update(beat_at=timezone.now() - errands.SENT_AGAIN_AFTER - timedelta(seconds=1))
    errands.look_after(errand)
    errands.look_after(errand)
    assert sent == [errand.pk]


def test_one_whose_worker_died_is_done_again_and_the_second_time_given_up(
    errand: Errand, sent: list[int]
) -> None:
    long_ago = timezone.now() - errands.SILENT_AFTER - timedelta(seconds=1)
    assert errands.take(errand.pk) is not None
    Errand.objects.update(beat_at=long_ago)
    assert errands.look_after(errand).state == "working" and sent == [errand.pk]
    Errand.objects.update(beat_at=long_ago)
    assert errands.take(errand.pk) is not None
    Errand.objects.update(beat_at=long_ago)
    failed = errands.look_after(errand)
    assert failed.state == "failed" and "died" in failed.error


def test_a_worker_that_comes_back_late_cannot_end_what_was_called_off(errand: Errand) -> None:
    taken = errands.take(errand.pk)
    assert taken is not None
    Errand.objects.update(state="cancelled")
    errands.carry_out(taken, lambda doing: {"late": True})
    errand.refresh_from_db()
    assert (errand.state, errand.result) == ("cancelled", {})


@pytest.mark.django_db(transaction=True)
def test_of_many_who_take_it_one_does(errand: Errand) -> None:
    taken: list[Errand | None] = []
    threads = [threading.Thread(target=_take, args=[errand.pk, taken]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([one for one in taken if one]) == 1


def _take(errand_id: int, taken: list[Errand | None]) -> None:
    try:
        taken.append(errands.take(errand_id))
    finally:
        connection.close()
