"""Text inside transcripts: any script, any part of a word, any query, and never more than was asked for."""

import json

import pytest
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from tests import stories
from tests.training.test_tries_list import fill
from training.models import Run, Trajectory, TrajectoryRecord
from training.review.feed import paging, queries, search
from training.review.feed.filters import Filters
from training.review.feed.wanted import Wanted, pieces, snippet, text_of, wanted

CALL = {"function": {"name": "find_order", "arguments": json.dumps({"value": "OR-77"})}}


def say(run: Run, *texts: str) -> list[int]:
    """A try for each text; returns their ids."""
    fill(run, groups=len(texts), size=1)
    ids = list(Trajectory.objects.filter(run=run).order_by("pk").values_list("pk", flat=True))[-len(texts) :]
    for pk, text in zip(ids, texts, strict=True):
        messages = [
            {"role": "system", "content": "Everybody is told about refunds."},
            {"role": "user", "content": "Please help."},
            {"role": "assistant", "content": text, "tool_calls": [CALL] if "order" in text else []},
        ]
        TrajectoryRecord.objects.create(trajectory_id=pk, messages=messages, segments=[])
    return ids


def found(run: Run, text: str, **more: object) -> list[int]:
    asked = Filters(run=run.pk, text=text, **more)  # type: ignore[arg-type]
    return [row.id for row in queries.listing(asked, [run]).rows]


TEXTS = (
    "Your order has shipped with DHL.",
    "我想退款，谢谢。",
    "The parcel is lost; a REFUND was made.",
    'She said "no refund" twice.',
    "Straße, İstanbul, naïve café ☃",
)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("shipped", [0]),
        ("hipp", [0]),
        ("refund", [3, 2]),
        ("REFUND parcel", [2]),
        ("refund -parcel", [3]),
        ('"no refund"', [3]),
        ('"refund no"', []),
        ("想退款", [1]),
        ("退款", [1]),
        ("☃", [4]),
        ("straße café", [4]),
        ("or-77", [0]),
        ("find_order", [0]),
        ("-refund -退款", [4, 0]),
        ("everybody", []),
        ("please he", [4, 3, 2, 1, 0]),
    ],
)
def test_a_query_finds_what_says_it_newest_first(run: Run, text: str, places: list[int]) -> None:
    ids = say(run, *TEXTS)
    assert found(run, text) == [ids[place] for place in places]


@pytest.mark.django_db(transaction=True)
def test_text_and_filters_together(run: Run) -> None:
    ids = say(run, *["The parcel is lost."] * 12)
    wanted_ = [
        pk
        for pk in Trajectory.objects.filter(pk__in=ids, success=True)
        .order_by("-pk")
        .values_list("pk", flat=True)
    ]
    assert found(run, "parcel", success=True) == wanted_
    assert found(run, "parcel", success=True, order="oldest") == wanted_[::-1]


@pytest.mark.django_db(transaction=True)
def test_pages_of_a_search_show_every_try_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "PAGE", 3)
    monkeypatch.setattr(paging, "LIKELY", 2)
    ids = say(run, *[("lost parcel", "nothing")[place % 3 == 0] for place in range(20)])
    saying = [pk for place, pk in enumerate(ids) if place % 3]
    for text in ("parcel", "pa", "parcel -nothing"):
        asked, seen, at = Filters(run=run.pk, text=text), [], None
        while True:
            listing = queries.listing(asked, [run], at=at)
            seen += [row.id for row in listing.rows]
            at = listing.found.rest or listing.found.last
            if not (listing.found.after or listing.found.rest):
                break
        assert seen == saying[::-1], text


@pytest.mark.django_db(transaction=True)
def test_the_index_follows_and_says_how_far_behind_it_is(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = say(run, *["The parcel is lost."] * 10)
    monkeypatch.setattr(queries, "SEARCH_PATIENCE", -1.0)
    monkeypatch.setattr(search, "READ", 4)
    listing = queries.listing(Filters(run=run.pk, text="parcel"), [run])
    assert (len(listing.rows), listing.behind) == (4, len(ids) - 4)
    assert search.catch_up(60)
    listing = queries.listing(Filters(run=run.pk, text="parcel"), [run])
    assert (len(listing.rows), listing.behind) == (10, 0)


@pytest.mark.django_db(transaction=True)
def test_two_that_index_at_once_index_each_try_once_and_none_that_is_gone(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, gone, last = say(run, "lost parcel", "lost parcel", "lost parcel")

    def meanwhile(messages: list[dict[str, object]]) -> str:
        """While one has read its tries, another indexes them all and one is deleted."""
        monkeypatch.setattr(search, "text_of", text_of)
        search.catch_up(60)
        search.forget(gone, text_of(messages))
        Trajectory.objects.filter(pk=gone).delete()
        return text_of(messages)

    monkeypatch.setattr(search, "text_of", meanwhile)
    assert search.catch_up(60)
    search.forget(first, text_of(TrajectoryRecord.objects.get(pk=first).messages))
    assert search.candidates(wanted("parcel"), after=first - 1, before=None, rising=True, limit=9) == [last]


@pytest.mark.django_db(transaction=True)
def test_what_was_forgotten_is_not_found(run: Run) -> None:
    first, second = say(run, "lost parcel", "lost parcel")
    search.catch_up(60)
    search.forget(first, text_of(TrajectoryRecord.objects.get(pk=first).messages))
    assert search.candidates(wanted("parcel"), after=first - 1, before=None, rising=True, limit=9) == [second]
    search.forget(first, "")


@pytest.mark.django_db(transaction=True)
def test_recorded_tries_are_found_and_the_match_is_marked_and_escaped(run: Run, client: Client) -> None:
    stories.tell(run, iter([stories.saying("<i>parcel</i> of & love")]))
    client.force_login(run.owner)
    page = client.get(reverse("tries"), {"run": run.pk, "text": "parcel</i"}).content.decode()
    assert "&lt;i&gt;<mark>parcel&lt;/i</mark>&gt; of &amp; love" in page


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "text", ['"', '""', "-", '-"', "AND OR NOT", "a*b", "(x", "NEAR(x y)", "x:y", "%", "'; --", "^"]
)
def test_no_query_fails(run: Run, client: Client, text: str) -> None:
    say(run, "anything")
    client.force_login(run.owner)
    assert client.get(reverse("tries"), {"run": run.pk, "text": text}).status_code == 200


@given(st.text(max_size=60))
def test_every_text_is_a_query(text: str) -> None:
    asked = wanted(text)
    assert all(len(gram) == 3 for gram in asked.grams)
    asked.in_text("whatever")


@given(st.text(min_size=1, max_size=40), st.text(max_size=200), st.text(max_size=200))
def test_a_snippet_shows_the_match_where_it_stands(word: str, before: str, after: str) -> None:
    asked = Wanted((word.lower(),))
    shown = snippet([{"role": "user", "content": before + word + after}], asked)
    if asked.in_text(before + word + after):
        assert shown is not None and shown.match.lower() in (word.lower(), "")


def test_a_quotation_that_is_never_closed_goes_to_the_end() -> None:
    assert wanted('a "b c') == Wanted(("a", "b c"))
    assert wanted('-"b c" d') == Wanted(("d",), ("b c",))


def test_pieces_are_messages_calls_and_results_but_not_the_system_prompt() -> None:
    messages = [
        {"role": "system", "content": "secret plan"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "content": [{"text": "部分"}]},
    ]
    assert pieces(messages) == [(1, 'find_order {"value": "OR-77"}'), (2, '[{"text": "部分"}]')]
