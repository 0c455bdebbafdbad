"""Coming in by a one-time link, leaving, and how the site looks to this browser.

There are no passwords: links are made on the command line (`training.access`).
"""

from django.conf import settings
from django.contrib.auth import login, logout
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from training import access

THEMES = ("auto", "light", "dark")
YEAR = 365 * 24 * 3600


@never_cache
@require_safe
def explain(request: HttpRequest) -> HttpResponse:
    """Where a person without a session lands: how to get a link."""
    return render(request, "sign_in/explain.html")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def redeem(request: HttpRequest, token: str) -> HttpResponse:
    """GET shows a button and changes nothing, so that link scanners do not burn the link; POST uses it."""
    if request.method != "POST":
        return render(request, "sign_in/confirm.html")
    user = access.redeem(token)
    if user is None:
        return render(request, "sign_in/explain.html", {"used": True}, status=410)
    login(request, user, backend=settings.AUTHENTICATION_BACKENDS[0])
    return redirect("home")


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("sign_in")


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Remember light, dark or automatic in a cookie."""
    chosen = request.POST.get("theme", "")
    wanted = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, request.is_secure())
    response = HttpResponseRedirect(wanted if safe else reverse("home"))
    if chosen in THEMES:
        response.set_cookie(
            "theme", chosen, max_age=YEAR, samesite="Lax", httponly=True, secure=request.is_secure()
        )
    return response
