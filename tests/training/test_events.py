"""Events come after the last seen one, and the doorbell disturbs nobody."""

import time

import pytest

from tests.conftest import MakeRun
from training.models import Run
from training.runs import events

pytestmark = pytest.mark.django_db


def test_events_come_in_order_after_the_last_seen_one(make_run: MakeRun) -> None:
    run, other = make_run("one"), make_run("two")
    for number in range(5):
        events.append(run.pk, "log", f"log:{number}", {"text": str(number)})
    events.append(other.pk, "log", "log:0", {})
    assert [event.seq for event in events.after(run.pk, 0)] == [1, 2, 3, 4, 5]
    assert [event.payload["text"] for event in events.after(run.pk, 2, limit=2)] == ["2", "3"]
    assert events.after(other.pk, 1) == []


def test_ringing_without_redis_is_silent_and_quick(run: Run) -> None:
    began = time.monotonic()
    for _ in range(1000):
        events.ring(run.pk)
    assert time.monotonic() - began < 30  # a second for each would be 1,000


def test_a_doorbell_is_a_valid_group_name_that_cannot_be_guessed(make_run: MakeRun) -> None:
    first, second = events.doorbell(1), events.doorbell(2)
    assert first != second and first == events.doorbell(1)
    assert len(first) < 100 and first.replace(".", "").isalnum()
