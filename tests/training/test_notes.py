"""Notes and tags: kept where they belong, taken back, and nobody else's."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests import stories
from training.models import Note, Run, Trajectory, TrajectoryTag
from training.review.tries import notes

pytestmark = pytest.mark.django_db(transaction=True)
HTMX = {"HX-Request": "true"}


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
def told(run: Run) -> Trajectory:
    stories.tell(run, iter([stories.judged(1, 0, skill=1.0)]))
    return Trajectory.objects.filter(run=run).earliest("pk")


def test_a_note_stands_beside_its_message(ann: Client, told: Trajectory) -> None:
    address = f"/trajectories/{told.pk}/notes/"
    part = ann.post(address, {"text": "Good look-up", "message": "2"}, headers=HTMX).content.decode()
    assert 'id="notes-m2"' in part and "Good look-up" in part and "<html" not in part
    ann.post(address, {"text": "All in all fine"})
    page = ann.get(f"/trajectories/{told.pk}/").content.decode()
    beside = page[page.index('id="notes-m2"') : page.index('id="notes-m3"')]
    assert "Good look-up" in beside and "All in all fine" not in beside
    assert "All in all fine" in page[page.index('id="notes"') :]
    assert [(n.message, n.author) for n in told.notes.all()] == [(2, told.run.owner), (None, told.run.owner)]


def test_what_cannot_be_kept_is_refused_in_words(ann: Client, told: Trajectory) -> None:
    address = f"/trajectories/{told.pk}/notes/"
    answer = ann.post(address, {"text": "  "}, headers=HTMX)
    assert answer.status_code == 422 and "Write the note first." in answer.content.decode()
    answer = ann.post(address, {"text": "x", "message": "99"}, headers=HTMX)
    assert answer.status_code == 422 and "no message of that number" in answer.content.decode()
    with pytest.raises(notes.NotKept, match="shorten"):
        notes.write(told, author=told.run.owner, text="x" * (notes.LONGEST_NOTE + 1))
    assert not told.notes.exists()


def test_a_note_is_changed_deleted_and_brought_back(ann: Client, told: Trajectory) -> None:
    note = notes.write(told, author=told.run.owner, text="First", message=1)
    assert "Second" in ann.post(f"/notes/{note.pk}/", {"text": "Second"}, headers=HTMX).content.decode()
    part = ann.post(f"/notes/{note.pk}/delete/", headers=HTMX).content.decode()
    assert "Second" not in part and f"/notes/{note.pk}/restore/" in part
    assert Note.objects.get().deleted_at is not None
    assert "Second" in ann.post(f"/notes/{note.pk}/restore/", headers=HTMX).content.decode()
    without_scripts = ann.post(f"/notes/{note.pk}/delete/", follow=True).content.decode()
    assert f"/notes/{note.pk}/restore/" in without_scripts


def test_a_tag_is_given_once_and_taken_back(ann: Client, told: Trajectory) -> None:
    address = f"/trajectories/{told.pk}/tags/"
    for typed in ("needs  work", " needs work "):
        assert "needs work" in ann.post(address, {"name": typed}, headers=HTMX).content.decode()
    assert list(TrajectoryTag.objects.values_list("name", "run")) == [("needs work", told.run_id)]
    part = ann.post(f"{address}remove/", {"name": "needs work"}, headers=HTMX).content.decode()
    assert "is removed" in part and not told.tags.exists()
    assert ann.post(address, {"name": "x" * 41}, headers=HTMX).status_code == 422


def test_tags_of_the_run_are_offered(ann: Client, told: Trajectory) -> None:
    other = Trajectory.objects.filter(run=told.run).order_by("pk")[1]
    notes.tag(other, "hallucinated")
    page = ann.get(f"/trajectories/{told.pk}/").content.decode()
    assert '<option value="hallucinated">' in page


def test_tags_are_few_enough_to_read(told: Trajectory) -> None:
    for number in range(notes.MOST_TAGS):
        notes.tag(told, f"tag {number}")
    assert notes.tag(told, "tag 3") == "tag 3"
    with pytest.raises(notes.NotKept, match="remove one first"):
        notes.tag(told, "one too many")


def test_what_is_written_stays_text(ann: Client, told: Trajectory) -> None:
    text = "</article><script>alert(1)</script>"
    ann.post(f"/trajectories/{told.pk}/notes/", {"text": text, "message": "1"})
    ann.post(f"/trajectories/{told.pk}/tags/", {"name": text})
    page = ann.get(f"/trajectories/{told.pk}/").content.decode()
    assert "<script>alert" not in page and page.count("&lt;script&gt;alert(1)") >= 2


def test_nobody_else_reads_or_writes_them(bob: Client, told: Trajectory) -> None:
    note = notes.write(told, author=told.run.owner, text="Mine")
    addresses = [f"/trajectories/{told.pk}/{what}/" for what in ("notes", "tags", "tags/remove")]
    addresses += [f"/notes/{note.pk}/", f"/notes/{note.pk}/delete/", f"/notes/{note.pk}/restore/"]
    for address in addresses:
        assert bob.post(address, {"text": "hm", "name": "hm"}, headers=HTMX).status_code == 404, address
    note.refresh_from_db()
    assert note.text == "Mine" and note.deleted_at is None and not told.tags.exists()
