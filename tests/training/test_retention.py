"""Old runs lose what settings let go, and nothing else; training is not kept waiting."""

import sqlite3
from datetime import timedelta
from io import StringIO

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from artweb.settings import env_limit
from tests import stories
from tests.conftest import MakeRun
from training.models import Event, Run, Score, Trajectory, TrajectoryRecord
from training.review.feed import queries, search
from training.review.feed.filters import Filters
from training.runs import retention

pytestmark = pytest.mark.django_db(transaction=True)
NONE = {"tokens": (0, 0), "transcripts": (0, 0), "log": (0, 0)}


@pytest.fixture
def old(make_run: MakeRun) -> Run:
    run = stories.tell(make_run("old"), stories.training(1, 2, 3), end="done")
    Run.objects.filter(pk=run.pk).update(finished_at=timezone.now() - timedelta(days=40))
    return run


@pytest.fixture
def new(make_run: MakeRun, old: Run) -> Run:
    run = stories.tell(make_run("new"), stories.training(1, 2, 3), end="done")
    Run.objects.filter(pk=run.pk).update(finished_at=timezone.now())
    return run


def left(run: Run) -> tuple[int, int, int]:
    """Tries with tokens, tries with words, lines of the log."""
    records = TrajectoryRecord.objects.filter(trajectory__run=run)
    return (
        sum(bool(record.segments) for record in records),
        sum(bool(record.messages) for record in records),
        Event.objects.filter(run=run, kind="log").count(),
    )


def test_without_settings_everything_is_kept(old: Run, new: Run) -> None:
    before = left(old)
    assert retention.tidy() == retention.due() == {"tokens": 0, "transcripts": 0, "log": 0}
    assert left(old) == before and min(before) > 0


@pytest.mark.parametrize("limit", [(30, 0), (0, 1), (30, 1)])
def test_old_runs_lose_what_is_let_go_and_new_ones_nothing(
    old: Run, new: Run, settings: Settings, limit: tuple[int, int]
) -> None:
    settings.RETENTION = NONE | {"tokens": limit}
    tokens, words, lines = left(old)
    untouched, scores = left(new), Score.objects.count()
    assert retention.due()["tokens"] == tokens
    assert retention.tidy() == {"tokens": tokens, "transcripts": 0, "log": 0}
    assert (left(old), left(new), Score.objects.count()) == ((0, words, lines), untouched, scores)
    assert retention.tidy()["tokens"] == 0


@pytest.mark.parametrize("limit", [(50, 0), (0, 2), (30, 2)])
def test_runs_within_a_limit_are_spared(
    old: Run, new: Run, settings: Settings, limit: tuple[int, int]
) -> None:
    settings.RETENTION = {name: limit for name in NONE}
    assert not any(retention.due().values())


def test_a_run_that_goes_on_is_never_touched(old: Run, settings: Settings) -> None:
    Run.objects.filter(pk=old.pk).update(state="training")
    settings.RETENTION = {name: (1, 0) for name in NONE}
    assert not any(retention.due().values())


def test_what_is_gone_is_not_found_and_pages_still_open(old: Run, settings: Settings, client: Client) -> None:
    assert search.catch_up(60)
    asked = Filters(run=old.pk, text="order")
    assert queries.listing(asked, [old]).rows
    settings.RETENTION = {name: (30, 0) for name in NONE}
    retention.tidy()
    assert left(old) == (0, 0, 0)
    first = Trajectory.objects.filter(run=old).earliest("pk").pk
    assert not search.candidates(queries.asked_of(asked), after=first - 1, before=None, rising=True, limit=9)  # type: ignore[arg-type]
    assert not queries.listing(asked, [old]).rows
    client.force_login(old.owner)
    for address in (
        reverse("tries") + f"?run={old.pk}",
        reverse("run", args=[old.pk]),
        reverse("group", args=[Trajectory.objects.get(pk=first).group_id]),
        reverse("trajectory", args=[first]),
        reverse("tokens", args=[first]),
    ):
        assert client.get(address).status_code == 200, address
    tokens = client.get(f"/trajectories/{first}/?view=tokens").content.decode()
    assert "The tokens of this try are no longer kept" in tokens and "<token-strip" not in tokens


def test_tidy_says_what_would_go_and_changes_nothing(old: Run, settings: Settings) -> None:
    settings.RETENTION = NONE | {"tokens": (30, 0)}
    before, said = left(old), StringIO()
    call_command("tidy", dry_run=True, stdout=said)
    assert f"token records: {before[0]} would go" in said.getvalue()
    assert "transcripts: all are kept" in said.getvalue() and left(old) == before
    call_command("tidy", stdout=said)
    assert f"token records: {before[0]} are gone" in said.getvalue() and left(old)[0] == 0


def test_it_stops_when_its_time_is_over(old: Run, settings: Settings) -> None:
    settings.RETENTION = NONE | {"tokens": (30, 0)}
    assert retention.tidy(stop_after=-1.0)["tokens"] == 0


@pytest.mark.skipif(connection.vendor != "sqlite", reason="Only a SQLite file is shrunk by us.")
def test_the_file_of_a_new_installation_shrinks(old: Run) -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE big (content)")
        cursor.execute("INSERT INTO big VALUES (zeroblob(4000000))")
        cursor.execute("DROP TABLE big")
    assert retention.shrink() >= 900
    assert sqlite3.connect(connection.settings_dict["NAME"]).execute("PRAGMA freelist_count").fetchone() == (
        0,
    )


def test_limits_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for text, limit in (("", (0, 0)), ("30 days", (30, 0)), ("20 runs", (0, 20)), ("7 days, 3 runs", (7, 3))):
        monkeypatch.setenv("ARTWEB_KEEP_TOKENS", text)
        assert env_limit("ARTWEB_KEEP_TOKENS") == limit
    for text in ("30", "days", "0 days", "-1 runs", "5 weeks", "1e3 days"):
        monkeypatch.setenv("ARTWEB_KEEP_TOKENS", text)
        with pytest.raises(ImproperlyConfigured):
            env_limit("ARTWEB_KEEP_TOKENS")
