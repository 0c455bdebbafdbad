"""The Endpoint page and the offer on a finished run, through the pages themselves."""

import ast
import json
import shlex
import subprocess
from html import unescape

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from django.utils.html import escape

from tests.conftest import MakeRun
from training.models import ApiKey, Checkpoint, Deployment, Evaluation, Run
from training.runs import lease
from training.runs.recorder import Recorder
from training.serving import queries, services
from training.serving.snippets import snippets

HOSTILE = """It's "done"? `id` $(id) \\ </code><script>alert(1)</script>\n#"""


@pytest.fixture
def done(make_run: MakeRun) -> Run:
    """A finished run with three checkpoints; the last was measured."""
    run = make_run("desk", state=Run.State.DONE)
    for step in (1, 2, 3):
        Checkpoint.objects.create(run=run, step=step, directory=f"/runs/{step}", sha256=f"{step}", bytes=1)
    numbers = {"reward": 0.9, "count": 200, "low": 0.9, "high": 0.97, "outcomes": []}
    Evaluation.objects.create(run=run, label="trained", step=3, split="test", success=0.94, **numbers)
    return run


@pytest.fixture
def ann(client: Client, user: User) -> Client:
    client.force_login(user)
    return client


def text_of(response: HttpResponse) -> str:
    return unescape(response.content.decode())


def key_in(response: HttpResponse) -> str:
    text = text_of(response)
    start = text.index("art_")
    return text[start : start + 47]


def test_only_signed_in_people_come_in(client: Client, db: None) -> None:
    for address in ("/endpoint/", "/endpoint/keys/", "/endpoint/deployments/"):
        answer = client.get(address) if address == "/endpoint/" else client.post(address)
        assert answer.status_code == 302 and answer["Location"].startswith("/sign-in/")


def test_looking_changes_nothing(ann: Client, done: Run) -> None:
    deployment = services.deploy_run(done)
    assert deployment is not None
    for address in ("keys/", f"runs/{done.pk}/key/", "deployments/", f"deployments/{deployment.pk}/remove/"):
        assert ann.get(f"/endpoint/{address}").status_code == 405
    assert Deployment.objects.exists() and not ApiKey.objects.exists()


