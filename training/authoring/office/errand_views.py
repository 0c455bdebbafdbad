"""How an errand is shown while it goes on, and how it is called off. Errands themselves: `errands.py`."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from training.access import errand_of
from training.authoring.office import errands
from training.models import Errand


@require_safe
@login_required
def errand(request: HttpRequest, errand_id: int) -> HttpResponse:
    """The errand as it stands now; a page that shows one asks for this until it is over."""
    found = errands.look_after(errand_of(request, errand_id))
    return _shown(request, found, request.GET.get("next", ""))


@require_POST
@login_required
def cancel_errand(request: HttpRequest, errand_id: int) -> HttpResponse:
    found = errand_of(request, errand_id)
    errands.cancel(found)
    return _shown(request, found, request.POST.get("next", ""))


def _shown(request: HttpRequest, found: Errand, wanted: str) -> HttpResponse:
    """The part of a page, or, for a browser without scripts, a page of its own."""
    context = {"errand": found, "next": _safe(request, wanted), "heading": heading(found)}
    part = "HX-Request" in request.headers
    return render(request, "parts/_errand.html" if part else "authoring/errand.html", context)


def heading(errand: Errand) -> str:
    """What an errand with a page of its own is about."""
    filename = errand.arguments.get("filename")
    if errand.kind == "from_csv" and filename:
        return _("Making an agent from %(filename)s") % {"filename": filename}
    return _("Making the agent") if errand.kind == "from_template" else _("At work")


def _safe(request: HttpRequest, wanted: str) -> str:
    """An address of this site, or the #id of an element; nothing for anything else."""
    if wanted.startswith("#") or url_has_allowed_host_and_scheme(
        wanted, {request.get_host()}, request.is_secure()
    ):
        return wanted
    return ""
