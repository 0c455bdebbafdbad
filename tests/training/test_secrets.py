"""Secrets: sealed in the database, revealed to their owner's tools, and found nowhere else."""

import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import User
from django.core.management import call_command
from pytest_django import Settings

from gpu_worker.tools.filling import secret_names
from gpu_worker.tools.guard import Guard
from gpu_worker.tools.http import http_tool
from gpu_worker.types import ToolError, ToolPlan, ToolSpec
from tests.gpu_worker.outsides import outside
from tests.gpu_worker.service import says, service
from training import secrets
from training.models import Agent, Secret, Tool, ToolCall
from training.secrets import SecretRefused

pytestmark = pytest.mark.django_db
VALUE = "sk-canary-5a1f0c2e9b"


def test_a_secret_is_revealed_to_its_owner_alone(user: User, other_user: User) -> None:
    secrets.put(owner=user, name="SHOP_KEY", value=f" {VALUE}\n")
    assert secrets.revealed(user, ["SHOP_KEY", "OTHER"]) == {"SHOP_KEY": VALUE}
    assert secrets.revealed(other_user, ["SHOP_KEY"]) == {}


def test_pages_have_its_last_four_characters(user: User) -> None:
    kept = secrets.put(owner=user, name="SHOP_KEY", value=VALUE)
    assert (kept.last4, kept.used_at) == ("2e9b", None)
    assert secrets.put(owner=user, name="SHORT", value="12345678").last4 == ""
    secrets.revealed(user, ["SHOP_KEY"])
    kept.refresh_from_db()
    assert kept.used_at is not None


def test_a_value_can_be_replaced_renamed_and_deleted(user: User) -> None:
    kept = secrets.put(owner=user, name="SHOP_KEY", value=VALUE)
    secrets.replace(kept, value="another-value-0123")
    assert kept.last4 == "0123"
    secrets.rename(kept, name="NEW_KEY")
    assert secrets.revealed(user, ["SHOP_KEY", "NEW_KEY"]) == {"NEW_KEY": "another-value-0123"}
    secrets.delete(kept)
    assert secrets.revealed(user, ["NEW_KEY"]) == {}


def test_two_secrets_of_a_person_have_two_names(user: User, other_user: User) -> None:
    secrets.put(owner=user, name="SHOP_KEY", value=VALUE)
    secrets.put(owner=other_user, name="SHOP_KEY", value=VALUE)
    other = secrets.put(owner=user, name="OTHER", value=VALUE)
    for attempt in (
        lambda: secrets.put(owner=user, name="SHOP_KEY", value=VALUE),
        lambda: secrets.rename(other, name="SHOP_KEY"),
    ):
        with pytest.raises(SecretRefused, match="already have a secret called SHOP_KEY"):
            attempt()


@pytest.mark.parametrize("name", ["", "shop", "1KEY", "A-B", "A" * 61, "Ä", "A B", "A\nB", "KEY}}"])
def test_a_name_fits_into_a_template(user: User, name: str) -> None:
    with pytest.raises(SecretRefused, match="capital letters"):
        secrets.put(owner=user, name=name, value=VALUE)
    assert secret_names("{{secret:%s}}" % ("A" * 60)) == {"A" * 60}


@pytest.mark.parametrize(
    "value", ["", "1234567", " 1234567 ", "x" * 4001, "pass word\nline", "geheimnißvoll"]
)
def test_a_value_is_one_line_of_some_length(user: User, value: str) -> None:
    with pytest.raises(SecretRefused) as refusal:
        secrets.put(owner=user, name="SHOP_KEY", value=value)
    assert not value.strip() or value.strip() not in str(refusal.value)
    assert not Secret.objects.exists()


def test_a_row_that_was_moved_or_spoiled_reveals_nothing(user: User, other_user: User) -> None:
    kept = secrets.put(owner=user, name="SHOP_KEY", value=VALUE)
    Secret.objects.filter(pk=kept.pk).update(owner=other_user)
    with pytest.raises(SecretRefused, match="can no longer be opened"):
        secrets.revealed(other_user, ["SHOP_KEY"])
    Secret.objects.filter(pk=kept.pk).update(owner=user, sealed="spoiled")
    with pytest.raises(SecretRefused, match="can no longer be opened"):
        secrets.revealed(user, ["SHOP_KEY"])


def test_a_new_key_goes_before_the_old_one(user: User, settings: Settings) -> None:
    secrets.put(owner=user, name="OLD", value=VALUE)
    both = f"{Fernet.generate_key().decode()},{settings.SECRETS['encryption']}"
    settings.SECRETS = {**settings.SECRETS, "encryption": both}
    secrets.put(owner=user, name="NEW", value=VALUE)
    assert secrets.revealed(user, ["OLD", "NEW"]) == {"OLD": VALUE, "NEW": VALUE}
    settings.SECRETS = {**settings.SECRETS, "encryption": both.split(",")[0]}
    assert secrets.revealed(user, ["NEW"]) == {"NEW": VALUE}


def test_the_value_is_found_in_no_row_log_or_result(
    agent: Agent, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    secrets.put(owner=agent.owner, name="SHOP_KEY", value=VALUE)
    headers = {"Authorization": "Bearer {{secret:SHOP_KEY}}"}
    tool = Tool.objects.create(agent=agent, name="shop", kind="http", settings={"headers": headers})
    with service() as there:
        there.script = says({"you sent": f"Bearer {VALUE}"})
        plan = ToolPlan(ToolSpec("shop", "", {}), "http", {"url": f"{there.url}/", **tool.settings})
        known = secrets.revealed(agent.owner, secret_names(plan.settings))
        guard = Guard(hosts=frozenset({f"127.0.0.1:{there.port}"}))
        result = http_tool(plan, outside(known), guard).call({})
        assert there.asked[0].headers["authorization"] == f"Bearer {VALUE}"
        there.script = says(f"no such key: {VALUE}", 401)
        with pytest.raises(ToolError) as refusal:
            http_tool(plan, outside(known), guard).call({})
    for text in (result, str(refusal.value)):
        ToolCall.objects.create(tool=tool, arguments={}, result=text, ok=True, seconds=0.1)
    call_command("dumpdata", output=str(tmp_path / "dump.json"), exclude=["contenttypes"])
    dump = (tmp_path / "dump.json").read_text()
    written = "".join(record.getMessage() for record in caplog.records)
    for text in (result, str(refusal.value), dump, written):
        assert "canary" not in text
    assert "SHOP_KEY" in dump and "2e9b" in dump


def test_the_web_process_never_reveals() -> None:
    """Not one module that it loads names the function that does."""
    question = (
        "import artweb.asgi, artweb.urls, training.urls, sys; from pathlib import Path;"
        "print([name for name, module in sys.modules.items() if name.startswith(('training', 'artweb'))"
        " and name != 'training.secrets' and (file := getattr(module, '__file__', None))"
        " and 'secrets.revealed' in Path(file).read_text()])"
    )
    answer = subprocess.run([sys.executable, "-c", question], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
