"""The list of tries: filters in the address, pages, saved views."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseRedirect,
    QueryDict,
    StreamingHttpResponse,
)
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from training.access import saved_view_of
from training.review.feed import exports, filters, paging, queries, row, saved, search, sentences
from training.review.feed.filters import Filters
from training.review.feed.paging import Place

UNDER_MORE = ("step_from", "step_to", "score_from", "score_to", "scenario", "tag", "tool", "error", "human")
"""Fields that are folded away while nobody uses them."""
DELETED = "deleted_view"
"""Where a session keeps the view that was just deleted, until the next page."""


@require_safe
@login_required
def tries(request: HttpRequest) -> HttpResponse:
    user = _person(request)
    runs = queries.runs_of(user)
    read = filters.read(request.GET.dict())
    run = next((run for run in runs if run.pk == read.filters.run), None)
    if read.filters.run and run is None:
        raise Http404
    at, backwards = _place(request.GET)
    listing = queries.listing(read.filters, runs, at=at, backwards=backwards)
    context: dict[str, Any] = {
        "read": read,
        "filters": read.filters,
        "runs": runs,
        "run_names": {run.pk: run.name for run in runs},
        "run": run,
        "listing": listing,
        "rows": row.html(listing.rows, with_run=run is None),
        "chips": filters.chips(read.filters, run.name if run else ""),
        "links": _links(read.filters, listing.found, backwards),
        "choices": filters,
        "views": queries.views_of(user),
        "here": read.filters.query(),
        "deleted": request.session.pop(DELETED, None),
        "export_kinds": exports.KINDS,
        "more": any(read.typed[name] for name in UNDER_MORE),
        "most_behind": search.MOST_BEHIND,
        **sentences.about(read.filters, listing, runs, run),
    }
    return render(request, "review/tries.html", context)


@require_safe
@login_required
def export(request: HttpRequest, kind: str) -> StreamingHttpResponse:
    """All tries that pass the filters as a file, sent while it is written."""
    runs = queries.runs_of(_person(request))
    asked = filters.read(request.GET.dict()).filters
    run = next((run for run in runs if run.pk == asked.run), None)
    if kind not in exports.KINDS or (asked.run and run is None):
        raise Http404
    pieces = exports.in_threads(exports.chunks(kind, asked, runs))
    answer = StreamingHttpResponse(pieces, content_type=exports.TYPES[kind])
    answer["Content-Disposition"] = f'attachment; filename="{exports.name_of(asked, run, kind)}"'
    return answer


@require_safe
@login_required
def names(request: HttpRequest) -> HttpResponse:
    """Suggestions for fields, fetched when somebody begins to fill in one."""
    runs = queries.runs_of(_person(request))
    asked = filters.read(request.GET.dict()).filters
    known = runs if asked.run is None else [run for run in runs if run.pk == asked.run]
    found = queries.names(queries.scope_of(Filters(), known))
    return render(request, "review/_tries_names.html", {"names": found})


@require_POST
@login_required
def save_view(request: HttpRequest) -> HttpResponse:
    query = saved.sound_query(QueryDict(request.POST.get("query", "")).dict())
    try:
        view = saved.save(owner=_person(request), name=request.POST.get("name", ""), query=query)
        messages.success(request, _("Saved as “%(name)s”.") % {"name": view.name})
    except saved.Refused as refused:
        messages.error(request, str(refused))
    return _back(query)


@require_POST
@login_required
def rename_view(request: HttpRequest, view_id: int) -> HttpResponse:
    view = saved_view_of(request, view_id)
    try:
        saved.rename(view, request.POST.get("name", ""))
    except saved.Refused as refused:
        messages.error(request, str(refused))
    return _back(view.query)


@require_POST
@login_required
def delete_view(request: HttpRequest, view_id: int) -> HttpResponse:
    """Gone at once; the next page offers to save it again."""
    view = saved_view_of(request, view_id)
    request.session[DELETED] = {"name": view.name, "query": view.query}
    view.delete()
    return _back(saved.sound_query(QueryDict(request.POST.get("here", "")).dict()))


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


def _back(query: str) -> HttpResponseRedirect:
    address = reverse("tries")
    return redirect(f"{address}?{query}" if query else address)


def _place(query: QueryDict) -> tuple[Place | None, bool]:
    """Where the page begins, and whether it ends there instead."""
    before = paging.place(query.get("before", ""))
    return before or paging.place(query.get("after", "")), before is not None or "last" in query


def _links(shown: Filters, found: paging.Found, backwards: bool) -> dict[str, str]:
    """Addresses of the pages beside this one."""
    base = f"?{shown.query()}"
    links = {"first": base, "last": f"{base}&last=1"}
    if found.before and found.first:
        links["previous"] = f"{base}&before={found.first}"
    if found.after and found.last:
        links["next"] = f"{base}&after={found.last}"
    if found.rest:
        links["rest"] = f"{base}&{'before' if backwards else 'after'}={found.rest}"
    return links
