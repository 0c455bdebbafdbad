"""The page of secrets: written, never shown; replaced, deleted, and where they are used.

A deleted secret can be put back until the page is loaded again: its sealed value waits in the session, which
is kept on the server.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from gpu_worker.tools.filling import secret_names
from training import secrets
from training.models import LIVING, Secret, Tool
from training.secrets import SecretRefused

DELETED = "deleted_secret"
"""The session's key for the row that was deleted last."""


@require_safe
@login_required
def page(request: HttpRequest) -> HttpResponse:
    """Loading the page afresh is the end of the last deletion's undo."""
    request.session.pop(DELETED, None)
    return _page(request)


@require_POST
@login_required
def add(request: HttpRequest) -> HttpResponse:
    name, value = request.POST.get("name", ""), request.POST.get("value", "")
    try:
        secrets.put(owner=_person(request), name=name, value=value)
    except SecretRefused as refused:
        return _page(request, status=422, refusal=str(refused), typed=name)
    return redirect("secrets")


@require_POST
@login_required
def replace(request: HttpRequest, secret_id: int) -> HttpResponse:
    secret = _own(request, secret_id)
    try:
        secrets.replace(secret, value=request.POST.get("value", ""))
    except SecretRefused as refused:
        return _page(request, status=422, refused_for=secret.pk, refusal=str(refused))
    return redirect("secrets")


@require_POST
@login_required
def delete(request: HttpRequest, secret_id: int) -> HttpResponse:
    secret = _own(request, secret_id)
    request.session[DELETED] = {"name": secret.name, "sealed": secret.sealed, "last4": secret.last4}
    secrets.delete(secret)
    return _page(request, deleted=secret.name)


@require_POST
@login_required
def undo(request: HttpRequest) -> HttpResponse:
    """Put the secret back that was deleted last."""
    row = request.session.pop(DELETED, None)
    if row is None:
        return _page(
            request, status=422, refusal=_("There is nothing to put back: the page was loaded again.")
        )
    try:
        with transaction.atomic():
            Secret.objects.create(owner=_person(request), **row)
    except IntegrityError:
        told = {"name": row["name"]}
        return _page(request, status=422, refusal=_("There is another secret called %(name)s now.") % told)
    return redirect("secrets")


def uses_of(owner: User) -> dict[str, list[Tool]]:
    """The tools that refer to each secret, by its name."""
    found: dict[str, list[Tool]] = defaultdict(list)
    tools = Tool.objects.filter(LIVING, agent__owner=owner, agent__deleted_at=None).select_related("agent")
    for tool in tools.filter(kind__in=(Tool.Kind.HTTP, Tool.Kind.MCP)):
        for name in secret_names(tool.settings):
            found[name].append(tool)
    return dict(found)


def _page(request: HttpRequest, status: int = 200, **more: Any) -> HttpResponse:
    person = _person(request)
    used = uses_of(person)
    rows = [(secret, used.pop(secret.name, [])) for secret in Secret.objects.filter(owner=person)]
    context = {"secrets": rows, "missing": sorted(used.items()), **more}
    return render(request, "authoring/tools_secrets.html", context, status=status)


def _own(request: HttpRequest, secret_id: int) -> Secret:
    return get_object_or_404(Secret, pk=secret_id, owner=_person(request))


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
