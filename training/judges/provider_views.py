"""The page of providers: added, changed, tried out, deleted and put back. Keys go in and never come out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from training.authoring.office import errands
from training.judges import checkup, own_models, presets, provider_form, providers
from training.judges.presets import Preset
from training.judges.providers import Refused
from training.models import Errand, Provider

DELETED = "deleted_provider"
"""The session's key for the row that was deleted last; its key is sealed there too."""


@require_safe
@login_required
def page(request: HttpRequest) -> HttpResponse:
    """Loading the page afresh is the end of the last deletion's undo."""
    request.session.pop(DELETED, None)
    return _page(request)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def add(request: HttpRequest, slug: str) -> HttpResponse:
    preset, person = presets.ALL.get(slug), _person(request)
    if preset is None:
        raise Http404
    if request.method != "POST":
        values = provider_form.empty(preset, _free_name(person, preset))
        return _form(request, preset, values)
    try:
        made = providers.add(person, provider_form.read(request.POST, preset.kind, preset.litellm))
    except Refused as refused:
        return _form(request, preset, provider_form.typed(request.POST), refused=refused)
    return _saved(request, made)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def edit(request: HttpRequest, provider_id: int) -> HttpResponse:
    provider = _own(request, provider_id)
    preset = presets.of(provider)
    if request.method != "POST":
        return _form(request, preset, provider_form.filled(provider), provider=provider)
    try:
        draft = provider_form.read(request.POST, provider.kind, provider.litellm)
        providers.change(provider, replace(draft, name=provider.name))
    except Refused as refused:
        values = provider_form.typed(request.POST) | {"name": provider.name}
        return _form(request, preset, values, provider=_own(request, provider_id), refused=refused)
    return _saved(request, provider)


@require_POST
@login_required
def delete(request: HttpRequest, provider_id: int) -> HttpResponse:
    provider = _own(request, provider_id)
    request.session[DELETED] = providers.delete(provider)
    return _page(request, deleted=provider.name)


@require_POST
@login_required
def undo(request: HttpRequest) -> HttpResponse:
    """Put the provider back that was deleted last."""
    kept = request.session.pop(DELETED, None)
    if kept is None:
        return _page(request, 422, refusal=_("There is nothing to put back: the page was loaded again."))
    try:
        providers.put_back(_person(request), kept)
    except Refused as refused:
        return _page(request, 422, refusal=str(refused))
    return redirect("providers")


@require_POST
@login_required
def test(request: HttpRequest, provider_id: int) -> HttpResponse:
    """Ask one of its models a question, at the desk."""
    provider = _own(request, provider_id)
    checkup.begin(provider, request.POST.get("model", ""))
    if "HX-Request" in request.headers:
        return _result(request, provider)
    return redirect(f"{reverse('providers')}#provider-{provider.pk}")


@require_safe
@login_required
def result(request: HttpRequest, provider_id: int) -> HttpResponse:
    """The part of the page with the newest test of a provider."""
    return _result(request, _own(request, provider_id))


def _result(request: HttpRequest, provider: Provider) -> HttpResponse:
    return render(request, "judges/_provider_test.html", {"line": _line(provider)})


def _saved(request: HttpRequest, provider: Provider) -> HttpResponse:
    if request.POST.get("act") == "test":
        checkup.begin(provider, "")
    return redirect(f"{reverse('providers')}#provider-{provider.pk}")


def _page(request: HttpRequest, status: int = 200, **more: Any) -> HttpResponse:
    kept = Provider.objects.filter(owner=_person(request)).select_related("owner")
    context = {
        "lines": [_line(provider) for provider in kept],
        "hosted": presets.HOSTED,
        "addresses": presets.ADDRESSES,
        "own": presets.OWN,
        **more,
    }
    return render(request, "judges/providers.html", context, status=status)


def _line(provider: Provider) -> dict[str, Any]:
    """A provider as the page lists it."""
    models = providers.models_of(provider)
    newest = Errand.objects.filter(owner=provider.owner_id, kind=checkup.KIND)
    errand = newest.filter(arguments__provider=provider.pk).order_by("-pk").first()
    going = errand is not None and errand.state not in Errand.OVER
    return {
        "provider": provider,
        "title": _title(provider),
        "models": [(model, f"{provider.name}:{model}") for model in models],
        "agents": providers.agents_with(provider),
        "finding": checkup.finding(provider),
        "errand": errands.look_after(errand) if errand is not None and going else None,
        "next": f"#tested-{provider.pk}",
        "failed": errand if errand is not None and errand.state == Errand.State.FAILED else None,
    }


def _title(provider: Provider) -> str:
    if provider.kind == Provider.Kind.URL:
        return _("OpenAI-compatible address")
    return str(presets.of(provider).title)


def _form(
    request: HttpRequest,
    preset: Preset,
    values: dict[str, str],
    *,
    provider: Provider | None = None,
    refused: Refused | None = None,
) -> HttpResponse:
    person = _person(request)
    context = {
        "preset": preset,
        "kind": preset.kind,
        "values": values,
        "provider": provider,
        "errors": {refused.field: str(refused)} if refused else {},
        "aliases": own_models.aliases(person) if preset.kind == Provider.Kind.OWN else [],
    }
    return render(request, "judges/provider.html", context, status=422 if refused else 200)


def _free_name(person: User, preset: Preset) -> str:
    taken = set(Provider.objects.filter(owner=person).values_list("name", flat=True))
    names = (preset.slug, *(f"{preset.slug}-{number}" for number in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken)


def _own(request: HttpRequest, provider_id: int) -> Provider:
    owned = Provider.objects.select_related("owner")
    return get_object_or_404(owned, pk=provider_id, owner=_person(request))


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
