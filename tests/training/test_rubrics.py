"""Rubrics: versions of the agent's, taken back and compared; and those of single scenarios."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from training.authoring.guide import agents
from training.authoring.studio import audit, scenario_files, scenario_records, scenarios
from training.models import Agent, Scenario
from training.runs import jobs

pytestmark = pytest.mark.django_db
OWN = '- What counts here is that "no" is said politely.\n- Nothing else, really.'


@pytest.fixture
def browser(user: User, client: Client) -> Client:
    client.force_login(user)
    return client


@pytest.fixture
def refund(agent: Agent) -> Scenario:
    """A scenario with a rubric of its own."""
    return scenarios.add(agent, question="May I return it?", split="train", expect={}, rubric=OWN)


@pytest.mark.parametrize("format_", ["csv", "jsonl"])
def test_a_scenarios_own_rubric_goes_through_files_and_back(
    agent: Agent, refund: Scenario, format_: scenario_records.Format
) -> None:
    file = scenario_files.exported(audit.questions_of(agent), format_)
    records = scenario_records.read(file, f"x.{format_}")
    assert "rubric" in records.columns
    found = scenario_files.imported(records, scenario_files.guessed(records))
    assert [q.scenario.rubric for q in found.questions if q.scenario.id == refund.key] == [OWN]
    assert sum(bool(question.scenario.rubric) for question in found.questions) == 1


def test_a_copy_of_an_agent_and_a_run_have_it_too(agent: Agent, refund: Scenario) -> None:
    copy = agents.duplicate(agent)
    assert copy.scenarios.get(key=refund.key).rubric == OWN
    assert [row["rubric"] for row in jobs.frozen_scenarios(agent) if row["id"] == refund.key] == [OWN]


def test_it_is_edited_in_the_scenarios_form_and_marked_in_the_grid(
    browser: Client, agent: Agent, refund: Scenario
) -> None:
    address = reverse("edit_scenario", args=[refund.pk])
    assert "said politely" in browser.get(address).content.decode()
    typed = {
        "question": "May I return it?",
        "split": "train",
        "tags": "",
        "rubric": "- Be brief.\r\n- Be kind.",
    }
    shown = browser.post(address, typed).content.decode()
    refund.refresh_from_db()
    assert refund.rubric == "- Be brief.\n- Be kind." and "own rubric" in shown
    answer = browser.post(address, typed | {"rubric": "x" * 20_001})
    assert answer.status_code == 422 and "shorten it" in answer.content.decode()
    browser.post(reverse("undo_scenarios", args=[agent.pk]))


def test_a_file_with_an_endless_rubric_names_the_row(agent: Agent) -> None:
    records = scenario_records.read(f"question,rubric\nWho?,{'x' * 20_001}\n".encode(), "x.csv")
    found = scenario_files.imported(records, scenario_files.guessed(records))
    assert not found.questions and "its rubric has more than" in found.problems[0]
