"""What people see: every page on a run told by the real recorder, and nothing of anybody else's."""

import json
import re
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import get_resolver

from gpu_worker.types import Job
from tests import stories
from training import access
from training.models import Group, Run, Trajectory
from training.runs import condition, queries
from training.urls import urlpatterns

pytestmark = pytest.mark.django_db(transaction=True)
MakeRun = Callable[..., Run]

MEANT_FOR_ANYBODY = {"sign_in", "redeem", "sign_out", "theme"}


@pytest.fixture
def ann(client: Client, user: User) -> Client:
    client.force_login(user)
    return client


@pytest.fixture
def bob(other_user: User) -> Client:
    found = Client()
    found.force_login(other_user)
    return found


@pytest.fixture
def told(run: Run) -> Run:
    """A run of three steps that is done."""
    return stories.tell(run, stories.training(3, 3, 10), end=Run.State.DONE)


def text_of(client: Client, address: str, status: int = 200) -> str:
    answer = client.get(address)
    assert answer.status_code == status, address
    return answer.content.decode()


def pages_of(run: Run) -> list[str]:
    group = Group.objects.filter(run=run, label="train").earliest("pk")
    trajectory = Trajectory.objects.filter(group=group).earliest("pk")
    return [
        f"/runs/{run.pk}/",
        f"/runs/{run.pk}/offer/",
        f"/runs/{run.pk}/lines/?before=5",
        f"/runs/{run.pk}/groups/",
        f"/groups/{group.pk}/",
        f"/trajectories/{trajectory.pk}/",
        f"/trajectories/{trajectory.pk}/tokens/",
        f"/trajectories/{trajectory.pk}/raw.json",
        f"/runs/{run.pk}/scenarios/",
        f"/runs/{run.pk}/scenarios/{group.scenario_key}/",
    ]


def test_home_tells_a_newcomer_what_to_do(ann: Client) -> None:
    page = text_of(ann, "/")
    assert "Nothing has been trained yet" in page
    assert "Start demo" in page


def test_home_shows_what_runs_waits_and_ended(ann: Client, make_run: MakeRun) -> None:
    stories.tell(make_run("ended"), stories.training(3, 2, 10), end=Run.State.DONE)
    stories.tell(make_run("going", steps=9), stories.training(9, 2, 4, stop_after=4))
    make_run("waits")
    page = text_of(ann, "/")
    running, waiting, finished = re.split(r"(?:Waiting|Finished)</h2>", page)
    assert "going" in running and "4 of 9 steps" in running and "about " in running
    assert "<polyline" in running
    assert "waits" in waiting and "Queued" in waiting
    assert "ended" in finished and "on 10 unseen scenarios (95 % CI" in finished


def test_home_is_sent_again_only_when_it_looks_different(ann: Client, run: Run) -> None:
    seen = re.findall(r"\?seen=(\w+)", text_of(ann, "/"))
    assert ann.get("/", {"seen": seen}).status_code == 204
    stories.tell(run, stories.training(3, 2, 2, stop_after=1))
    part = text_of(ann, f"/?seen={seen[0]}")
    assert "Training" in part and "<html" not in part


def test_start_demo_leads_to_its_page(
    ann: Client, monkeypatch: pytest.MonkeyPatch, make_run: MakeRun
) -> None:
    run = make_run("the-demo")
    monkeypatch.setattr("training.runs.services.start_demo", lambda *, owner: run)
    answer = ann.post("/demo/")
    assert (answer.status_code, answer["Location"]) == (302, f"/runs/{run.pk}/")


def test_a_finished_run_says_what_was_achieved(ann: Client, told: Run) -> None:
    page = text_of(ann, f"/runs/{told.pk}/")
    before, after = told.summary["baseline"]["success"], told.summary["trained"]["success"]
    assert f"success {before * 100:.0f} % → {after * 100:.0f} % on 10 unseen scenarios (95 % CI +" in page
    assert re.search(r"<title>\s*Done · order-desk-1 · ArtWeb</title>", page)
    assert 'id="pause"' not in page and 'id="stop"' not in page


@pytest.mark.parametrize(
    ("state", "buttons"),
    [
        ("queued", {"pause", "stop"}),
        ("training", {"pause", "stop"}),
        ("paused", {"resume", "stop"}),
        ("failed", {"resume"}),
        ("done", set()),
        ("cancelled", set()),
    ],
)
def test_buttons_fit_the_state(ann: Client, make_run: MakeRun, state: str, buttons: set[str]) -> None:
    run = make_run(state=state)
    page = text_of(ann, f"/runs/{run.pk}/")
    assert set(re.findall(r'id="(pause|resume|stop)"', page)) == buttons


