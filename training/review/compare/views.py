"""Comparisons of a run, their reports, and two contenders' tries side by side."""

import uuid
from typing import Any

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from training.access import comparison_of, run_of
from training.authoring.office import errands
from training.models import Comparison, Errand, Run
from training.review.compare import asked, exports, forecast, held_out, queries, services
from training.review.compare.blind.tally import Tally
from training.review.compare.report import Report


@login_required
def comparisons(request: HttpRequest, run_id: int) -> HttpResponse:
    """All comparisons of a run and the form of a new one; POST starts it, once for each request_id."""
    run, person = run_of(request, run_id), _person(request)
    if request.method == "POST":
        try:
            wanted = asked.read(request.POST, person)
            request_id = request.POST.get("request_id", "")[:64] or uuid.uuid4().hex
            _refuse_unpriced(run, person, wanted)
            made = services.start(owner=person, run=run, wanted=wanted, request_id=request_id)
        except services.Refused as refused:
            return _list(request, run, refusal=str(refused), status=422)
        return redirect("comparison", made.pk)
    return _list(request, run)


@require_safe
@login_required
def forecast_part(request: HttpRequest, run_id: int) -> HttpResponse:
    """What the comparison of the form, as it stands, would cost; asked for at every change."""
    run, person = run_of(request, run_id), _person(request)
    try:
        told = _forecast(run, person, asked.read(request.GET, person))
    except services.Refused as refused:
        return render(request, "review/_compare_forecast.html", {"refusal": str(refused)})
    return render(request, "review/_compare_forecast.html", {"forecast": told})


@require_safe
@login_required
def comparison(request: HttpRequest, comparison_id: int) -> HttpResponse:
    return render(request, "review/compare_report.html", _page(request, comparison_id))


@require_safe
@login_required
def comparison_part(request: HttpRequest, comparison_id: int) -> HttpResponse:
    """The report as it stands now; a page that shows one asks for it until it is over."""
    return render(request, "review/_compare_report.html", _page(request, comparison_id))


@require_safe
@login_required
def case(request: HttpRequest, comparison_id: int, key: str) -> HttpResponse:
    """One scenario: two contenders side by side."""
    report = Report(comparison_of(request, comparison_id), request.GET.get("against", ""))
    by_key = {one.key: one for one in report.contenders}
    left = by_key.get(request.GET.get("a", ""), report.contenders[0])
    others = [one for one in report.contenders if one is not left]
    right = by_key.get(request.GET.get("b", ""), others[0])
    try:
        shown = queries.case(report, key, [left, right])
    except StopIteration:
        raise Http404 from None
    context = {
        "report": report,
        "comparison": report.comparison,
        "run": report.comparison.run,
        "case": shown,
        "left": left,
        "right": right,
    }
    return render(request, "review/compare_case.html", context)


@require_safe
@login_required
def markdown(request: HttpRequest, comparison_id: int) -> HttpResponse:
    found = comparison_of(request, comparison_id)
    report = Report(found, request.GET.get("against", ""))
    text = exports.markdown(report, Tally(report, _person(request)))
    return _file(text.encode(), f"comparison-{found.pk}.md", "text/markdown; charset=utf-8")


@require_safe
@login_required
def csv(request: HttpRequest, comparison_id: int) -> HttpResponse:
    found = comparison_of(request, comparison_id)
    content = exports.csv(Report(found, request.GET.get("against", "")))
    return _file(content, f"comparison-{found.pk}.csv", "text/csv; charset=utf-8")


@require_POST
@login_required
def go_on(request: HttpRequest, comparison_id: int) -> HttpResponse:
    """Play what is missing."""
    found = comparison_of(request, comparison_id)
    try:
        services.go_on(found, asked.budget(request.POST))
    except services.Refused as refused:
        context = _page(request, comparison_id) | {"refusal": str(refused)}
        return render(request, "review/compare_report.html", context, status=422)
    return redirect("comparison", found.pk)


@require_POST
@login_required
def delete(request: HttpRequest, comparison_id: int) -> HttpResponse:
    found = comparison_of(request, comparison_id)
    services.delete(found)
    return redirect(f"{reverse('comparisons', args=[found.run_id])}?deleted={found.pk}")


@require_POST
@login_required
def restore(request: HttpRequest, comparison_id: int) -> HttpResponse:
    found = comparison_of(request, comparison_id)
    services.restore(found)
    return redirect("comparison", found.pk)


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


def _page(request: HttpRequest, comparison_id: int) -> dict[str, Any]:
    found = comparison_of(request, comparison_id)
    if found.errand is not None and found.errand.state not in Errand.OVER:
        errands.look_after(found.errand)
    shown = queries.page(found, request.GET.dict())
    return shown | {"tally": Tally(shown["report"], _person(request))}


def _list(request: HttpRequest, run: Run, status: int = 200, refusal: str = "") -> HttpResponse:
    person = _person(request)
    offer = asked.choices(run, person)
    sent = request.POST if request.method == "POST" else None
    usual = asked.usual(offer)
    context = {
        "run": run,
        "summaries": queries.summaries(run),
        "offer": offer,
        "filled": asked.filled(usual, sent),
        "refusal": refusal,
        "request_id": sent.get("request_id", "") if sent else uuid.uuid4().hex,
        "deleted": _deleted(request, run),
        "forecast": None if refusal or not offer.own else _forecast(run, person, usual),
    }
    return render(request, "review/compare.html", context, status=status)


def _deleted(request: HttpRequest, run: Run) -> Comparison | None:
    """The one that was just put into the bin, if it still is."""
    text = request.GET.get("deleted", "")
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        return None
    return Comparison.objects.filter(pk=int(text), run=run).exclude(deleted_at=None).first()


def _forecast(run: Run, person: User, wanted: services.Wanted) -> forecast.Forecast:
    chosen = services.chosen_contenders(run, wanted)
    return forecast.of(run, person, chosen, held_out.of(run).chosen(wanted.count, wanted.tags))


def _refuse_unpriced(run: Run, person: User, wanted: services.Wanted) -> None:
    """A cap can only be kept where prices are known. Raises services.Refused."""
    unpriced = _forecast(run, person, wanted).unpriced
    if wanted.budget and unpriced:
        raise services.Refused(asked.without_price(unpriced[0]))


def _file(content: bytes, name: str, kind: str) -> HttpResponse:
    return HttpResponse(
        content, content_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'}
    )
