"""What a person may do with remarks and tags of a try: write, change, take away, and undo that."""

from django.contrib.auth.models import User
from django.utils import timezone
from django.utils.translation import gettext as _

from training.models import Note, Run, Trajectory, TrajectoryTag
from training.runs.rows import clean

LONGEST_NOTE = 4000
LONGEST_TAG = 40
MOST_TAGS = 20
MOST_NAMES = 200
"""Tags of a run that are offered while one is typed."""


class NotKept(ValueError):
    """A note or a tag cannot be kept like this. The sentence says what to do."""


def write(trajectory: Trajectory, *, author: User, text: str, message: int | None = None) -> Note:
    """A remark about a try, or about its message of this number. Raises NotKept."""
    if message is not None and not 0 <= message < len(trajectory.record.messages):
        raise NotKept(_("There is no message of that number in this try."))
    return Note.objects.create(trajectory=trajectory, author=author, message=message, text=_remark(text))


def change(note: Note, *, text: str) -> None:
    """Raises NotKept."""
    note.text = _remark(text)
    note.save(update_fields=["text"])


def delete(note: Note) -> None:
    note.deleted_at = timezone.now()
    note.save(update_fields=["deleted_at"])


def restore(note: Note) -> None:
    note.deleted_at = None
    note.save(update_fields=["deleted_at"])


def tag(trajectory: Trajectory, name: str) -> str:
    """Give a try a tag, once; returns the name as it is kept. Raises NotKept."""
    name = " ".join(clean(name).split())
    if not name or len(name) > LONGEST_TAG:
        raise NotKept(_("A tag has between 1 and %(most)s characters.") % {"most": LONGEST_TAG})
    others = trajectory.tags.exclude(name=name)
    if others.count() >= MOST_TAGS:
        raise NotKept(_("A try has at most %(most)s tags; remove one first.") % {"most": MOST_TAGS})
    TrajectoryTag.objects.get_or_create(
        trajectory=trajectory, name=name, defaults={"run_id": trajectory.run_id}
    )
    return name


def untag(trajectory: Trajectory, name: str) -> None:
    trajectory.tags.filter(name=name).delete()


def names_of(run: Run) -> list[str]:
    """Tags that tries of the run have, for the field that completes them."""
    names = TrajectoryTag.objects.filter(run=run).order_by("name").values_list("name", flat=True)
    return list(names.distinct()[:MOST_NAMES])


def _remark(text: str) -> str:
    text = clean(text).strip()
    if not text:
        raise NotKept(_("Write the note first."))
    if len(text) > LONGEST_NOTE:
        raise NotKept(_("A note has at most %(most)s characters; shorten it.") % {"most": LONGEST_NOTE})
    return text