def test_a_wish_answers_with_the_new_head(ann: Client, run: Run) -> None:
    head = ann.post(f"/runs/{run.pk}/pause/").content.decode()
    assert 'id="run-head"' in head and "Paused" in head
    run.refresh_from_db()
    assert run.state == Run.State.PAUSED


def test_a_refused_wish_says_why(ann: Client, told: Run) -> None:
    head = ann.post(f"/runs/{told.pk}/pause/").content.decode()
    assert "Too late: the state of" in head


def test_a_failed_run_says_why(ann: Client, make_run: MakeRun) -> None:
    run = make_run(state="failed", error="The disk is full: free 3 GB, then press Try again.")
    page = text_of(ann, f"/runs/{run.pk}/")
    assert (
        "The disk is full" in page
        and "It failed before the first step" in page
        and "checkpoint is" not in page
    )
    later = text_of(ann, f"/runs/{make_run('later', state='failed', step=3).pk}/")
    assert "Try again from the last checkpoint" in later and "The last good checkpoint is kept" in later


def test_a_stopped_run_says_what_there_is_to_serve(ann: Client, make_run: MakeRun) -> None:
    early = text_of(ann, f"/runs/{make_run('early', state='cancelled').pk}/")
    assert "There is nothing to serve" in early and "Choose it" not in early
    later = text_of(ann, f"/runs/{make_run('later', state='cancelled', step=3).pk}/")
    assert 'The last checkpoint is saved and can be served. <a href="/endpoint/">' in later


def test_a_silent_worker_is_told(ann: Client, make_run: MakeRun) -> None:
    run = stories.tell(make_run(), stories.training(3, 2, 2, stop_after=1))
    assert "gone silent" not in text_of(ann, f"/runs/{run.pk}/")
    Run.objects.filter(pk=run.pk).update(lease_until="2001-01-01T00:00Z")
    assert "gone silent" in text_of(ann, f"/runs/{run.pk}/")


def test_every_knob_is_explained(ann: Client, make_run: MakeRun) -> None:
    run = make_run(config={"learning_rate": 0.5, "environment": "order_desk"})
    page = text_of(ann, f"/runs/{run.pk}/")
    assert "Peak learning rate of AdamW." in page
    assert "Tries at each scenario (G)." in page
    knobs = re.findall(r'<dt class="mono">(\w+)', page)
    assert {"learning_rate", "group_size", "judge_model", "clip_high"} <= set(knobs)
    assert len(knobs) >= len(Job.__dataclass_fields__) - 4


def test_the_page_shows_fifty_cards_and_the_rest_by_pages(ann: Client, make_run: MakeRun) -> None:
    run = stories.tell(make_run(), stories.training(30, 2, 2))
    page = text_of(ann, f"/runs/{run.pk}/")
    shown = [int(pk) for pk in re.findall(r'class="card" id="group-(\d+)"', page)]
    newest_first = list(
        Group.objects.filter(run=run, label="train").order_by("-pk").values_list("pk", flat=True)
    )
    assert shown == newest_first[:50]
    found, address = [], f"/runs/{run.pk}/groups/?label=train"
    while address:
        page = text_of(ann, address)
        found += [int(pk) for pk in re.findall(r'id="group-(\d+)"', page)]
        older = re.search(r'href="(\?[^"]*before=\d+)"', page)
        address = f"/runs/{run.pk}/groups/{older[1].replace('&amp;', '&')}" if older else ""
    assert found == newest_first


def test_older_log_lines_are_fetched(ann: Client, told: Run) -> None:
    lines = text_of(ann, f"/runs/{told.pk}/lines/?before=8")
    assert re.findall(r'data-seq="(\d+)"', lines) == [str(seq) for seq in range(1, 8)]
    assert "before=" not in lines


def test_a_group_shows_all_tries_ranked_with_reason_and_judge(ann: Client, told: Run) -> None:
    group = Group.objects.filter(run=told, label="train", successes__gt=0, successes__lt=8).earliest("pk")
    page = text_of(ann, f"/groups/{group.pk}/")
    rewards = [float(value) for value in re.findall(r'class="try-reward num">([\d.]+)<', page)]
    assert len(rewards) == 8 and rewards == sorted(rewards, reverse=True)
    assert "Looked the order up once" in page and "Answered without looking anything up" in page
    assert "rule-based, offline" in page
    assert "Checks" in page and "Judge (RULER)" in page and "advantage" in page
    assert page.count(stories.SYSTEM) == 1, "what all tries begin with is told once"


