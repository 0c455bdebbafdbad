"""Scenarios from a file, by the pages and errands a person meets, and back into a file."""

import csv
import io
import json

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from training.authoring.office import desk, errands
from training.authoring.toolbox import uploads
from training.models import Agent, Errand, Scenario

pytestmark = pytest.mark.django_db

FILE = "prompt;expected;topic;note\nWhere is Dune?;shelf 4 | shelf four;books;x\n=1+1?;2;sums;y\n;nothing;;\n"


@pytest.fixture
def ann(client: Client, user: User) -> Client:
    client.force_login(user)
    return client


@pytest.fixture
def library(user: User) -> Agent:
    return Agent.objects.create(owner=user, name="Library", environment="authored")


def sent(ann: Client, agent: Agent, content: bytes, name: str = "mine.csv") -> Errand:
    file = SimpleUploadedFile(name, content)
    answer = ann.post(reverse("upload_scenarios", args=[agent.pk]), {"file": file})
    assert answer.status_code == 302, answer.content.decode()
    return done(Errand.objects.filter(kind="read_scenarios").latest("pk"))


def done(errand: Errand) -> Errand:
    taken = errands.take(errand.pk)
    assert taken is not None
    errands.carry_out(taken, desk.WORK[errand.kind])
    errand.refresh_from_db()
    return errand


def test_a_file_is_looked_into_mapped_and_brought_in(ann: Client, library: Agent) -> None:
    looked = sent(ann, library, FILE.encode())
    assert looked.state == "done", looked.error
    assert looked.result["mapping"] == {
        "question": "prompt",
        "answers": "expected",
        "tags": "topic",
        "split": "",
    }
    address = looked.result["next"]
    shown = ann.get(address).content.decode()
    assert "Where is Dune?" in shown and "shelf four" in shown and "left out" in shown
    other = ann.post(
        address, {"question": "note", "look": "1"}, headers={"HX-Request": "true"}
    ).content.decode()
    assert "<html" not in other and "Where is Dune?" not in other and Errand.objects.count() == 1
    chosen = {"question": "prompt", "answers": "expected", "tags": "note", "split": ""}
    answer = ann.post(address, chosen)
    brought = done(Errand.objects.get(kind="import_scenarios"))
    assert answer["Location"].endswith(f"?errand={brought.pk}")
    assert brought.result["made"] == 2 and brought.result["problems"]
    row = library.scenarios.get(expect__answer_has__0__0="shelf 4")
    assert (row.expect, row.tags, row.source) == (
        {"answer_has": [["shelf 4", "shelf four"]]},
        ["x"],
        "imported",
    )
    assert not uploads.path_of(looked.arguments["upload"]).exists()
    page = ann.get(reverse("scenarios", args=[library.pk]), {"made": brought.pk}).content.decode()
    assert "2 scenarios were added." in page and "1 row was left out" in page
    again = done(
        errands.start(
            owner=library.owner, agent=library, kind="import_scenarios", look=looked.pk, mapping=chosen
        )
    )
    assert again.state == "failed" and "upload it again" in again.error


def test_without_a_column_for_the_question_nothing_is_brought(ann: Client, library: Agent) -> None:
    address = sent(ann, library, FILE.encode()).result["next"]
    answer = ann.post(address, {"question": "", "answers": "expected"})
    assert answer.status_code == 422 and "Choose the column" in answer.content.decode()
    answer = ann.post(address, {"question": "made up"})
    assert answer.status_code == 422 and "no column" in answer.content.decode()
    assert not library.scenarios.exists()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("mine.csv", b'question\n"never closed'),
        ("mine.xlsx", b"PK\x03\x04"),
        ("mine.csv", b"   "),
        ("mine.jsonl", b""),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_a_reason(
    ann: Client, library: Agent, name: str, content: bytes
) -> None:
    answer = ann.post(
        reverse("upload_scenarios", args=[library.pk]), {"file": SimpleUploadedFile(name, content)}
    )
    if answer.status_code == 422:
        assert "is empty" in answer.content.decode()
        return
    errand = done(Errand.objects.get())
    assert errand.state == "failed" and errand.error.endswith(".")
    assert not uploads.path_of(errand.arguments["upload"]).exists()


def test_no_file_is_told(ann: Client, library: Agent) -> None:
    answer = ann.post(reverse("upload_scenarios", args=[library.pk]))
    assert answer.status_code == 422 and "Choose a file first." in answer.content.decode()


def test_an_export_holds_what_the_filters_let_through_and_no_formula(ann: Client, library: Agent) -> None:
    for number, (question, split) in enumerate(
        [("=cmd()", "train"), ("+1 or 2?", "test"), ("Gone?", "test")]
    ):
        messages = [{"role": "user", "content": question}]
        Scenario.objects.create(agent=library, key=f"k{number}", split=split, messages=messages)
    Scenario.objects.filter(key="k2").update(deleted_at="2026-01-01T00:00:00Z")
    answer = ann.get(reverse("export_scenarios", args=[library.pk, "csv"]))
    assert "attachment" in answer["Content-Disposition"]
    rows = list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))
    assert [row["question"] for row in rows] == ["'=cmd()", "'+1 or 2?"]
    answer = ann.get(reverse("export_scenarios", args=[library.pk, "jsonl"]), {"split": "test"})
    lines = [json.loads(line) for line in answer.content.decode().splitlines()]
    assert [line["question"] for line in lines] == ["+1 or 2?"]
    assert ann.get(reverse("export_scenarios", args=[library.pk, "exe"])).status_code == 404


def test_an_export_brought_back_holds_the_same_scenarios(ann: Client, library: Agent) -> None:
    expect = {
        "answer_has": [["a | b", "c"]],
        "calls": [{"name": "find", "arguments": {"n": 1}}],
        "changes": [],
    }
    messages = [
        {"role": "user", "content": "Hi\nthere"},
        {"role": "assistant", "content": "?"},
        {"role": "user", "content": "Q"},
    ]
    Scenario.objects.create(
        agent=library,
        key="k",
        split="val",
        messages=messages,
        expect=expect,
        tags=["x"],
        kind="single",
        rows=["t:1"],
    )
    for form in ("csv", "jsonl"):
        file = ann.get(reverse("export_scenarios", args=[library.pk, form])).content
        other = Agent.objects.create(owner=library.owner, name=form, environment="authored")
        looked = sent(ann, other, file, f"mine.{form}")
        ann.post(looked.result["next"], looked.result["mapping"])
        done(Errand.objects.filter(kind="import_scenarios").latest("pk"))
        row = other.scenarios.get()
        assert (row.messages, row.expect, row.tags, row.split) == (messages, expect, ["x"], "val")
        assert (row.kind, row.rows) == ("single", ["t:1"])
