"""Settings refuse nonsense and keep socket paths short."""

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from artweb import settings


def test_a_long_data_directory_gets_a_short_socket_path() -> None:
    directory = settings.socket_directory(Path("/" + "x" * 200))
    assert len(str(directory / "redis.sock")) < 100
    assert settings.socket_directory(Path("/data")) == Path("/data/run")


def test_a_foreign_database_url_is_refused() -> None:
    with pytest.raises(ImproperlyConfigured, match="mysql://"):
        settings.database("mysql://user@host/name")


def test_a_flag_that_is_neither_on_nor_off_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARTWEB_DEBUG", "yes")
    with pytest.raises(ImproperlyConfigured, match="ARTWEB_DEBUG"):
        settings.env_flag("ARTWEB_DEBUG")


def test_every_test_process_has_its_own_data() -> None:
    assert "artweb-test-" in str(settings.DATA_DIR)
