"""Notes and tags, where they are shown: each answer is the part of the page that has changed."""

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from training.access import note_of, trajectory_of
from training.models import Note, Trajectory
from training.review.tries import notes
from training.review.tries.queries import notes_at


@require_POST
@login_required
def add_note(request: HttpRequest, trajectory_id: int) -> HttpResponse:
    found = trajectory_of(request, trajectory_id)
    message = _number(request.POST.get("message"))
    assert isinstance(request.user, User)
    text = request.POST.get("text", "")
    try:
        notes.write(found, author=request.user, text=text, message=message)
    except notes.NotKept as refused:
        return _notes(request, found, message, complaint=str(refused), typed=text)
    return _notes(request, found, message)


@require_POST
@login_required
def edit_note(request: HttpRequest, note_id: int) -> HttpResponse:
    note = note_of(request, note_id)
    try:
        notes.change(note, text=request.POST.get("text", ""))
    except notes.NotKept as refused:
        return _notes(request, note.trajectory, note.message, complaint=str(refused))
    return _notes(request, note.trajectory, note.message)


@require_POST
@login_required
def delete_note(request: HttpRequest, note_id: int) -> HttpResponse:
    note = note_of(request, note_id)
    notes.delete(note)
    return _notes(request, note.trajectory, note.message, deleted=note)


@require_POST
@login_required
def restore_note(request: HttpRequest, note_id: int) -> HttpResponse:
    note = note_of(request, note_id)
    notes.restore(note)
    return _notes(request, note.trajectory, note.message)


@require_POST
@login_required
def add_tag(request: HttpRequest, trajectory_id: int) -> HttpResponse:
    found = trajectory_of(request, trajectory_id)
    typed = request.POST.get("name", "")
    try:
        notes.tag(found, typed)
    except notes.NotKept as refused:
        return _tags(request, found, complaint=str(refused), typed=typed)
    return _tags(request, found)


@require_POST
@login_required
def remove_tag(request: HttpRequest, trajectory_id: int) -> HttpResponse:
    found = trajectory_of(request, trajectory_id)
    name = request.POST.get("name", "")
    removed = found.tags.filter(name=name).exists()
    notes.untag(found, name)
    return _tags(request, found, removed=name if removed else "")


def _notes(
    request: HttpRequest,
    trajectory: Trajectory,
    message: int | None,
    *,
    deleted: Note | None = None,
    complaint: str = "",
    typed: str = "",
) -> HttpResponse:
    """The notes of one place; a browser without scripts gets the page again."""
    if "HX-Request" not in request.headers and not complaint:
        undo = f"?deleted={deleted.pk}" if deleted else ""
        place = "notes" if message is None else f"m{message}"
        return redirect(f"{reverse('trajectory', args=[trajectory.pk])}{undo}#{place}")
    shown = notes_at(trajectory, message, deleted=deleted)
    context = {"place": shown, "trajectory": trajectory, "complaint": complaint, "typed": typed}
    return render(request, "review/_notes.html", context, status=422 if complaint else 200)


def _tags(
    request: HttpRequest, trajectory: Trajectory, *, complaint: str = "", typed: str = "", removed: str = ""
) -> HttpResponse:
    if "HX-Request" not in request.headers and not complaint:
        return redirect(f"{reverse('trajectory', args=[trajectory.pk])}#tags")
    context = {
        "trajectory": trajectory,
        "tags": trajectory.tags.all(),
        "names": notes.names_of(trajectory.run),
        "complaint": complaint,
        "typed": typed,
        "removed": removed,
    }
    return render(request, "review/_tags.html", context, status=422 if complaint else 200)


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 9 else None
