"""What every answer carries, what is refused before a view sees it, and what logs leave out."""

import logging

import pytest
from django.contrib.auth.models import User
from django.test import Client

from artweb.redaction import WithoutSecrets
from training import access
from training.models import Run

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("address", "status"),
    [("/", 200), ("/nothing/", 404), ("/sign-in/", 200), ("/v1/models", 401), ("/sign-out/", 405)],
)
def test_every_answer_carries_the_headers(user: User, address: str, status: int) -> None:
    client = Client()
    client.force_login(user)
    answer = client.get(address)
    assert answer.status_code == status
    assert answer["Content-Security-Policy"].startswith("default-src 'none'")
    assert answer["X-Content-Type-Options"] == "nosniff" and answer["X-Frame-Options"] == "DENY"
    assert "no-store" in answer["Cache-Control"]


def test_static_files_may_be_kept(client: Client) -> None:
    assert "public" in client.get("/static/css/base.css")["Cache-Control"]


@pytest.mark.parametrize(("site", "status"), [("cross-site", 403), ("same-origin", 200), ("none", 200)])
def test_another_site_cannot_make_a_browser_ask(user: User, run: Run, site: str, status: int) -> None:
    client = Client(headers={"Sec-Fetch-Site": site})
    client.force_login(user)
    assert client.post(f"/runs/{run.pk}/stop/").status_code == status
    assert client.get(f"/runs/{run.pk}/").status_code == 200
    run.refresh_from_db()
    assert (run.state == Run.State.QUEUED) == (status == 403)


def test_a_strange_host_or_too_large_a_body_is_told_what_to_do(client: Client) -> None:
    for answer in (
        client.get("/", headers={"Host": "evil.example"}),
        client.post("/theme/", {"next": "x" * 2**21}),
    ):
        assert answer.status_code == 400
        assert "ARTWEB_HOSTS" in answer.content.decode() and "evil.example" not in answer.content.decode()


def test_a_link_that_is_not_used_up_does_not_reach_the_log(
    user: User, caplog: pytest.LogCaptureFixture
) -> None:
    link = access.make_sign_in_link(user)
    token = link.split("/")[2]
    caplog.handler.addFilter(WithoutSecrets())
    assert Client(enforce_csrf_checks=True).post(link).status_code == 403
    logging.getLogger("artweb").warning("The key %s was shown.", "art_" + "x" * 43)
    assert "/sign-in/…" in caplog.text and token not in caplog.text
    assert "The key art_… was shown." in caplog.text and "xxx" not in caplog.text


def test_the_language_is_remembered_out_of_reach_of_scripts(client: Client) -> None:
    cookie = client.post("/i18n/setlang/", {"language": "zh-hans"}).cookies["django_language"]
    assert cookie["httponly"] and cookie["samesite"] == "Lax"
