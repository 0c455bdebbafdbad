"""The page "Reward": mixes, and what they would have changed in recorded groups."""

import json
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from gpu_worker.types import Group, Scenario, Score, Source, Trajectory
from tests import stories
from training.authoring.guide import wizard
from training.authoring.office import desk, tasks
from training.judges import reward_preview, rubrics
from training.judges.reward_preview import Missing, rewards, shifts
from training.models import Agent, Errand, JudgeTrial, Run
from training.runs import jobs

MakeRun = Callable[..., Run]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def browser(user: User, client: Client) -> Client:
    client.force_login(user)
    return client


@pytest.fixture
def recorded(agent: Agent, make_run: MakeRun) -> Run:
    """A run whose groups were recorded as in life."""
    config = {"environment": "order_desk", "steps": 2, "reward": "ruler"}
    return stories.tell(make_run(config=config, steps=2), stories.training(2, 3, 12))


def group(*scores: dict[Source, float]) -> Group:
    tries = tuple(
        Trajectory(
            scenario_id="s",
            index=index,
            messages=({"role": "user", "content": "?"}, {"role": "assistant", "content": "Shipped."}),
            segments=(),
            ended="answered",
            scores=tuple(Score(source, value) for source, value in given.items()),
        )
        for index, given in enumerate(scores)
    )
    return Group(1, 0, Scenario("s", "train", ()), (), tries)


# The arithmetic


def test_a_reward_is_one_source_or_a_mix_of_them() -> None:
    found = group({"ruler": 0.8, "checks": 0.0}, {"ruler": 0.4, "checks": 1.0})
    assert rewards(found, "ruler", {}) == [0.8, 0.4]
    assert rewards(found, "checks", {}) == [0.0, 1.0]
    assert rewards(found, "mix", {"ruler": 1.0, "checks": 3.0}) == pytest.approx([0.2, 0.85])


@pytest.mark.parametrize(("reward", "weights"), [("environment", {}), ("mix", {"environment": 1.0})])
def test_what_no_try_has_cannot_be_a_reward(reward: str, weights: dict[str, float]) -> None:
    with pytest.raises(Missing):
        rewards(group({"ruler": 0.8}), reward, weights)


def test_ranks_and_signs_change_where_the_order_does() -> None:
    first, second, third = shifts([0.9, 0.5, 0.1], [0.1, 0.5, 0.9], 1e-6)
    assert (first.rank_before, first.rank_after, first.climbs, first.turns) == (1, 3, -2, True)
    assert (second.rank_before, second.rank_after, second.turns) == (2, 2, False)
    assert third.learned == "less of this → more of this"


def test_equal_rewards_share_a_place_and_teach_nothing() -> None:
    assert {(one.rank_after, one.sign_after) for one in shifts([0.9, 0.1], [0.5, 0.5 + 1e-9], 1e-6)} == {
        (1, 0)
    }


# On recorded groups


def test_the_same_reward_changes_nothing(agent: Agent, recorded: Run) -> None:
    found = reward_preview.preview(agent)
    assert found is not None and found.run == recorded
    assert (len(found.groups), found.changed, found.turned) == (6, 0, 0)
    assert found.wants_judge and len(found.unasked) == 6


def test_checks_alone_change_ranks_and_ask_nobody(agent: Agent, recorded: Run) -> None:
    agent.config = {"reward": "checks"}
    found = reward_preview.preview(agent)
    assert found is not None and found.unasked == []
    values = {one.after for group in found.known for one in group.tries}
    assert values and values != {one.before for group in found.known for one in group.tries}


def test_a_trial_by_the_present_rubric_takes_the_place_of_what_was_recorded(
    agent: Agent, recorded: Run, user: User
) -> None:
    agent.rubric = "- The last try is best."
    row = recorded.groups.filter(label="train").order_by("-pk")[0]
    scores = {str(index): [index / 10, ""] for index in range(row.tries)}
    sha = reward_preview.sha256_of(agent.rubric)
    JudgeTrial.objects.create(
        owner=user, group=row, judge_model=agent.judge_model, rubric=agent.rubric, rubric_sha256=sha,
        order="seeded", scores=scores,
    )  # fmt: skip
    found = reward_preview.preview(agent)
    assert found is not None and len(found.unasked) == 5
    (asked,) = [group for group in found.groups if group.asked]
    assert asked.row == row and [one.after for one in asked.tries] == [i / 10 for i in range(row.tries)]


def test_nobody_previews_anothers_groups(browser: Client, other_user: User) -> None:
    foreign = Agent.objects.create(owner=other_user, name="Theirs", environment="order_desk")
    assert browser.get(reverse("reward_preview", args=[foreign.pk])).status_code == 404
    for name, arguments in (("ask_reward", []), ("keep_rubric", []), ("take_back_rubric", [0])):
        assert browser.post(reverse(name, args=[foreign.pk, *arguments])).status_code == 404


# The page


def fields(browser: Client, agent: Agent, **typed: str) -> dict[str, str]:
    """A form as a browser sends it: what it had seen, and what was typed."""
    drawn = browser.get(reverse("reward", args=[agent.pk])).context["fields"]
    was = {f"was-{name}": shown.was for name, shown in drawn.items()}
    kept = {name: shown.text for name, shown in drawn.items() if name != "mix"}
    return was | kept | typed


def save(browser: Client, agent: Agent, **typed: str) -> str:
    answer = browser.post(
        reverse("reward", args=[agent.pk]), fields(browser, agent, **typed), headers={"HX-Request": "true"}
    )
    agent.refresh_from_db()
    return answer.content.decode()