def test_held_out_groups_are_called_what_they_are(ann: Client, told: Run) -> None:
    group = Group.objects.filter(run=told, label="baseline", index=4).earliest("pk")
    trajectory = Trajectory.objects.get(group=group)
    for address in (f"/groups/{group.pk}/", f"/trajectories/{trajectory.pk}/"):
        page = text_of(ann, address)
        assert "Before training, scenario 5" in page and "Step 0" not in page
        assert "ank 1" not in page, "there is nothing to rank a single try against"
    cards = text_of(ann, f"/runs/{told.pk}/groups/?label=baseline")
    assert "Before training, scenario 5" in cards and "Step 0" not in cards


@pytest.mark.parametrize("place", ["run", "group", "trajectory"])
def test_every_number_is_explained_where_it_is_shown(ann: Client, told: Run, place: str) -> None:
    pages = dict(zip(("run", "group", "trajectory"), [pages_of(told)[at] for at in (0, 4, 5)], strict=True))
    page = text_of(ann, pages[place])
    glossary = page[page.index('id="glossary"') :]
    for name in ("Reward", "95 % CI", "Group, tie", "Advantage", "Entropy", "Distance to base (KL)"):
        assert f"<dt>{name}</dt>" in glossary


def test_a_try_that_failed_is_shown_with_its_reason(ann: Client, run: Run) -> None:
    stories.tell(run, iter([stories.judged(1, 0, skill=0.0)]))
    group = Group.objects.get(run=run)
    page = text_of(ann, f"/groups/{group.pk}/")
    assert "Unreadable tool call" in page and "The arguments are not JSON" in page


def test_turns_that_equal_the_best_try_are_marked(ann: Client, run: Run) -> None:
    stories.tell(run, iter([stories.judged(1, 0, skill=1.0)]))
    page = text_of(ann, f"/groups/{Group.objects.get(run=run).pk}/")
    assert page.count('<td class="same" id=') == 7 * 3 and page.count('<td class="best" id=') == 3


def test_a_trajectory_is_readable(ann: Client, run: Run) -> None:
    stories.tell(run, iter([stories.judged(1, 0, skill=1.0)]))
    trajectory = Trajectory.objects.filter(group__run=run).earliest("pk")
    page = text_of(ann, f"/trajectories/{trajectory.pk}/")
    for said in (stories.SYSTEM, "find_order", "order_id", "OR-20037", "shipped with DHL", "rank "):
        assert said in page
    raw = json.loads(text_of(ann, f"/trajectories/{trajectory.pk}/raw.json"))
    assert raw["messages"] == trajectory.record.messages
    assert raw["segments"] == trajectory.record.segments


def test_tries_name_the_weights_that_sampled_them(ann: Client, run: Run) -> None:
    stories.tell(run, iter([stories.judged(8, 0, skill=1.0), stories.judged(1, 1, skill=1.0)]))
    eighth, first = Group.objects.filter(run=run).order_by("pk")
    trajectory = f"/trajectories/{eighth.trajectories.all()[0].pk}"
    for page in (f"/groups/{eighth.pk}/", f"{trajectory}/"):
        assert text_of(ann, page).count("sampled by the weights of step 7") == 1
    assert json.loads(text_of(ann, f"{trajectory}/raw.json"))["policy_step"] == 7
    assert "sampled by the untrained weights" in text_of(ann, f"/groups/{first.pk}/")
    eighth.trajectories.update(policy_step=None)
    assert "sampled by" not in text_of(ann, f"/groups/{eighth.pk}/")


def test_tokens_say_what_their_try_was_worth(ann: Client, told: Run) -> None:
    tries = Trajectory.objects.filter(group__run=told)
    shown = {
        "the agent does more of this, advantage +": tries.filter(advantage__gt=0),
        "the agent does less of this, advantage −": tries.filter(advantage__lt=0),
        "Nothing was learned from this try": tries.filter(group__label="baseline"),
    }
    for words, found in shown.items():
        assert words in text_of(ann, f"/trajectories/{found[0].pk}/?view=tokens")


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_every_page_in_every_language(ann: Client, told: Run, language: str) -> None:
    ann.cookies["django_language"] = language
    for address in ["/", "/sign-in/", *pages_of(told)]:
        assert text_of(ann, address)
    chinese = re.search(r"[\u4e00-\u9fff]{2}", text_of(ann, f"/runs/{told.pk}/").replace("中文", ""))
    assert bool(chinese) == (language == "zh-hans")


