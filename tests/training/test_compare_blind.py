"""Pairs of a comparison judged blind: nothing tells whose a try is, and what was said is counted rightly."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.conftest import MakeRun
from training.models import BlindVote, Comparison, ComparisonTry, Errand, Run
from training.review.compare import exports
from training.review.compare.blind import votes
from training.review.compare.blind.pairs import Pair, pairs
from training.review.compare.blind.questions import asked
from training.review.compare.blind.tally import Tally
from training.review.compare.report import Report

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert(1)</script>|![x](http://evil.example/x.png)"
KEYS = [f"s{number}" for number in range(8)]
CONTENDERS = [
    {"key": "base", "kind": "base"},
    {"key": "step-2", "kind": "checkpoint", "step": 2},
    {"key": "model-1", "kind": "model", "model": "somewhere/giant-9"},
]


def said(text: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": "Where is my parcel?"}, {"role": "assistant", "content": text}]


@pytest.fixture
def finished(make_run: MakeRun) -> Run:
    return make_run(state="done")


@pytest.fixture
def comparison(finished: Run) -> Comparison:
    """Three contenders at eight scenarios; only the checkpoint succeeds, each says something of its own."""
    return compared(finished, CONTENDERS)


def compared(run: Run, contenders: list[dict[str, Any]], played: Iterable[str] = KEYS) -> Comparison:
    made = Comparison.objects.create(
        owner=run.owner,
        agent=run.agent,
        run=run,
        name="Untrained model against Checkpoint of step 2",
        split="test",
        scenario_keys=KEYS,
        contenders=contenders,
        request_id="a secret of the server",
    )
    for number, one in enumerate(contenders):
        good = one["key"] == "step-2"
        ComparisonTry.objects.bulk_create(
            ComparisonTry(
                comparison=made,
                contender=one["key"],
                scenario_key=key,
                success=good,
                reward=0.8125 if good else 0.0625,
                ended="answered",
                tokens=4242,
                cost=0.0777,
                messages=said(f"Answer of the speaker {number} at {key}. {HOSTILE}"),
                scores=[["checks", 1.0, "a reason of the checks"]],
            )
            for key in played
        )
    return made


def url(name: str, comparison: Comparison, *more: int) -> str:
    return reverse(name, args=[comparison.pk, *more])


def shown(client: Client, comparison: Comparison) -> str:
    return client.get(url("blind", comparison)).content.decode()


def answer(client: Client, comparison: Comparison, choice: str) -> Any:
    token = client.get(url("blind", comparison)).context["question"].token
    return client.post(url("blind_vote", comparison), {"pair": token, "choice": choice}, follow=True)


def prefer(comparison: Comparison, person: User, key: str, count: int | None = None) -> None:
    """The person finds this contender better wherever it is seen, or the first few times."""
    for pair in [one for one in asked(comparison, person) if key in (one.left, one.right)][:count]:
        votes.give(comparison, person, pair, "left" if pair.left == key else "right")


# Pairs


def test_every_two_contenders_meet_where_both_have_played() -> None:
    played = {("a", "s1"), ("b", "s1"), ("c", "s1"), ("a", "s2"), ("b", "s2"), ("c", "s3")}
    found = pairs("seed", ["s1", "s2", "s3"], ["a", "b", "c"], played)
    met = Counter((pair.scenario_key, *sorted((pair.left, pair.right))) for pair in found)
    assert met == Counter([("s1", "a", "b"), ("s1", "a", "c"), ("s1", "b", "c"), ("s2", "a", "b")])
    assert len({pair.token for pair in found}) == 4


def test_order_and_sides_are_shuffled_and_stay() -> None:
    keys = [f"s{number}" for number in range(400)]
    played = {(one, key) for one in "ab" for key in keys}
    mine, again, yours = (pairs(seed, keys, "ab", played) for seed in ("me", "me", "you"))
    assert mine == again and mine != yours
    assert 150 < sum(pair.left == "a" for pair in mine) < 250
    assert [pair.scenario_key for pair in mine] != keys
    sides = {pair.scenario_key: pair.left for pair in yours}
    assert 150 < sum(sides[pair.scenario_key] == pair.left for pair in mine) < 250


def test_a_token_does_not_tell_which_side_is_whose() -> None:
    keys = [f"s{number}" for number in range(400)]
    found = pairs("seed", keys, "ab", {(one, key) for one in "ab" for key in keys})
    for place in range(24):
        odd = [pair.left == "a" for pair in found if int(pair.token[place], 16) % 2]
        assert 0.3 < sum(odd) / len(odd) < 0.7


# The page


def test_nothing_on_the_page_tells_whose_a_try_is(comparison: Comparison, client: Client) -> None:
    client.force_login(comparison.owner)
    for _ in range(6):
        page = shown(client, comparison)
        told = [one["key"] for one in CONTENDERS[1:]] + [
            "Untrained",
            "Checkpoint",
            "giant",
            "base&",
            '"base"',
        ]
        told += [
            "0.81",
            "0.06",
            "4242",
            "0.077",
            "a reason of the checks",
            "succeeded",
            comparison.request_id,
        ]
        assert [word for word in told if word in page] == []
        assert "Where is my parcel?" in page and len(re.findall("Answer of the speaker", page)) == 2
        assert "<script>alert" not in page and "&lt;script&gt;" in page
        answer(client, comparison, "tie")


def test_the_sides_are_those_of_the_pair_and_stay_on_reload(comparison: Comparison, client: Client) -> None:
    client.force_login(comparison.owner)
    first = asked(comparison, comparison.owner)[0]
    number = {one["key"]: str(place) for place, one in enumerate(CONTENDERS)}
    for _ in range(2):
        speakers = re.findall(r"Answer of the speaker (\d)", shown(client, comparison))
        assert speakers == [number[first.left], number[first.right]]


def test_an_answer_is_kept_and_the_next_pair_is_asked(comparison: Comparison, client: Client) -> None:
    client.force_login(comparison.owner)
    every = asked(comparison, comparison.owner)
    assert len(every) == 24
    page = answer(client, comparison, "left").content.decode()
    assert "1 of 24 judged" in page and page.count(every[1].token) == 1
    kept = BlindVote.objects.get()
    assert (kept.author, kept.choice) == (comparison.owner, "left")
    assert Pair(every[0].token, kept.scenario_key, kept.left, kept.right) == every[0]


def test_a_second_answer_to_a_pair_takes_the_place_of_the_first(
    comparison: Comparison, client: Client
) -> None:
    client.force_login(comparison.owner)
    token = asked(comparison, comparison.owner)[0].token
    for choice in ("left", "right"):
        client.post(url("blind_vote", comparison), {"pair": token, "choice": choice})
    assert BlindVote.objects.get().choice == "right"


@pytest.mark.parametrize(
    "sent", [{"choice": "left"}, {"choice": "best"}, {"pair": "0" * 24, "choice": "tie"}]
)
def test_what_is_no_answer_is_not_kept(comparison: Comparison, client: Client, sent: dict[str, str]) -> None:
    client.force_login(comparison.owner)
    sent = {"pair": asked(comparison, comparison.owner)[0].token} | sent if "best" in sent.values() else sent
    assert client.post(url("blind_vote", comparison), sent).status_code == 404
    assert not BlindVote.objects.exists()


def test_undo_asks_about_the_latest_pair_again(comparison: Comparison, client: Client) -> None:
    client.force_login(comparison.owner)
    answer(client, comparison, "left")
    second = client.get(url("blind", comparison)).context["question"].token
    answer(client, comparison, "right")
    undone = client.post(url("blind_undo", comparison), follow=True)
    assert undone.context["question"].token == second and BlindVote.objects.get().choice == "left"
    for _ in range(2):
        client.post(url("blind_undo", comparison))
    assert not BlindVote.objects.exists()


def test_skipped_pairs_come_back_when_they_are_asked_for(comparison: Comparison, client: Client) -> None:
    client.force_login(comparison.owner)
    for pair in asked(comparison, comparison.owner):
        votes.give(comparison, comparison.owner, pair, "skip" if pair.scenario_key == "s1" else "tie")
    page = shown(client, comparison)
    assert "You have judged every pair" in page and "3 of them skipped" in page
    page = client.post(url("blind_skipped", comparison), follow=True).content.decode()
    assert "21 of 24 judged" in page and BlindVote.objects.count() == 21


def test_tries_that_are_the_same_are_told_to_be(comparison: Comparison, client: Client) -> None:
    client.force_login(comparison.owner)
    assert "word for word the same" not in shown(client, comparison)
    comparison.tries.update(messages=said("It was shipped."))
    assert "word for word the same" in shown(client, comparison)


def test_without_a_pair_the_page_says_why(finished: Run, client: Client) -> None:
    client.force_login(finished.owner)
    alone = compared(finished, CONTENDERS[:1])
    assert "only one contender" in shown(client, alone)
    alone.delete()
    made = compared(finished, CONTENDERS)
    made.tries.update(error="The provider hung up.")
    assert "No scenario has two tries" in shown(client, made)
    errand = Errand.objects.create(
        owner=finished.owner, agent=finished.agent, kind="compare", state="working"
    )
    Comparison.objects.filter(pk=made.pk).update(errand=errand)
    made.tries.update(error="")
    assert "still being played" in shown(client, made)
    assert "Judge blind" not in client.get(url("comparison", made)).content.decode()
    assert "Nothing has been judged yet" in client.get(url("blind_judged", made)).content.decode()


def test_nobody_else_may_look_or_vote(comparison: Comparison, other_user: User, client: Client) -> None:
    token = asked(comparison, comparison.owner)[0].token
    prefer(comparison, comparison.owner, "step-2", 1)
    vote = BlindVote.objects.get()
    client.force_login(other_user)
    for name in ("blind", "blind_judged"):
        assert client.get(url(name, comparison)).status_code == 404
    assert client.post(url("blind_vote", comparison), {"pair": token, "choice": "tie"}).status_code == 404
    for name in ("blind_undo", "blind_skipped"):
        assert client.post(url(name, comparison)).status_code == 404
    assert client.post(url("blind_take_back", comparison, vote.pk)).status_code == 404
    client.logout()
    assert client.post(url("blind_vote", comparison), {"pair": token, "choice": "tie"}).status_code == 302
    assert BlindVote.objects.get() == vote


def test_votes_of_others_are_kept_apart(comparison: Comparison, other_user: User, client: Client) -> None:
    prefer(comparison, other_user, "base")
    client.force_login(comparison.owner)
    assert "0 of 24 judged" in shown(client, comparison)
    assert Tally(Report(comparison), comparison.owner).rows == []
    assert "Judged blind" not in client.get(url("comparison", comparison)).content.decode()
    client.post(url("blind_undo", comparison))
    theirs = BlindVote.objects.all()
    client.post(url("blind_take_back", comparison, theirs[0].pk))
    assert theirs.count() == 16


# What it came to


def test_wins_ties_and_losses_are_counted_by_pair_of_contenders(comparison: Comparison) -> None:
    person = comparison.owner
    prefer(comparison, person, "step-2")
    tied = [one for one in asked(comparison, person) if "step-2" not in (one.left, one.right)]
    for pair in tied[:3]:
        votes.give(comparison, person, pair, "tie")
    votes.give(comparison, person, tied[3], "skip")
    tally = Tally(Report(comparison), person)
    told = [(row.contender.key, row.against.key, row.wins, row.ties, row.losses) for row in tally.rows]
    assert told == [("step-2", "base", 8, 0, 0), ("model-1", "base", 0, 3, 0), ("model-1", "step-2", 0, 0, 8)]
    first, second, third = tally.rows
    assert first.p == third.p == pytest.approx(2 / 2**8) and second.p == 1.0
    assert first.corrected == pytest.approx(3 * first.p)
    assert (tally.agreement.agreeing, tally.agreement.decided, tally.agreement.share) == (16, 16, 1.0)


def test_the_reward_agrees_only_where_both_decided(comparison: Comparison) -> None:
    person = comparison.owner
    Comparison.objects.filter(pk=comparison.pk).update(contenders=CONTENDERS[:2])
    comparison.refresh_from_db()
    comparison.tries.filter(scenario_key="s0").update(reward=0.5)
    comparison.tries.filter(scenario_key="s1", contender="base").update(reward=1.0)
    for pair in asked(comparison, person):
        better = "left" if pair.left == "step-2" else "right"
        votes.give(comparison, person, pair, "tie" if pair.scenario_key == "s2" else better)
    tally = Tally(Report(comparison), person)
    assert (tally.agreement.agreeing, tally.agreement.decided) == (5, 6)
    assert tally.rows[0].corrected is None
    agrees = {one.vote.scenario_key: one.agrees for one in tally.judged}
    assert (agrees["s0"], agrees["s1"], agrees["s2"], agrees["s3"]) == (None, False, None, True)


def test_what_was_judged_is_shown_with_names_and_can_be_taken_back(
    comparison: Comparison, client: Client
) -> None:
    client.force_login(comparison.owner)
    answer(client, comparison, "skip")
    prefer(comparison, comparison.owner, "step-2", 2)
    page = client.get(url("blind_judged", comparison)).content.decode()
    assert page.count("Take back the answer") == 2 and page.count("<b>Checkpoint of step 2</b>") == 2
    vote = BlindVote.objects.exclude(choice="skip").first()
    assert vote is not None
    case = reverse("comparison_case", args=[comparison.pk, vote.scenario_key])
    assert f"{case}?a={vote.left}&amp;b={vote.right}" in page
    assert client.get(f"{case}?a={vote.left}&b={vote.right}").status_code == 200
    page = client.post(url("blind_take_back", comparison, vote.pk), follow=True).content.decode()
    assert page.count("Take back the answer") == 1


def test_the_report_tells_it_only_when_there_are_votes(comparison: Comparison, client: Client) -> None:
    client.force_login(comparison.owner)
    page, text = (client.get(url(name, comparison)) for name in ("comparison", "comparison_markdown"))
    assert "Judge blind" in page.content.decode()
    assert "Judged blind" not in page.content.decode() + text.content.decode()
    prefer(comparison, comparison.owner, "step-2")
    page, text = (client.get(url(name, comparison)) for name in ("comparison", "comparison_markdown"))
    told = "agrees with you in 16 of the 16 pairs that you and it both decided"
    assert "Judged blind" in page.content.decode() and told in page.content.decode()
    assert "## Judged blind" in text.content.decode() and told in text.content.decode()


def test_the_markdown_of_hostile_names_stays_a_table(finished: Run) -> None:
    hostile = [CONTENDERS[0], {"key": "model-1", "kind": "model", "model": HOSTILE}]
    made = compared(finished, hostile)
    prefer(made, made.owner, "model-1")
    report = Report(made)
    text = exports.markdown(report, Tally(report, made.owner))
    block = text.split("## Judged blind\n\n")[1].split("\n\n")[0].splitlines()
    assert len(block) == 3 and len({line.count("|") for line in block}) == 1 and "<script" not in text


def test_as_many_queries_however_much_was_played_and_judged(finished: Run, client: Client) -> None:
    client.force_login(finished.owner)
    few = compared(finished, CONTENDERS[:2], KEYS[:2])
    prefer(few, few.owner, "step-2", 1)
    client.get(url("blind", few))  # the first page of a process reads more
    before = queries_of_pages(client, few)
    few.delete()
    many = compared(finished, CONTENDERS)
    prefer(many, many.owner, "step-2")
    assert queries_of_pages(client, many) == before
    assert before["blind"] <= 6 and before["blind_judged"] <= 5


def queries_of_pages(client: Client, comparison: Comparison) -> dict[str, int]:
    counts = {}
    for name in ("blind", "blind_judged", "comparison", "comparison_markdown"):
        with CaptureQueriesContext(connection) as seen:
            client.get(url(name, comparison))
        counts[name] = len(seen)
    return counts