def test_a_mix_begins_with_weights_that_can_be_changed(browser: Client, agent: Agent) -> None:
    shown = save(browser, agent, reward="mix")
    assert agent.config == {"reward": "mix", "mix": {"ruler": 1.0, "checks": 1.0}}
    assert 'id="f-mix-ruler"' in shown
    weights = {"mix-ruler": "0.5", "mix-checks": "0", "mix-length": "0,2"}
    save(browser, agent, **weights)
    assert agent.config["mix"] == {"ruler": 0.5, "length": 0.2}
    assert jobs.complaint(agent.config) is None


@pytest.mark.parametrize("weight", ["-1", "many", "nan", "1e9"])
def test_a_weight_is_a_number_and_what_was_typed_stays(browser: Client, agent: Agent, weight: str) -> None:
    save(browser, agent, reward="mix")
    before = dict(agent.config)
    shown = save(browser, agent, **{"mix-ruler": weight, "mix-checks": "1"})
    assert agent.config == before and "A weight is a number from 0 to 100." in shown


def test_a_mix_of_nothing_but_penalties_is_no_reward(agent: Agent) -> None:
    def needed() -> list[str]:
        return list(wizard.page_called("reward").needs(agent))

    agent.config = {"reward": "mix", "mix": {"length": 0.2}}
    assert "a weight in the mix" in needed()[0]
    agent.config = {"reward": "mix", "mix": {"checks": 1.0}}
    assert needed() == []
    agent.scenarios.update(expect={})
    assert "expect nothing" in needed()[0]
    agent.judge_model = "gone:model"
    agent.config = {"reward": "mix", "mix": {"ruler": 1.0}}
    assert "no provider called gone" in needed()[0]


def test_the_judge_is_asked_again_through_the_page(
    browser: Client, agent: Agent, recorded: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "send", lambda errand_id: None)
    page = browser.get(reverse("reward_preview", args=[agent.pk])).content.decode()
    assert "Ask the judge again" in page and "$0.00" in page
    browser.post(reverse("ask_reward", args=[agent.pk]), {"cap": "0.5"}, headers={"HX-Request": "true"})
    errand = Errand.objects.get()
    desk.work(errand.pk)
    errand.refresh_from_db()
    assert errand.state == Errand.State.DONE, errand.error
    found = reward_preview.preview(agent)
    assert found is not None and found.unasked == [] and JudgeTrial.objects.count() == 6
    assert (
        "Ask the judge again" not in browser.get(reverse("reward_preview", args=[agent.pk])).content.decode()
    )


def test_a_cap_that_is_no_number_is_refused(browser: Client, agent: Agent, recorded: Run) -> None:
    answer = browser.post(
        reverse("ask_reward", args=[agent.pk]), {"cap": "much"}, headers={"HX-Request": "true"}
    )
    assert "number of dollars" in answer.content.decode() and not Errand.objects.exists()


def test_without_groups_the_preview_says_how_to_get_some(browser: Client, agent: Agent) -> None:
    shown = browser.get(reverse("reward_preview", args=[agent.pk])).content.decode()
    assert "No recorded groups yet" in shown


# Versions of the rubric


def test_the_form_that_saves_itself_makes_no_versions(browser: Client, agent: Agent) -> None:
    for text in ("- a", "- ab", "- abc"):
        save(browser, agent, rubric=text)
    assert agent.rubric == "- abc" and agent.rubrics.count() == 0


def test_keeping_saves_what_was_typed_once(browser: Client, agent: Agent) -> None:
    for _attempt in range(2):
        answer = browser.post(
            reverse("keep_rubric", args=[agent.pk]),
            {"rubric": "- Be kind.\r\n", "note": "kinder"},
            headers={"HX-Request": "true"},
        )
    agent.refresh_from_db()
    (entry,) = rubrics.history(agent)
    assert entry.current and entry.version.note == "kinder" and "in use" in answer.content.decode()
    assert ("+", "- Be kind.") in [(line.mark, line.text) for line in entry.lines]


def test_an_earlier_version_is_taken_back_and_nothing_is_lost(
    browser: Client, agent: Agent, user: User
) -> None:
    for text in ("first", "second"):
        agent.rubric = text
        agent.save()
        rubrics.keep(agent, author=user)
    agent.rubric = "typed and not kept"
    agent.save()
    browser.post(reverse("take_back_rubric", args=[agent.pk, 1]))
    agent.refresh_from_db()
    assert agent.rubric == "first"
    assert [entry.version.text for entry in rubrics.history(agent)] == [
        "typed and not kept",
        "second",
        "first",
    ]
    assert [entry.current for entry in rubrics.history(agent)] == [False, False, True]
    browser.post(reverse("take_back_rubric", args=[agent.pk, 0]))
    agent.refresh_from_db()
    assert agent.rubric == ""
    assert browser.post(reverse("take_back_rubric", args=[agent.pk, 99])).status_code == 404


def test_hostile_text_in_rubrics_stays_text(browser: Client, agent: Agent, user: User) -> None:
    agent.rubric = "<script>alert(1)</script>"
    agent.save()
    rubrics.keep(agent, author=user, note="<img src=x>")
    shown = browser.get(reverse("reward", args=[agent.pk])).content.decode()
    assert "<script>alert" not in shown and "<img src=x" not in shown
    assert json.dumps("&lt;script&gt;")[1:-1] in shown
