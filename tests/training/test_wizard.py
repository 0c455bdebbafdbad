"""The wizard's pages: saved field by field, ready or lacking, suggestions, versions, the list of agents."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from training.authoring.guide import agents, changes, compute, saving, suggestions, wizard
from training.authoring.guide.fields import FIELDS, digest, text_of
from training.models import Agent, Errand, Run, Scenario, Tool
from training.runs import versions

pytestmark = pytest.mark.django_db(transaction=True)
HX = {"HX-Request": "true"}


@pytest.fixture
def ann(client: Client, user: User) -> Client:
    client.force_login(user)
    return client


@pytest.fixture
def made(user: User) -> Agent:
    """An authored agent with a description, a tool and two scenarios."""
    agent = agents.create(owner=user, name="Returns", description="Answer questions about returns.")
    Tool.objects.create(agent=agent, name="find_orders", kind="simulated", parameters={"type": "object"})
    for key, split in (("a", "train"), ("b", "test")):
        messages = [{"role": "user", "content": f"Where is order {key}?"}]
        Scenario.objects.create(
            agent=agent, key=key, split=split, messages=messages, expect={"answer_has": [["x"]]}
        )
    return agent


def form(agent: Agent, *names: str, **typed: str) -> dict[str, str]:
    """The form of a page as it was loaded, with what was typed since."""
    seen = {name: text_of(agent, known) for name, known in known_fields().items() if name in {*names, *typed}}
    return {**seen, **{f"was-{name}": digest(text) for name, text in seen.items()}, **typed}


def known_fields() -> dict[str, Any]:
    return {**FIELDS, **{known.name: known for known in compute.FIELDS}}


def save(agent: Agent, **posted: str) -> saving.Outcome:
    return saving.save(agent, list(known_fields().values()), posted)


def test_every_page_has_an_address_of_its_own(ann: Client, made: Agent) -> None:
    for slug in ("describe", "reward", "compute"):
        answer = ann.get(wizard.address(made, slug))
        assert answer.status_code == 200
        text = answer.content.decode()
        assert text.count('aria-current="step"') == 1 and text.count("<h1") == 1
        assert [page.slug for page in wizard.PAGES if f"/agents/{made.pk}/{page.slug}/" not in text] == []


def test_pages_of_somebody_else_do_not_exist(made: Agent, other_user: User) -> None:
    bob = Client()
    bob.force_login(other_user)
    for slug in ("describe", "reward", "compute", "versions"):
        assert bob.get(f"/agents/{made.pk}/{slug}/").status_code == 404
        assert bob.post(f"/agents/{made.pk}/{slug}/", {}).status_code in (404, 405)
    for act in ("copy", "remove", "restore", "keep"):
        bob.post(f"/agents/{made.pk}/{act}/")
    made.refresh_from_db()
    assert made.deleted_at is None and Agent.objects.count() == 1


def test_a_page_says_what_it_still_needs(ann: Client, user: User) -> None:
    blank = agents.create(owner=user, name="Blank")
    text = ann.get(f"/agents/{blank.pk}/describe/").content.decode()
    assert "Say in a sentence or two" in text and "needs 1 thing" in text
    save(blank, **form(blank, description="Answer."))
    assert "Say in a sentence or two" not in ann.get(f"/agents/{blank.pk}/describe/").content.decode()


def test_what_is_typed_is_saved_and_parts_of_the_page_come_back(ann: Client, made: Agent) -> None:
    answer = ann.post(
        f"/agents/{made.pk}/describe/",
        form(made, "name", "language", description="Something new."),
        headers=HX,
    )
    text = answer.content.decode()
    made.refresh_from_db()
    assert made.description == "Something new." and made.edits == 1
    assert all(
        f'id="{part}"' in text for part in ("save-state", "steps", "needs", "rail", "note-description")
    )
    assert "<!doctype" not in text.lower()


def test_without_scripts_a_form_leads_back_to_its_page(ann: Client, made: Agent) -> None:
    answer = ann.post(f"/agents/{made.pk}/describe/", form(made, name="Refunds"))
    assert answer.status_code == 302 and answer.headers["Location"] == f"/agents/{made.pk}/describe/"
    made.refresh_from_db()
    wrong = ann.post(f"/agents/{made.pk}/describe/", form(made, "description", name=" "))
    assert wrong.status_code == 422 and "Give the agent a name" in wrong.content.decode()


def test_an_error_keeps_what_was_typed_and_saves_the_rest(made: Agent) -> None:
    outcome = save(made, **form(made, steps="many", group_size="4", learning_rate="1"))
    made.refresh_from_db()
    assert made.config == {"group_size": 4}
    assert outcome.typed["steps"] == "many" and outcome.errors["steps"].startswith("Training steps must be")
    assert "0.1" in outcome.errors["learning_rate"]
    drawn = {one.field.name: one for one in saving.shown(made, compute.FIELDS, outcome)}
    assert drawn["steps"].text == "many" and drawn["group_size"].changed


def test_two_tabs_do_not_overwrite_each_other(made: Agent) -> None:
    first, second = form(made, description="From the first tab."), form(made, description="From the second.")
    save(made, **first)
    outcome = save(made, **second)
    made.refresh_from_db()
    assert made.description == "From the first tab." and not outcome.clean
    (drawn,) = saving.shown(made, [FIELDS["description"]], outcome)
    assert (drawn.text, drawn.theirs) == ("From the second.", "From the first tab.")
    again = save(made, **(second | {"was-description": drawn.was}))
    assert not again.clean, "saving once more must not decide for the person"


@pytest.mark.parametrize(("act", "kept"), [("mine", "From the second."), ("take", "From the first tab.")])
def test_a_conflict_ends_as_the_person_chooses(made: Agent, act: str, kept: str) -> None:
    second = form(made, description="From the second.")
    save(made, **form(made, description="From the first tab."))
    outcome = save(made, **second, act=f"{act}:description")
    made.refresh_from_db()
    assert made.description == kept and outcome.clean


def test_different_fields_changed_in_two_tabs_are_both_saved(made: Agent) -> None:
    second = form(made, "description", name="Refunds")
    save(made, **form(made, "name", description="From the first tab."))
    outcome = save(made, **second)
    made.refresh_from_db()
    assert (made.name, made.description) == ("Refunds", "From the first tab.") and outcome.clean
    assert "description" in outcome.redrawn


def test_a_knob_at_its_default_is_not_kept(made: Agent) -> None:
    save(made, **form(made, steps="12", curriculum="", temperature="0.5"))
    made.refresh_from_db()
    assert made.config == {"steps": 12, "curriculum": False, "temperature": 0.5}
    save(made, **form(made, "steps", "temperature"), act="reset:steps")
    save(made, **form(made, temperature=""))
    made.refresh_from_db()
    assert made.config == {"curriculum": False}


def test_a_model_of_ones_own_stands_beside_its_card(made: Agent) -> None:
    posted = form(made, judge_model="other") | {"judge_model-other": "openai/gpt-4.1-mini"}
    assert save(made, **posted).clean
    made.refresh_from_db()
    assert made.judge_model == "openai/gpt-4.1-mini"
    empty = save(made, **(form(made, judge_model="other") | {"judge_model-other": " "}))
    assert "Name a model" in empty.errors["judge_model"]


@pytest.mark.parametrize("name", ["", "  ", "two\nlines", "x" * 61, "Taken"])
def test_names_that_do_not_fit_are_refused(made: Agent, user: User, name: str) -> None:
    agents.create(owner=user, name="Taken")
    assert "name" in save(made, **form(made, name=name)).errors
    made.refresh_from_db()
    assert made.name == "Returns"


def test_suggestions_are_kept_changed_or_taken_back(made: Agent, user: User) -> None:
    before = suggestions.fill(made, {"description": "Suggested.", "rubric": "Look.", "system_prompt": "Be."})
    Errand.objects.create(
        owner=user, agent=made, kind="draft", state=Errand.State.DONE, result={"before": before}
    )
    assert suggestions.open_ones(made) == ["description", "system_prompt", "rubric"]
    save(made, **form(made, "description"), act="back:description")
    made.refresh_from_db()
    assert made.description == "Answer questions about returns."
    save(made, **form(made, rubric="Look closely."))
    made.refresh_from_db()
    assert made.suggested == ["system_prompt"]
    suggestions.keep_all(made)
    made.refresh_from_db()
    assert made.suggested == [] and made.system_prompt == "Be."


def test_keeping_all_also_keeps_the_tools(ann: Client, made: Agent) -> None:
    made.tools.update(suggested=True)
    assert "1 tool" in ann.get(f"/agents/{made.pk}/describe/").content.decode()
    answer = ann.post(f"/agents/{made.pk}/keep/", {"page": "reward"})
    assert answer.headers["Location"] == f"/agents/{made.pk}/reward/"
    assert not made.tools.filter(suggested=True).exists()


def test_what_a_person_typed_is_never_markup(ann: Client, made: Agent) -> None:
    text = "<script>alert(1)</script>"
    save(made, **form(made, description=text, name="<b>Bold</b>", rubric=text))
    for slug in ("describe", "reward", "compute"):
        page = ann.get(f"/agents/{made.pk}/{slug}/").content.decode()
        assert "<script>alert" not in page and "<b>Bold" not in page
    assert "<b>Bold" not in ann.get("/agents/").content.decode()


def test_a_text_that_begins_with_an_empty_line_survives_its_form(ann: Client, made: Agent) -> None:
    save(made, **form(made, description="\n\nTwo empty lines first."))
    page = ann.get(f"/agents/{made.pk}/describe/").content.decode()
    assert ">\n\n\nTwo empty lines first.</textarea>" in page


def test_the_list_shows_agents_with_their_last_run(ann: Client, made: Agent, user: User) -> None:
    for number in (1, 2):
        Run.objects.create(
            owner=user, agent=made, name=f"returns-{number}", state=Run.State.DONE, steps=3, request_id=number
        )
    page = ann.get("/agents/").content.decode()
    assert "Returns" in page and "returns-2" in page and "returns-1" not in page
    assert "1 tool" in page and "2 scenarios" in page


def test_a_copy_is_whole_and_its_own(made: Agent) -> None:
    copy = agents.duplicate(made)
    assert copy.name == "Returns copy" and copy.description == made.description
    assert list(copy.tools.values_list("name", flat=True)) == ["find_orders"]
    assert list(copy.scenarios.values_list("key", "split")) == [("a", "train"), ("b", "test")]
    copy.tools.update(name="changed")
    assert made.tools.get().name == "find_orders"


def test_an_agent_that_was_thrown_away_comes_back_with_its_name(ann: Client, made: Agent) -> None:
    gone = ann.post(f"/agents/{made.pk}/remove/")
    page = ann.get(gone.headers["Location"]).content.decode()
    assert "Undo" in page and "No agents yet" in page
    assert ann.get(f"/agents/{made.pk}/describe/").status_code == 404
    ann.post(f"/agents/{made.pk}/restore/")
    made.refresh_from_db()
    assert (made.name, made.deleted_at) == ("Returns", None)


def test_the_name_of_a_thrown_away_agent_is_free(made: Agent, user: User) -> None:
    agents.throw_away(made)
    fresh = agents.create(owner=user, name="Returns")
    assert fresh.name == "Returns"
    made.refresh_from_db()
    agents.bring_back(made)
    made.refresh_from_db()
    assert made.name == "Returns 2"


def test_versions_tell_what_changed_and_who_trained_them(ann: Client, made: Agent, user: User) -> None:
    first = versions.freeze(made)
    Run.objects.create(
        owner=user, agent=made, version=first, name="returns-1", state=Run.State.DONE, request_id="1"
    )
    save(made, **form(made, description="Answer about refunds.", steps="7"))
    Tool.objects.create(agent=made, name="check_refund", kind="simulated", parameters={"type": "object"})
    made.refresh_from_db()
    versions.freeze(made)
    newest, oldest = changes.history(made)
    assert [str(change.what) for change in newest.changes] == [
        "The task, in your own words",
        "steps",
        "check_refund",
    ]
    lines = newest.changes[0].lines
    assert [(line.new, line.text) for line in lines] == [
        (False, "Answer questions about returns."),
        (True, "Answer about refunds."),
    ]
    assert oldest.first and [run.name for run in oldest.runs] == ["returns-1"]
    page = ann.get(f"/agents/{made.pk}/versions/").content.decode()
    assert "Version 2" in page and "returns-1" in page


def test_a_reward_that_nothing_gives_is_named(made: Agent) -> None:
    save(made, **form(made, reward="environment"))
    made.refresh_from_db()
    needs = {step.page.slug: step.needs for step in wizard.steps_of(made)}
    assert needs["reward"] and "score themselves" in needs["reward"][0]
