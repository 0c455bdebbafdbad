"""Uploads become tables with tools, are read again, removed and brought back."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from gpu_worker.tools.tables import open_table, table_tool
from gpu_worker.types import AUTHORED
from training.authoring.office import errands, tasks
from training.authoring.office.desk import WORK
from training.authoring.toolbox import tables, uploads
from training.models import LIVING, Agent, Errand, TableFile
from training.runs import versions
from training.runs.versions import table_path

ORDERS = "order no;customer;price\nA1;Ann;12,50\nA2;Bo;3,99\nA3;Ann;7,00\n"

pytestmark = pytest.mark.django_db


@pytest.fixture
def blank(user: User, monkeypatch: pytest.MonkeyPatch) -> Agent:
    monkeypatch.setattr(tasks, "send", lambda errand_id: None)
    return Agent.objects.create(owner=user, name="Desk", environment=AUTHORED)


def sent(agent: Agent, content: bytes, filename: str, **told: Any) -> Errand:
    upload, shown = uploads.keep(SimpleUploadedFile(filename, content))
    arguments = {"upload": upload, "filename": shown, **told}
    return errands.start(owner=agent.owner, kind="read_table", agent=agent, **arguments)


def done(errand: Errand) -> Errand:
    taken = errands.take(errand.pk)
    assert taken is not None
    errands.carry_out(taken, WORK[errand.kind])
    errand.refresh_from_db()
    return errand


def uploaded(
    agent: Agent, content: str = ORDERS, filename: str = "Orders 2026.csv", **told: Any
) -> TableFile:
    errand = done(sent(agent, content.encode(), filename, **told))
    assert errand.state == "done", errand.error
    return TableFile.objects.get(pk=errand.result["table"])


def again(table: TableFile, **hints: Any) -> Errand:
    told = {"table": table.pk, "hints": hints}
    return done(errands.start(owner=table.agent.owner, kind="reread_table", agent=table.agent, **told))


def test_an_upload_becomes_a_table_with_tools_that_work(blank: Agent) -> None:
    table = uploaded(blank)
    assert (table.name, table.format, table.rows) == ("orders_2026", "csv", 3)
    assert [column["type"] for column in table.columns] == ["text", "text", "number"]
    tools = list(blank.tools.all())
    assert [tool.name for tool in tools] == ["find_orders_2026", "count_orders_2026", "search_orders_2026"]
    assert all(tool.suggested and tool.table == table for tool in tools)
    plan = versions.plans_now(blank)[0]
    tool = table_tool(plan, open_table(Path(plan.settings["path"])).for_one_try())
    found = tool.call({"column": "order no", "value": "a2"})
    assert found == "order no: A2; customer: Bo; price: 3,99"


def test_a_tool_of_a_table_tells_the_types_in_the_readers_language(blank: Agent, client: Client) -> None:
    uploaded(blank)
    client.force_login(blank.owner)
    client.cookies.load({"django_language": "zh-hans"})
    page = client.get(reverse("tool", args=[blank.tools.all()[0].pk])).content.decode()
    assert '<td class="nowrap">文本</td>' in page and '<td class="nowrap">number</td>' not in page


def test_the_upload_is_removed_and_the_stored_table_is_there(blank: Agent) -> None:
    errand = sent(blank, ORDERS.encode(), "orders.csv")
    upload = uploads.path_of(errand.arguments["upload"])
    assert upload.exists()
    done(errand)
    assert not upload.exists()
    assert table_path(blank.tables.get().sha256).exists()


def test_two_tables_of_an_agent_never_clash(blank: Agent) -> None:
    first, second = uploaded(blank), uploaded(blank, filename="orders-2026.csv", writes=True)
    assert (first.name, second.name) == ("orders_2026", "orders_2026_2")
    names = list(blank.tools.values_list("name", flat=True))
    assert len(set(names)) == len(names) == 3 + 5
    assert list(blank.tools.values_list("position", flat=True)) == list(range(8))


def test_a_name_without_latin_letters_still_makes_tools(blank: Agent) -> None:
    uploaded(blank, filename="大订单.csv")
    uploaded(blank, filename="客户.csv")
    assert list(blank.tables.values_list("name", flat=True)) == ["table", "table_2"]
    assert "客户" in blank.tools.get(name="find_table_2").description


def test_an_upload_that_is_read_twice_becomes_one_table(blank: Agent) -> None:
    errand = sent(blank, ORDERS.encode(), "orders.csv")
    kept = uploads.path_of(errand.arguments["upload"]).read_bytes()
    done(errand)
    uploads.path_of(errand.arguments["upload"]).write_bytes(kept)
    Errand.objects.filter(pk=errand.pk).update(state="waiting")
    assert done(errand).state == "done"
    assert (blank.tables.count(), blank.tools.count()) == (1, 3)


def test_a_bad_upload_says_why_and_leaves_nothing(blank: Agent) -> None:
    errand = done(sent(blank, b"a,b\n1,2,3\n", "t.csv"))
    assert errand.state == "failed"
    assert "Row 2, column 3" in errand.error
    assert not uploads.path_of(errand.arguments["upload"]).exists()
    assert not blank.tables.exists() and not blank.tools.exists()


def test_reading_ends_when_it_is_called_off(blank: Agent) -> None:
    errand = sent(blank, ORDERS.encode(), "orders.csv")
    taken = errands.take(errand.pk)
    assert taken is not None
    errands.cancel(errand)
    errands.carry_out(taken, WORK[errand.kind])
    errand.refresh_from_db()
    assert (errand.state, blank.tables.count()) == ("cancelled", 0)


def test_a_corrected_type_makes_a_new_table_in_the_tools(blank: Agent) -> None:
    table = uploaded(blank)
    fresh = TableFile.objects.get(pk=again(table, types={"order no": "number"}).result["table"])
    assert fresh.columns[0]["type"] == "number" and fresh.sha256 != table.sha256
    assert any("“A1” is not a number" in problem for problem in fresh.problems)
    table.refresh_from_db()
    assert table.deleted_at is not None
    tools = list(blank.tools.all())
    assert all(tool.table == fresh and tool.settings["table"] == fresh.sha256 for tool in tools)
    kept = TableFile.objects.get(pk=again(fresh, types={"customer": "text"}).result["table"])
    assert kept.reading["hints"]["types"] == {"order no": "number", "customer": "text"}


def test_another_delimiter_gives_the_tools_other_columns(blank: Agent) -> None:
    table = uploaded(blank, "a;b,c\n1;2,3\n4;5,6\n", "t.csv", hints={"delimiter": ";"})
    assert [column["name"] for column in table.columns] == ["a", "b,c"]
    again(table, delimiter=",")
    tool = blank.tools.get(name="find_t")
    assert tool.settings["columns"] == ["a;b", "c"]
    assert tool.parameters["properties"]["column"]["enum"] == ["a;b", "c"]


def test_chosen_columns_survive_another_encoding(blank: Agent) -> None:
    errand = done(sent(blank, "id,größe\n1,ä\n2,ö\n".encode("cp1252"), "t.csv", hints={"encoding": "cp1252"}))
    table = TableFile.objects.get(pk=errand.result["table"])
    tool = blank.tools.get(name="find_t")
    tool.settings["columns"] = ["id"]
    tool.save()
    assert again(table, encoding="latin-1").state == "done"
    tool.refresh_from_db()
    assert tool.settings["columns"] == ["id"]


def test_a_reading_that_fails_changes_nothing(blank: Agent) -> None:
    table = uploaded(blank)
    errand = again(table, types={"nowhere": "date"})
    assert errand.state == "failed" and "nowhere" in errand.error
    assert blank.tables.get(pk=table.pk, deleted_at=None)


def test_a_table_whose_upload_was_not_kept_cannot_be_read_again(blank: Agent) -> None:
    table = uploaded(blank)
    TableFile.objects.filter(pk=table.pk).update(reading={"format": "csv"})
    assert "Upload it again" in again(table, types={"price": "text"}).error


def test_a_removed_table_takes_its_tools_along_and_back(blank: Agent) -> None:
    table = uploaded(blank)
    blank.tools.filter(name="count_orders_2026").update(deleted_at=table.created_at)
    tables.remove(table)
    assert not blank.tools.filter(LIVING).exists()
    assert tables.bring_back(table)
    names = list(blank.tools.filter(LIVING).values_list("name", flat=True))
    assert names == ["find_orders_2026", "search_orders_2026"]
    assert table.deleted_at is None


def test_a_table_whose_name_was_taken_meanwhile_stays_in_the_bin(blank: Agent) -> None:
    table = uploaded(blank)
    tables.remove(table)
    uploaded(blank)
    assert not tables.bring_back(table)
    assert blank.tools.filter(LIVING).count() == 3


def test_a_table_whose_file_is_gone_is_named(blank: Agent) -> None:
    table = uploaded(blank, ORDERS.replace("A1", "gone"))
    assert tables.needs(blank) == []
    table_path(table.sha256).unlink()
    assert "Orders 2026.csv" in tables.needs(blank)[0]
