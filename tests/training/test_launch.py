"""The review page starts a run once, says what keeps it from starting, and keeps settings for other runs."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from training.authoring.launch import presets
from training.models import Agent, Preset, Run, Scenario

pytestmark = pytest.mark.django_db


QUESTIONS = {
    "t1": "When does A12 ship?",
    "t2": "Who ordered the lamp?",
    "v1": "Is 77 paid?",
    "e1": "What does a chair cost?",
    "e2": "Which city is Bo from?",
}


@pytest.fixture
def ready(agent: Agent, client: Client) -> Agent:
    """The agent with all its pages ready, and its owner signed in."""
    Agent.objects.filter(pk=agent.pk).update(description="Answers questions about orders.")
    agent.refresh_from_db()
    for scenario in agent.scenarios.all():
        scenario.messages = [{"role": "user", "content": QUESTIONS[scenario.key]}]
        scenario.save()
    client.force_login(agent.owner)
    return agent


def form(client: Client, agent: Agent) -> dict[str, str]:
    """The start form as a browser would send it."""
    page = client.get(reverse("review", args=[agent.pk])).content.decode()
    names = ("request_id", "name", "budget")
    return {name: re.search(rf'name="{name}" value="([^"]*)"', page)[1] for name in names}  # type: ignore[index]


def start(client: Client, agent: Agent, **changes: str) -> tuple[int, str]:
    answer = client.post(reverse("start_run", args=[agent.pk]), form(client, agent) | changes)
    return answer.status_code, answer.headers.get("Location") or answer.content.decode()


def test_a_run_is_started_with_name_budget_version_and_estimate(client: Client, ready: Agent) -> None:
    status, location = start(client, ready, name="mine", budget="2,50")
    run = Run.objects.get()
    assert (status, location) == (302, f"/runs/{run.pk}/")
    assert (run.name, run.config["budget"], run.state) == ("mine", 2.5, "queued")
    assert run.version is not None and run.estimate["seconds"][0] > 0


def test_the_same_form_twice_starts_one_run_and_leads_to_it(client: Client, ready: Agent) -> None:
    sent = form(client, ready)
    url = reverse("start_run", args=[ready.pk])
    first, second = client.post(url, sent), client.post(url, sent | {"name": "changed on the way"})
    assert first.headers["Location"] == second.headers["Location"]
    assert Run.objects.count() == 1


def test_a_second_look_at_the_page_may_start_a_second_run_under_a_free_name(
    client: Client, ready: Agent
) -> None:
    start(client, ready)
    start(client, ready)
    assert sorted(Run.objects.values_list("name", flat=True)) == ["order-desk-1", "order-desk-2"]


def test_what_blocks_is_listed_and_nothing_typed_is_lost(client: Client, ready: Agent) -> None:
    Scenario.objects.filter(split="train").delete()
    status, page = start(client, ready, name="my run", budget="3")
    assert status == 422 and not Run.objects.exists()
    assert (
        "Mend what is marked below" in page and 'value="my run"' in page and 'name="budget" value="3"' in page
    )
    assert "must be mended" in page


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"budget": "a lot"}, "such as 2.50"),
        ({"budget": "1e9"}, "budget must be a number from 0 to 100000"),
        ({"name": " "}, "1 to 80 visible characters"),
        ({"name": "<b>"}, ""),
    ],
)
def test_what_cannot_be_is_told_in_a_sentence(
    client: Client, ready: Agent, changes: dict[str, str], words: str
) -> None:
    status, page = start(client, ready, **changes)
    if words:
        assert status == 422 and words in page and not Run.objects.exists()
    else:
        assert status == 302 and b"<b></h1>" not in client.get(page).content


def test_advice_keeps_nobody_from_starting(client: Client, ready: Agent) -> None:
    page = client.get(reverse("review", args=[ready.pk])).content.decode()
    assert "not known yet" in page and "must be mended" not in page
    assert start(client, ready)[0] == 302


def test_the_summary_names_every_part_and_where_it_is_edited(client: Client, ready: Agent) -> None:
    ready.config = {"steps": 12, "reward": "checks"}
    ready.save()
    page = client.get(reverse("review", args=[ready.pk])).content.decode()
    for words in (
        "Answers questions about orders.",
        "2 to practise on, 1 to check in between, 2 kept",
        "Training steps 12",
    ):
        assert words in page
    for slug in ("describe", "tools", "scenarios", "reward", "compute"):
        assert f'href="/agents/{ready.pk}/{slug}/"' in page


def test_a_preset_is_saved_applied_deleted_and_brought_back(client: Client, ready: Agent) -> None:
    ready.config = {"steps": 12, "rubric": "mine"}
    ready.save()
    review = reverse("review", args=[ready.pk])
    client.post(reverse("save_preset", args=[ready.pk]), {"preset": "Quick"})
    preset = Preset.objects.get()
    assert preset.config == {"steps": 12}
    assert "Saved the settings as “Quick”." in client.get(review).content.decode()
    ready.config = {"steps": 99}
    ready.save()
    client.post(reverse("apply_preset", args=[ready.pk, preset.pk]))
    ready.refresh_from_db()
    assert (ready.config, ready.edits) == ({"steps": 12}, 1)
    client.post(reverse("delete_preset", args=[ready.pk, preset.pk]))
    assert not Preset.objects.exists()
    undo = re.search(r'name="undo" value="([^"]+)"', client.get(review).content.decode())
    assert undo is not None
    client.post(reverse("restore_preset", args=[ready.pk]), {"undo": undo[1]})
    assert Preset.objects.get().config == {"steps": 12}


def test_a_preset_keeps_one_row_for_each_name(ready: Agent) -> None:
    presets.save(agent=ready, name="Quick")
    ready.config = {"steps": 3}
    presets.save(agent=ready, name=" Quick ")
    assert Preset.objects.get().config == {"steps": 3}
    for name in ("", "x" * 81, "a\nb"):
        with pytest.raises(presets.Refused):
            presets.save(agent=ready, name=name)


def test_a_preset_that_no_longer_fits_is_refused(client: Client, ready: Agent) -> None:
    preset = Preset.objects.create(owner=ready.owner, name="Old", config={"steps": 0})
    answer = client.post(reverse("apply_preset", args=[ready.pk, preset.pk]))
    assert answer.status_code == 422 and "steps must be a whole number" in answer.content.decode()
    ready.refresh_from_db()
    assert ready.config == {}


def test_presets_of_somebody_else_do_not_exist(client: Client, ready: Agent, other_user: User) -> None:
    theirs = Preset.objects.create(owner=other_user, name="Theirs", config={"steps": 5})
    assert "Theirs" not in client.get(reverse("review", args=[ready.pk])).content.decode()
    for name in ("apply_preset", "delete_preset"):
        assert client.post(reverse(name, args=[ready.pk, theirs.pk])).status_code == 404
    undo = presets.delete(theirs)
    assert presets.bring_back(ready.owner, undo) is None
    assert presets.bring_back(other_user, undo + "x") is None
