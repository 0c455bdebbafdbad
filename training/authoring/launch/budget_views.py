"""Giving a run that rests because its budget is used up a larger one."""

import math

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from training.access import run_of
from training.runs import budget, condition, queries, services


@require_POST
@login_required
def raise_budget(request: HttpRequest, run_id: int) -> HttpResponse:
    """Raise the cap and resume; the head of the run's page says how that went."""
    run = run_of(request, run_id)
    typed = request.POST.get("budget", "").strip()
    refusal = ""
    try:
        budget.raise_to(run, dollars_of(typed))
        typed = ""
    except services.Refused as refused:
        refusal = str(refused)
    run.refresh_from_db()
    if "HX-Request" not in request.headers:
        return redirect("run", run.pk)
    status = queries.status(run, condition.recent_steps(run))
    context = {"run": run, "status": status, "refusal": refusal, "typed": typed}
    return render(request, "runs/_head.html", context)


def dollars_of(text: str) -> float:
    """An amount as people type it: 5, 2.50, $2, 2,5. Raises services.Refused with a sentence."""
    try:
        amount = float(text[:40].replace("$", "").replace(",", ".").strip() or "nan")
    except ValueError:
        amount = math.nan
    if not math.isfinite(amount) or amount < 0:
        raise services.Refused(_("Give the cap as a number of dollars, such as 2.50."))
    return amount
