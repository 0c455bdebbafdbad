"""The Endpoint page: who may ask, what answers, and how to ask. /v1 itself is in `views.py`."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from training.access import run_of
from training.models import ApiKey, Checkpoint, Deployment
from training.serving import endpoint, services


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


def base_url(request: HttpRequest) -> str:
    """The address a client is given, as this browser reached us."""
    return request.build_absolute_uri("/v1")


@require_safe
@login_required
def page(request: HttpRequest) -> HttpResponse:
    return _page(request)


def _page(request: HttpRequest, status: int = 200, **more: Any) -> HttpResponse:
    person = _person(request)
    context = {
        "names": endpoint.names_of(person),
        "steps": endpoint.steps_of(person),
        "keys": endpoint.keys_of(person),
        "offer": endpoint.offer_of_owner(person, base_url=base_url(request), key=more.get("fresh")),
        "base_url": base_url(request),
        **more,
    }
    return render(request, "serving/endpoint.html", context, status=status)


@require_POST
@login_required
@never_cache
def make_key(request: HttpRequest) -> HttpResponse:
    """The answer to this request is the only place where the key can ever be read."""
    try:
        _row, fresh = services.make_key(owner=_person(request), name=request.POST.get("name", ""))
    except services.Refused as refused:
        return _page(request, status=422, refusal=str(refused))
    return _page(request, fresh=fresh)


@require_POST
@login_required
@never_cache
def make_key_for_run(request: HttpRequest, run_id: int) -> HttpResponse:
    """A key named after the run, shown inside the requests to paste."""
    run = run_of(request, run_id)
    name = services.free_key_name(owner=_person(request), stem=run.name)
    try:
        _row, fresh = services.make_key(owner=_person(request), name=name)
    except services.Refused as refused:
        return render(request, "serving/offer.html", {"run": run, "refusal": str(refused)}, status=422)
    whole = "HX-Request" not in request.headers
    return render(
        request, "serving/offer.html" if whole else "serving/_offer.html", {"run": run, "fresh": fresh}
    )


@require_POST
@login_required
def revoke_key(request: HttpRequest, key_id: int) -> HttpResponse:
    key = get_object_or_404(ApiKey, pk=key_id, owner=_person(request), revoked_at=None)
    if not _confirmed(request, key.name):
        return redirect("endpoint")
    services.revoke_key(key=key)
    messages.success(request, _("The key “%(name)s” is revoked.") % {"name": key.name})
    return redirect("endpoint")


@require_POST
@login_required
def deploy(request: HttpRequest) -> HttpResponse:
    """A new name for a checkpoint, or another checkpoint for a name."""
    number = request.POST.get("checkpoint", "")
    chosen = Checkpoint.objects.select_related("run").filter(run__owner=_person(request))
    checkpoint = get_object_or_404(chosen, pk=int(number) if number.isdecimal() and len(number) < 16 else 0)
    try:
        made = services.deploy(
            owner=_person(request), alias=request.POST.get("alias", ""), checkpoint=checkpoint
        )
    except services.Refused as refused:
        messages.error(request, str(refused))
    else:
        names = {"alias": made.alias, "run": checkpoint.run.name, "step": checkpoint.step}
        messages.success(request, _("“%(alias)s” now answers with %(run)s, step %(step)d.") % names)
    return redirect("endpoint")


@require_POST
@login_required
def undeploy(request: HttpRequest, deployment_id: int) -> HttpResponse:
    deployment = get_object_or_404(Deployment, pk=deployment_id, owner=_person(request))
    if _confirmed(request, deployment.alias):
        services.undeploy(deployment=deployment)
        messages.success(request, _("“%(name)s” no longer answers.") % {"name": deployment.alias})
    return redirect("endpoint")


def _confirmed(request: HttpRequest, name: str) -> bool:
    """Whether the person typed the name of what they are about to take away."""
    if request.POST.get("confirm", "").strip() == name:
        return True
    messages.error(request, _("Nothing was changed: type “%(name)s” to confirm.") % {"name": name})
    return False
