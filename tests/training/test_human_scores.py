"""People's scores: beside the judge's, with reason and author, taken back and given again by owners alone."""

import json
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests import stories
from training.models import Group, Ranking, Run, Score, Trajectory

pytestmark = pytest.mark.django_db(transaction=True)
MakeRun = Callable[..., Run]
JSON = {"accept": "application/json"}


@pytest.fixture
def ann(client: Client, user: User) -> Client:
    client.force_login(user)
    return client


@pytest.fixture
def group(run: Run) -> Group:
    stories.tell(run, stories.training(1, 2, 2), end=Run.State.DONE)
    return Group.objects.filter(run=run, label="train").order_by("pk")[0]


@pytest.fixture
def played(group: Group) -> Trajectory:
    return group.trajectories.all()[0]


def post(client: Client, address: str, status: int = 200, **values: object) -> dict[str, object]:
    answer = client.post(address, values, headers=JSON)
    assert answer.status_code == status, answer.content
    return dict(answer.json())


def human(trajectory: Trajectory) -> float | None:
    return Trajectory.objects.get(pk=trajectory.pk).human


def test_a_score_is_added_beside_the_judges(ann: Client, played: Trajectory) -> None:
    before = list(played.scores.values_list("source", "value"))
    told = post(ann, f"/trajectories/{played.pk}/score/", value="0.4", reason=" It guessed. ", use="reward")
    assert (told["value"], told["reason"], told["author"], told["use"]) == (
        0.4,
        "It guessed.",
        "ann",
        "reward",
    )
    assert told["words"] == "You scored this try 0.40." and told["undo"] == f"/scores/{told['id']}/withdraw/"
    assert list(played.scores.exclude(source="human").values_list("source", "value")) == before
    again = Trajectory.objects.get(pk=played.pk)
    assert again.human == 0.4 and again.reward == played.reward


def test_undo_brings_back_the_score_before_and_redo_the_newest(ann: Client, played: Trajectory) -> None:
    post(ann, f"/trajectories/{played.pk}/score/", value="0.2", use="calibration")
    second = post(ann, f"/trajectories/{played.pk}/score/", value="0.9", use="calibration")
    undone = post(ann, str(second["undo"]))
    assert undone["withdrawn"] and undone["standing"] == 0.2 and human(played) == 0.2
    redone = post(ann, str(undone["undo"]))
    assert not redone["withdrawn"] and human(played) == 0.9
    assert Score.objects.filter(trajectory=played, source="human").count() == 2


@pytest.mark.parametrize("value", ["", "much", "nan", "inf", "1e999", "-0.1", "1.01", "0x1"])
def test_what_is_no_score_is_refused_with_a_sentence(ann: Client, played: Trajectory, value: str) -> None:
    told = post(ann, f"/trajectories/{played.pk}/score/", 400, value=value, use="reward")
    assert told == {"error": "A score is a number between 0 and 1."}
    told = post(ann, f"/trajectories/{played.pk}/score/", 400, value="1", use="vanity")
    assert "calibration" in str(told["error"])
    assert human(played) is None


def test_hostile_reasons_are_cleaned_and_cut(ann: Client, played: Trajectory) -> None:
    told = post(ann, f"/trajectories/{played.pk}/score/", value="1", reason="\0" + "x" * 9000, use="reward")
    assert "\0" not in str(told["reason"]) and len(str(told["reason"])) == 2000


def test_a_group_is_ranked_with_ties(ann: Client, group: Group) -> None:
    told = post(ann, f"/groups/{group.pk}/rank/", places="[[2],[0,1],[3,4,5,6],[7]]", reason="by hand")
    assert told["places"] == [[2], [0, 1], [3, 4, 5, 6], [7]] and told["words"] == "Your ranking is saved."
    second = post(ann, f"/groups/{group.pk}/rank/", places="[[7],[0,1,2,3,4,5,6]]")
    undone = post(ann, str(second["undo"]))
    assert undone["standing"] == told["places"]
    assert post(ann, str(undone["undo"]))["standing"] == second["places"]
    assert Ranking.objects.filter(group=group).count() == 2


@pytest.mark.parametrize(
    "places",
    [
        "",
        "{}",
        "[0,1]",
        "[[]]",
        "[[0]]",
        "[[0,1,2,3,4,5,6,7,7]]",
        "[[0,1,2,3,4,5,6,true]]",
        '[["0"]]',
        "[" * 9999,
    ],
)
def test_what_is_no_ranking_is_refused_with_a_sentence(ann: Client, group: Group, places: str) -> None:
    told = post(ann, f"/groups/{group.pk}/rank/", 400, places=places)
    assert str(told["error"]).endswith(".")
    assert not Ranking.objects.exists()


def test_a_browser_without_scripts_goes_back_to_where_it_was(ann: Client, played: Trajectory) -> None:
    address, home = f"/trajectories/{played.pk}/score/", f"/groups/{played.group_id}/"
    assert ann.post(address, {"value": "1", "use": "reward"}).headers["Location"] == home
    wanted = {"value": "1", "use": "reward", "next": f"/trajectories/{played.pk}/#m3"}
    assert ann.post(address, wanted).headers["Location"] == wanted["next"]
    evil = wanted | {"next": "https://evil.example/"}
    assert ann.post(address, evil).headers["Location"] == home
    refused = ann.post(address, {"value": "7", "use": "reward"}, follow=True)
    assert "A score is a number between 0 and 1." in refused.content.decode()


def test_nobody_else_scores_ranks_or_takes_back(
    ann: Client, group: Group, played: Trajectory, other_user: User
) -> None:
    told = post(ann, f"/trajectories/{played.pk}/score/", value="0.4", use="reward")
    ranked = post(ann, f"/groups/{group.pk}/rank/", places=json.dumps([list(range(8))]))
    bob = Client()
    bob.force_login(other_user)
    judges = played.scores.filter(source="ruler")[0]
    for address in (
        f"/trajectories/{played.pk}/score/",
        f"/scores/{told['id']}/withdraw/",
        f"/scores/{told['id']}/restore/",
        f"/groups/{group.pk}/rank/",
        f"/rankings/{ranked['id']}/withdraw/",
        f"/rankings/{ranked['id']}/restore/",
    ):
        assert bob.post(address, {"value": "1", "use": "reward"}).status_code == 404, address
        assert ann.get(address).status_code == 405, address
        assert Client().post(address).status_code == 302, address
        assert Client(enforce_csrf_checks=True).post(address).status_code == 403, address
    assert ann.post(f"/scores/{judges.pk}/withdraw/").status_code == 404  # a judge's is nobody's to take back
    assert human(played) == 0.4
