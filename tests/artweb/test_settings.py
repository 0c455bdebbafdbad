"""Settings refuse nonsense, in one sentence each, and keep socket paths short."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from artweb import settings
from artweb.secrets import load_secrets

MANAGE = Path(settings.BASE_DIR) / "manage.py"


def test_a_long_data_directory_gets_a_short_socket_path() -> None:
    directory = settings.socket_directory(Path("/" + "x" * 200))
    assert len(str(directory / "redis.sock")) < 100
    assert settings.socket_directory(Path("/data")) == Path("/data/run")


def test_a_foreign_database_url_is_refused() -> None:
    with pytest.raises(ImproperlyConfigured, match="mysql://"):
        settings.database("mysql://user@host/name")


@pytest.mark.parametrize("url", ["postgres://user:secret@host:port/name", "postgres://user:secret/word@host"])
def test_an_address_that_is_none_is_refused_without_its_password(url: str) -> None:
    for read, name in ((settings.database, "DATABASE_URL"), (settings.redis, "REDIS_URL")):
        with pytest.raises(ImproperlyConfigured, match=f"{name} is not an address") as refused:
            read(url)
        assert "secret" not in str(refused.value)


def test_a_redis_of_another_kind_is_refused() -> None:
    assert settings.redis("redis://host:6379/0") == "redis://host:6379/0"
    for url in ("localhost:6379", "http://host", "nonsense"):
        with pytest.raises(ImproperlyConfigured, match="REDIS_URL starts with"):
            settings.redis(url)


def test_a_flag_that_is_neither_on_nor_off_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARTWEB_DEBUG", "yes")
    with pytest.raises(ImproperlyConfigured, match="ARTWEB_DEBUG"):
        settings.env_flag("ARTWEB_DEBUG")


def test_every_test_process_has_its_own_data() -> None:
    assert "artweb-test-" in str(settings.DATA_DIR)


@pytest.mark.parametrize("hosts", ["*", ".example.com/", "https://artweb.example", "artweb.example:8000"])
def test_hosts_are_names_alone(monkeypatch: pytest.MonkeyPatch, hosts: str) -> None:
    monkeypatch.setenv("ARTWEB_HOSTS", hosts)
    with pytest.raises(ImproperlyConfigured, match="ARTWEB_HOSTS holds"):
        settings.env_hosts("ARTWEB_HOSTS")
    monkeypatch.setenv("ARTWEB_HOSTS", "artweb.example, 192.168.1.20, [fe80::1]")
    assert len(settings.env_hosts("ARTWEB_HOSTS")) == 3


def test_a_data_directory_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ImproperlyConfigured, match="cannot be made"):
        settings.data_directory(tmp_path / "file")


def test_keys_are_made_once_for_their_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "secrets.json"
    made = load_secrets(file)
    assert load_secrets(file) == made and len(set(made.values())) == 3
    assert file.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["secrets.json"]


@pytest.mark.parametrize("content", ["", '{"django": "a', "[]", '{"django": "short"}', "\xff"])
def test_keys_that_are_not_whole_are_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "secrets.json"
    file.write_text(content, encoding="latin-1")
    with pytest.raises(ImproperlyConfigured, match="does not hold the keys"):
        load_secrets(file)


def test_keys_that_others_may_read_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "secrets.json"
    load_secrets(file)
    file.chmod(0o640)
    with pytest.raises(ImproperlyConfigured, match="chmod 600"):
        load_secrets(file)


def test_the_command_line_tells_it_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "secrets.json").write_text(json.dumps({}))
    environment = {**os.environ, "ARTWEB_DATA": str(tmp_path)}
    told = subprocess.run(
        [sys.executable, str(MANAGE), "up"], env=environment, capture_output=True, text=True
    )
    assert told.returncode == 1 and told.stderr.count("\n") == 1
    assert "does not hold the keys it should" in told.stderr
