"""One scenario over all steps: where it turned, what changed; and a scenario made of a try."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.test import Client

from gpu_worker.types import GroupJudged
from tests import stories
from training.authoring.studio.scenarios import Refused
from training.models import Group, Run, RunScenarios, Scenario, Trajectory
from training.review.tries import flips, scenario_of_try, timeline
from training.review.tries.flips import Point

HTMX = {"HX-Request": "true"}


def points(*successes: float, means: Sequence[float] = ()) -> list[Point]:
    means = means or successes
    return [
        Point(place, "train", place, 4, round(4 * share), mean, mean, mean)
        for place, (share, mean) in enumerate(zip(successes, means, strict=True))
    ]


def test_a_turn_is_where_everything_after_is_like_the_end() -> None:
    assert flips.turned([False, False, True, True]) == 2
    assert flips.turned([True, False, True, False, False]) == 3
    assert flips.turned([True, True]) is None and flips.turned([]) is None
    assert flips.turned(["find", "find", "find then set"]) == 2


def test_what_became_of_a_scenario_is_told_by_success_first() -> None:
    assert flips.kind(points(0, 0.25, 1)) == "improved"
    assert flips.kind(points(1, 1, 0.25)) == "regressed"
    assert flips.kind(points(1, 0, 1)) == "unsteady"
    assert flips.kind(points(1, 1, means=(0.5, 0.9))) == "improved"
    assert flips.kind(points(0, 0, means=(0.5, 0.2))) == "regressed"
    assert flips.kind(points(1, 1, means=(0.8, 0.9))) == "steady"
    assert flips.kind(points(1)) == "once"


def over_steps(run: Run, skills: Sequence[float], number: int = 7) -> str:
    """One scenario, tried once in every step, as well as the skills say; returns its key."""
    reports = []
    for step, skill in enumerate(skills, 1):
        told = stories.judged(step, 0, skill=skill, size=4)
        task = stories.scenario(number)
        tries = tuple(replace(one, scenario_id=task.id) for one in told.group.trajectories)
        group = replace(told.group, scenario=task, trajectories=tries)
        reports.append(GroupJudged(group, "train", "train", tied=False))
    stories.tell(run, iter(reports))
    return task.id


@pytest.fixture
def ann(client: Client, user: User) -> Client:
    client.force_login(user)
    return client


@pytest.mark.django_db(transaction=True)
def test_the_page_shows_both_sides_of_the_flip(ann: Client, run: Run) -> None:
    key = over_steps(run, (0, 0, 1, 1))
    found = timeline.timeline(run, key)
    assert found is not None
    assert [(flip.step, flip.before) for flip in found.flips] == [(3, 2), (3, 2)]
    assert [point.solved for point in found.points] == [False, False, True, True]
    page = ann.get(f"/runs/{run.pk}/scenarios/{key}/").content.decode()
    assert 'href="?k=2&amp;j=3"' in page and "solved from here on" in page
    assert "Then: Step 2" in " ".join(page.split()).replace("</h3>", " ") and "shipped" in page
    assert page.count("sides-row") >= 4 and "mean score +" in page


@pytest.mark.django_db(transaction=True)
def test_nothing_is_said_to_have_changed_in_one_step(ann: Client, run: Run) -> None:
    page = ann.get(f"/runs/{run.pk}/scenarios/{over_steps(run, (1,))}/").content.decode()
    assert "tried in one step only" in page and "mean score" not in page


@pytest.mark.django_db(transaction=True)
def test_steps_and_tries_are_chosen_by_the_address(ann: Client, run: Run) -> None:
    key = over_steps(run, (0, 0.5, 1))
    worst = Trajectory.objects.filter(run=run, step=1).order_by("reward", "-index")[0]
    page = ann.get(f"/runs/{run.pk}/scenarios/{key}/?k=1&j=3&a={worst.index}").content.decode()
    assert f'/trajectories/{worst.pk}/"' in page
    for nonsense in ("?k=99&j=x", "?k=-1", "?a=99999999999&b=x", "?k=1&j=1"):
        assert ann.get(f"/runs/{run.pk}/scenarios/{key}/{nonsense}").status_code == 200


@pytest.mark.django_db(transaction=True)
def test_scenarios_are_listed_by_how_far_they_moved(ann: Client, run: Run) -> None:
    stories.tell(run, stories.training(3, 2, 8))
    lines = timeline.scenarios(run)
    assert [abs(line.change) for line in lines] == sorted((abs(line.change) for line in lines), reverse=True)
    by_key = {line.key: line for line in lines}
    assert len(by_key["s70000"].points) == 2 and by_key["s100"].kind == "once"
    page = ann.get(f"/runs/{run.pk}/scenarios/").content.decode()
    assert "s70000" in page and "improved" in page
    only = ann.get(f"/runs/{run.pk}/scenarios/?kind=once").content.decode()
    assert "s100" in only and "s70000" not in only


@pytest.mark.django_db(transaction=True)
def test_the_list_reads_few_rows_however_many_scenarios(
    ann: Client, run: Run, django_assert_max_num_queries: object
) -> None:
    stories.tell(run, stories.training(3, 2, 8))
    with django_assert_max_num_queries(3):  # type: ignore[operator]
        assert timeline.scenarios(run)


@pytest.mark.django_db(transaction=True)
def test_a_run_without_groups_says_what_to_wait_for(ann: Client, run: Run) -> None:
    assert "No scenario has been tried yet" in ann.get(f"/runs/{run.pk}/scenarios/").content.decode()
    assert ann.get(f"/runs/{run.pk}/scenarios/none/").status_code == 404


@pytest.mark.django_db(transaction=True)
def test_a_key_may_be_anything(ann: Client, run: Run) -> None:
    stories.tell(run, iter([stories.saying("</h1><script>alert(1)</script>/../%2f")]))
    page = ann.get(f"/runs/{run.pk}/scenarios/").content.decode()
    assert "<script>alert" not in page
    address = page.split('<th scope="row"><a href="')[1].split('"')[0].replace("&amp;", "&")
    shown = ann.get(address).content.decode()
    assert "&lt;script&gt;alert(1)" in shown and "<script>alert" not in shown


@pytest.mark.django_db(transaction=True)
def test_nobody_else_sees_them(run: Run, other_user: User, client: Client) -> None:
    key = over_steps(run, (0, 1))
    client.force_login(other_user)
    trajectory = Trajectory.objects.filter(run=run).earliest("pk")
    for address in (f"/runs/{run.pk}/scenarios/", f"/runs/{run.pk}/scenarios/{key}/"):
        assert client.get(address).status_code == 404
    for address in ("scenario/", "scenario/undo/"):
        assert client.post(f"/trajectories/{trajectory.pk}/{address}").status_code == 404


@pytest.fixture
def tried(run: Run) -> Trajectory:
    """A good try at a scenario that the run has."""
    task = stories.scenario(100)
    values = [
        {
            "id": task.id,
            "split": "train",
            "messages": list(task.messages),
            "expect": task.expect,
            "tags": ["late"],
        }
    ]
    RunScenarios.objects.filter(run=run).update(values=values)
    Run.objects.filter(pk=run.pk).update(config={"system_prompt": stories.SYSTEM})
    stories.tell(run, iter([stories.judged(1, 0, skill=1.0)]))
    return Trajectory.objects.filter(group=Group.objects.get(run=run)).earliest("pk")


@pytest.mark.django_db(transaction=True)
def test_a_scenario_is_made_of_a_try_and_taken_back(ann: Client, tried: Trajectory) -> None:
    address = f"/trajectories/{tried.pk}/scenario/"
    part = ann.post(address, {"before": "4", "split": "test"}, headers=HTMX).content.decode()
    made = Scenario.objects.get(source="review")
    assert (made.split, made.expect, made.tags) == ("test", {"answer_has": [["shipped"]]}, ["late"])
    assert [message["role"] for message in made.messages] == ["user", "assistant", "tool"]
    assert "The scenario is added." in part and f"#scenario-{made.pk}" in part
    ann.post(f"{address}undo/", {"scenario": made.pk}, headers=HTMX)
    made.refresh_from_db()
    assert made.deleted_at is not None


@pytest.mark.django_db(transaction=True)
def test_a_leak_into_another_split_is_told(ann: Client, tried: Trajectory) -> None:
    question = stories.scenario(100).messages[1]["content"]
    Scenario.objects.create(
        agent=tried.run.agent, key="same", split="train", messages=[{"role": "user", "content": question}]
    )
    part = ann.post(f"/trajectories/{tried.pk}/scenario/", {"before": "4", "split": "test"}, headers=HTMX)
    assert "It leaks: “same” in “Train”" in part.content.decode()


@pytest.mark.django_db(transaction=True)
def test_undo_takes_back_nothing_else(ann: Client, tried: Trajectory) -> None:
    other = Scenario.objects.get(key="t1")
    ann.post(f"/trajectories/{tried.pk}/scenario/undo/", {"scenario": other.pk}, headers=HTMX)
    other.refresh_from_db()
    assert other.deleted_at is None


@pytest.mark.django_db(transaction=True)
def test_what_makes_no_scenario_is_refused_in_words(ann: Client, tried: Trajectory) -> None:
    for before in (0, 2, 99):
        with pytest.raises(Refused, match="choose one"):
            scenario_of_try.make(tried, before=before, split="train")
    answer = ann.post(f"/trajectories/{tried.pk}/scenario/", {"before": "4", "split": "x"}, headers=HTMX)
    assert answer.status_code == 422 and "Choose the split" in answer.content.decode()
    assert not Scenario.objects.filter(source="review").exists()