def test_what_is_somebody_elses_looks_like_nothing(bob: Client, told: Run) -> None:
    for address in pages_of(told):
        assert bob.get(address).status_code == 404, address
    for wish in ("pause", "resume", "stop"):
        assert bob.post(f"/runs/{told.pk}/{wish}/").status_code == 404
    assert "order-desk-1" not in text_of(bob, "/")


def test_nothing_is_shown_before_signing_in(told: Run) -> None:
    nobody = Client()
    names = {pattern.name for pattern in urlpatterns if getattr(pattern, "name", None)} - MEANT_FOR_ANYBODY
    known = get_resolver().reverse_dict
    assert names <= set(known)
    for address in ["/", *pages_of(told)]:
        answer = nobody.get(address)
        assert answer.status_code == 302 and answer["Location"].startswith("/sign-in/"), address
    for wish in ("pause", "resume", "stop"):
        answer = nobody.post(f"/runs/{told.pk}/{wish}/")
        assert answer.status_code == 302 and answer["Location"].startswith("/sign-in/")


def test_reading_changes_nothing_and_asking_needs_a_token(user: User, run: Run) -> None:
    careful = Client(enforce_csrf_checks=True)
    careful.force_login(user)
    for wish in ("pause", "resume", "stop"):
        assert careful.get(f"/runs/{run.pk}/{wish}/").status_code == 405
        refused = careful.post(f"/runs/{run.pk}/{wish}/")
        assert refused.status_code == 403 and "This page is out of date" in refused.content.decode()
    assert careful.get("/demo/").status_code == 405
    run.refresh_from_db()
    assert run.state == Run.State.QUEUED


def test_a_sign_in_link_is_used_by_post_only_and_once(client: Client, user: User) -> None:
    link = access.make_sign_in_link(user)
    assert "Sign in" in text_of(client, link)
    assert client.get("/").status_code == 302
    assert client.post(link)["Location"] == "/"
    assert client.get("/").status_code == 200
    assert Client().post(link).status_code == 410
    assert Client().post("/sign-in/made-up/").status_code == 410
    client.post("/sign-out/")
    assert client.get("/").status_code == 302


def test_the_theme_goes_back_to_its_own_site_only(client: Client, db: None) -> None:
    answer = client.post("/theme/", {"theme": "dark", "next": "https://elsewhere.example/"})
    assert answer["Location"] == "/" and answer.cookies["theme"].value == "dark"
    assert client.post("/theme/", {"theme": "dark", "next": "nowhere"})["Location"] == "nowhere"
    answer = client.post("/theme/", {"theme": "<script>", "next": "/sign-in/"})
    assert answer["Location"] == "/sign-in/" and "theme" not in answer.cookies


def test_a_mistake_of_ours_is_told_without_details(
    user: User, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    def broken(found: Run) -> None:
        raise KeyError("the secret detail")

    monkeypatch.setattr(queries, "whole_page", broken)
    client = Client(raise_request_exception=False)
    client.force_login(user)
    page = text_of(client, f"/runs/{run.pk}/", status=500)
    assert "Something broke" in page and "secret detail" not in page


def test_pages_hold_no_inline_script_or_style(ann: Client, told: Run) -> None:
    for address in ["/", "/sign-in/", *pages_of(told)[:-1]]:
        page = text_of(ann, address)
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", page), address


def test_a_page_costs_few_queries(
    ann: Client, told: Run, django_assert_max_num_queries: Callable[..., object]
) -> None:
    for address, most in [("/", 12), (f"/runs/{told.pk}/", 30), (f"/runs/{told.pk}/groups/", 8)]:
        with django_assert_max_num_queries(most):  # type: ignore[attr-defined]
            text_of(ann, address)


def test_the_title_says_how_far(make_run: MakeRun) -> None:
    run = stories.tell(make_run(steps=4), stories.training(4, 2, 2, stop_after=2))
    status = queries.status(run, condition.recent_steps(run))
    assert status.title == f"{status.percent} % Training · order-desk-1"
    assert status.percent == 50
    assert status.step_now == 3 and (status.done, status.total) == (19, 16)
