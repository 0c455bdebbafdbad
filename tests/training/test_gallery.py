"""The gallery: cards by discovery, each making a whole agent; and files that are taken or refused early."""

from pathlib import Path

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from gpu_worker.environments.order_desk import OrderDesk
from gpu_worker.tools.tables import open_table, table_tool
from gpu_worker.types import Tool, ToolError
from training.authoring.guide import gallery
from training.authoring.toolbox import uploads
from training.models import Agent, Errand
from training.runs import versions
from training.runs.services import DEMO, agent_for

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def ann(client: Client, user: User) -> Client:
    client.force_login(user)
    return client


def make(slug: str, owner: User) -> Agent:
    card = gallery.card_called(slug)
    assert card.make is not None
    return card.make(owner)


def test_every_file_of_the_gallery_is_a_card() -> None:
    folder = Path(gallery.__file__).parent
    files = {path.stem for path in folder.glob("*.py")} - {"__init__", "card", "practice"}
    assert {card.slug for card in gallery.cards()} == files


def test_the_page_shows_every_card_once(ann: Client) -> None:
    page = ann.get("/agents/new/").content.decode()
    for card in gallery.cards():
        assert page.count(f'id="card-{card.slug}"') == 1
    assert page.count('type="file"') == 1


@pytest.mark.parametrize("slug", ["blank", "order_desk", "yes_no_maybe"])
def test_a_card_can_be_used_twice(user: User, slug: str) -> None:
    first, second = make(slug, user), make(slug, user)
    assert first.name != second.name and first.template == slug


def test_quick_cards_lead_straight_into_the_wizard(ann: Client) -> None:
    answer = ann.post("/agents/new/blank/")
    assert answer.headers["Location"] == f"/agents/{Agent.objects.get().pk}/describe/"
    assert ann.post("/agents/new/nothing/").status_code == 404
    assert ann.post("/agents/new/own_csv/").status_code == 404


def test_the_order_desk_of_the_gallery_answers_as_the_one_that_comes_with_artweb(user: User) -> None:
    agent = make("order_desk", user)
    scenario = OrderDesk().scenarios("train", 1, 0)[0]
    theirs = {tool.spec.name: tool for tool in OrderDesk().tools(scenario)}
    plans = versions.plans_now(agent)
    assert [plan.spec for plan in plans] == [tool.spec for tool in theirs.values()]
    calls = [
        {"column": "order_id", "value": "1"},
        {"column": "nothing", "value": "x"},
        {"column": "status", "value": " Shipped "},
    ]
    calls += [{"column": "customer_id", "value": str(number)} for number in range(1000, 1040)]
    for plan in plans:
        ours = table_tool(plan, open_table(Path(plan.settings["path"])).for_one_try())
        for call in calls:
            assert said(ours, call) == said(theirs[plan.spec.name], call)


def said(tool: Tool, call: dict[str, str]) -> str:
    try:
        return tool.call(call)
    except ToolError as error:
        return str(error)


def test_the_gallery_does_not_take_the_demo_its_agent(user: User) -> None:
    make("order_desk", user)
    assert agent_for(owner=user, environment=DEMO).environment == DEMO


def test_a_file_waits_for_the_desk(ann: Client) -> None:
    file = SimpleUploadedFile("C:\\files\\my orders.CSV", b"a,b\n1,2\n")
    answer = ann.post("/agents/new/upload/", {"file": file})
    errand = Errand.objects.get()
    assert answer.headers["Location"] == f"/errands/{errand.pk}/" and errand.kind == "from_csv"
    path = uploads.path_of(errand.arguments["upload"])
    assert path.read_bytes() == b"a,b\n1,2\n" and errand.arguments["filename"] == "my orders.CSV"
    assert path.stat().st_mode & 0o077 == 0
    path.unlink()


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("orders.exe", b"MZ", "of no kind that is read here"),
        ("orders", b"a,b", "of no kind that is read here"),
        ("orders.csv", b"", "is empty"),
    ],
)
def test_a_file_that_is_not_taken_is_refused_with_a_sentence(
    ann: Client, name: str, content: bytes, sentence: str
) -> None:
    answer = ann.post("/agents/new/upload/", {"file": SimpleUploadedFile(name, content)})
    assert answer.status_code == 422 and sentence in answer.content.decode()
    assert not Errand.objects.exists()


def test_no_file_and_a_file_too_large_are_refused(ann: Client, settings: LazySettings) -> None:
    assert "Choose a file first" in ann.post("/agents/new/upload/").content.decode()
    settings.UPLOAD_MAX_SIZE = 1024 * 1024
    large = SimpleUploadedFile("large.csv", b"x" * (1024 * 1024 + 1))
    assert "at most 1 MB" in ann.post("/agents/new/upload/", {"file": large}).content.decode()


@pytest.mark.parametrize("name", ["", "../secrets.json", "a" * 31, "g" * 32, "A" * 32])
def test_only_names_of_uploads_are_opened(name: str) -> None:
    with pytest.raises(ValueError, match="not the name of an upload"):
        uploads.path_of(name)