def test_a_form_without_token_is_refused(user: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(user)
    assert strict.post("/endpoint/keys/", {"name": "shop"}).status_code == 403
    assert not ApiKey.objects.exists()


def test_an_empty_page_says_what_will_be_there(ann: Client) -> None:
    page = text_of(ann.get("/endpoint/"))
    assert "Nothing answers yet" in page and "No keys yet" in page


def test_a_key_is_shown_once_with_requests_that_hold_it(ann: Client, done: Run) -> None:
    services.deploy_run(done)
    made = ann.post("/endpoint/keys/", {"name": "shop"})
    key = key_in(made)
    assert text_of(made).count(key) == 4  # by itself and in three requests
    assert "no-store" in made["Cache-Control"]
    assert queries.target_of(f"Bearer {key}", "desk").model == "desk"
    later = text_of(ann.get("/endpoint/"))
    assert key not in later and key[:12] in later


def test_a_key_that_cannot_be_made_says_why(ann: Client) -> None:
    ann.post("/endpoint/keys/", {"name": "shop"})
    again = ann.post("/endpoint/keys/", {"name": "shop"})
    assert again.status_code == 422 and "already have a key named “shop”" in text_of(again)


def test_revoking_needs_the_name_typed(ann: Client) -> None:
    ann.post("/endpoint/keys/", {"name": "shop"})
    key = ApiKey.objects.get()
    refused = ann.post(f"/endpoint/keys/{key.pk}/revoke/", {"confirm": "shpo"}, follow=True)
    assert "Nothing was changed" in text_of(refused)
    key.refresh_from_db()
    assert key.revoked_at is None
    gone = ann.post(f"/endpoint/keys/{key.pk}/revoke/", {"confirm": "shop"}, follow=True)
    assert "is revoked" in text_of(gone) and "No keys yet" in text_of(gone)
    key.refresh_from_db()
    assert key.revoked_at is not None
    assert ann.post(f"/endpoint/keys/{key.pk}/revoke/", {"confirm": "shop"}).status_code == 404


def test_names_show_their_step_and_success(ann: Client, done: Run) -> None:
    services.deploy_run(done)
    page = " ".join(text_of(ann.get("/endpoint/")).split())
    assert "step 3" in page and "success 94 % on unseen scenarios" in page


def test_promoting_moves_a_name_to_another_step(ann: Client, done: Run) -> None:
    services.deploy_run(done)
    first = done.checkpoints.get(step=1)
    page = ann.post("/endpoint/deployments/", {"alias": "desk", "checkpoint": first.pk}, follow=True)
    assert "“desk” now answers with desk, step 1." in text_of(page)
    assert Deployment.objects.get().checkpoint == first


@pytest.mark.parametrize("alias", ["", "a b", "a@1"])
def test_a_name_that_cannot_be_says_why(ann: Client, done: Run, alias: str) -> None:
    body = {"alias": alias, "checkpoint": done.checkpoints.get(step=1).pk}
    assert "letters, digits" in text_of(ann.post("/endpoint/deployments/", body, follow=True))
    assert not Deployment.objects.exists()


def test_taking_a_name_down_needs_it_typed(ann: Client, done: Run) -> None:
    deployment = services.deploy_run(done)
    assert deployment is not None
    address = f"/endpoint/deployments/{deployment.pk}/remove/"
    ann.post(address, {"confirm": ""})
    assert Deployment.objects.exists()
    ann.post(address, {"confirm": "desk"})
    assert not Deployment.objects.exists() and done.checkpoints.count() == 3


def test_nothing_of_somebody_else_is_shown_or_touched(
    client: Client, done: Run, user: User, other_user: User
) -> None:
    deployment = services.deploy_run(done)
    key, _ = services.make_key(owner=user, name="shop")
    client.force_login(other_user)
    page = text_of(client.get("/endpoint/"))
    assert "desk" not in page and "shop" not in page
    assert deployment is not None
    posts: list[tuple[str, dict[str, object]]] = [
        (f"keys/{key.pk}/revoke/", {"confirm": "shop"}),
        (f"runs/{done.pk}/key/", {}),
        (f"deployments/{deployment.pk}/remove/", {"confirm": "desk"}),
        ("deployments/", {"alias": "mine", "checkpoint": done.checkpoints.get(step=1).pk}),
        ("deployments/", {"alias": "mine", "checkpoint": "9" * 40}),
        ("deployments/", {"alias": "mine", "checkpoint": "x"}),
    ]
    for address, body in posts:
        assert client.post(f"/endpoint/{address}", body).status_code == 404, address
    assert ApiKey.objects.get().revoked_at is None and Deployment.objects.get() == deployment


def test_a_finished_run_offers_a_real_held_out_question(ann: Client, done: Run) -> None:
    services.deploy_run(done)
    offer = text_of(ann.get(f"/runs/{done.pk}/offer/"))
    assert "Where is order e1?" in offer and "$ARTWEB_API_KEY" in offer
    assert "http://testserver/v1/chat/completions" in offer and '"model": "desk"' in offer


def test_a_run_whose_name_was_taken_is_offered_by_step(ann: Client, done: Run, make_run: MakeRun) -> None:
    other = make_run("other", state=Run.State.DONE)
    taken = Checkpoint.objects.create(run=other, step=1, directory="/o", sha256="o", bytes=1)
    services.deploy(owner=done.owner, alias="desk", checkpoint=taken)
    assert '"model": "desk@3"' in text_of(ann.get(f"/runs/{done.pk}/offer/"))


def test_a_run_without_checkpoints_offers_nothing(ann: Client, make_run: MakeRun) -> None:
    run = make_run(state=Run.State.DONE)
    assert text_of(ann.get(f"/runs/{run.pk}/offer/")).strip() == ""


@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}])
def test_the_offer_makes_a_key_in_place(ann: Client, done: Run, headers: dict[str, str]) -> None:
    services.deploy_run(done)
    made = ann.post(f"/endpoint/runs/{done.pk}/key/", headers=headers)
    assert text_of(made).count(key_in(made)) == 4
    assert ("<html" in text_of(made)) == (not headers)
    ann.post(f"/endpoint/runs/{done.pk}/key/")
    assert [key.name for key in ApiKey.objects.order_by("pk")] == ["desk", "desk 2"]


def test_a_run_that_ends_well_answers_under_its_name(make_run: MakeRun, transactional_db: None) -> None:
    run = make_run("fresh")
    claimed = lease.claim(run.pk)
    assert claimed is not None
    Checkpoint.objects.create(run=run, step=1, directory="/fresh", sha256="f", bytes=1)
    with Recorder(claimed) as recorder:
        recorder.end(Run.State.DONE, "done", summary={"weights_sha256": "f"})
    assert Deployment.objects.get().alias == "fresh"


@pytest.mark.parametrize("key", [None, "art_" + "x" * 43])
def test_whatever_the_question_the_requests_hold_exactly_it(key: str | None) -> None:
    messages = [{"role": "user", "content": HOSTILE}]
    found = snippets(base_url="http://127.0.0.1:8000/v1", model="desk", messages=messages, key=key)
    words = shlex.split(found.curl.replace("\\\n", ""))
    assert json.loads(words[-1]) == {"model": "desk", "messages": messages}
    assert words[:3] == ["curl", "-sS", "http://127.0.0.1:8000/v1/chat/completions"]
    echo = subprocess.run(
        ["bash", "-c", found.curl.replace("curl -sS", "printf '%s\\0'", 1)], capture_output=True, check=True
    )
    assert json.loads(echo.stdout.split(b"\0")[-2]) == {"model": "desk", "messages": messages}
    for code in (found.python, found.with_tools):
        strings = {node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)}
        assert HOSTILE in strings and "http://127.0.0.1:8000/v1" in strings
        assert (key or "ARTWEB_API_KEY") in strings


def test_hostile_words_stay_text(ann: Client, done: Run) -> None:
    done.scenarios.values[-1]["messages"][0]["content"] = HOSTILE
    done.scenarios.values = done.scenarios.values[-1:]
    done.scenarios.save()
    services.deploy_run(done)
    ann.post("/endpoint/keys/", {"name": "<script>x</script>"})
    page = ann.get("/endpoint/").content.decode()
    assert "<script>alert" not in page and "<script>x" not in page
    assert escape("<script>x</script>") in page
