"""The judge lab: judges, rubrics and people side by side on the same groups."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from training.access import run_of
from training.authoring.office import errands
from training.judges.lab import asking_form, matrix, queue
from training.judges.lab.asking_form import NotAsked
from training.judges.lab.cost import foretold
from training.judges.lab.questions import KIND
from training.judges.lab.sources import sources
from training.judges.lab.strips import SHOWN, strips
from training.models import Errand, Group, Run

MOST_RUNS = 50


@require_safe
@login_required
def lab(request: HttpRequest) -> HttpResponse:
    person = _person(request)
    runs = _runs(person)
    asked = request.GET.get("run", "")
    if not runs and not asked.isdecimal():
        return render(request, "judges/lab_empty.html")
    run = _run(request, asked) if asked.isdecimal() else runs[0]
    selection = queue.selected(run, request.GET.dict())
    context = {
        **_results(request, run, selection),
        "runs": runs if run in runs else [run, *runs],
        "asking": asking_form.asking(run, person),
    }
    return render(request, "judges/lab.html", context)


@require_safe
@login_required
def lab_results(request: HttpRequest) -> HttpResponse:
    """What is known so far; a page asks for it again while judges are at work."""
    run = _run(request, request.GET.get("run", ""))
    return render(
        request, "judges/_lab_results.html", _results(request, run, queue.selected(run, request.GET.dict()))
    )


@require_safe
@login_required
def lab_estimate(request: HttpRequest) -> HttpResponse:
    """What the ticked judges would cost, or why they cannot be asked."""
    run = _run(request, request.GET.get("run", ""))
    selection = queue.selected(run, request.GET.dict())
    try:
        hearing = asking_form.hearing(request.GET, run, selection, _person(request))
    except NotAsked as refused:
        return render(request, "judges/_lab_estimate.html", {"refused": str(refused)})
    return render(request, "judges/_lab_estimate.html", {"foretold": foretold(hearing, _person(request))})


@require_POST
@login_required
def lab_ask(request: HttpRequest) -> HttpResponse:
    """Begin, unless judges are at work on this run already."""
    person = _person(request)
    run = _run(request, request.POST.get("run", ""))
    selection = queue.selected(run, request.POST.dict())
    try:
        hearing = asking_form.hearing(request.POST, run, selection, person)
        cap = asking_form.cap(request.POST)
    except NotAsked as refused:
        messages.error(request, str(refused))
    else:
        begin(run, person, cap=cap, **hearing.arguments)
    return redirect(f"{reverse('lab')}?{selection.query}#lab-results")


def begin(run: Run, person: User, **arguments: Any) -> Errand:
    """The errand that judges; the one under way, if there is one."""
    newest = newest_errand(run, person)
    if newest is not None and newest.state not in Errand.OVER:
        return newest
    return errands.start(owner=person, kind=KIND, agent=run.agent, run=run.pk, **arguments)


def newest_errand(run: Run, person: User) -> Errand | None:
    found = Errand.objects.filter(owner=person, kind=KIND, agent=run.agent_id, arguments__run=run.pk).first()
    return errands.look_after(found) if found else None


def _results(request: HttpRequest, run: Run, selection: queue.Selection) -> dict[str, Any]:
    person = _person(request)
    ways = sources(selection.groups, person, run.agent)
    only_differing = request.GET.get("differ") == "1"
    most = queue.MOST if request.GET.get("all") == "1" else SHOWN
    errand = newest_errand(run, person)
    return {
        "run": run,
        "selection": selection,
        "progress": queue.progress(selection, person),
        "rows": matrix.rows(ways),
        "heat": matrix.heat(ways),
        "strips": strips(selection.groups, ways, only_differing=only_differing, most=most),
        "all_shown": most > SHOWN,
        "only_differing": only_differing,
        "errand": errand,
        "at_work": errand is not None and errand.state not in Errand.OVER,
    }


def _runs(person: User) -> list[Run]:
    """The newest that have tries to compare."""
    compared = Group.objects.filter(run=OuterRef("pk"), tries__gte=2)
    return list(Run.objects.filter(Exists(compared), owner=person)[:MOST_RUNS])


def _run(request: HttpRequest, asked: str) -> Run:
    return run_of(request, int(asked) if asked.isdecimal() and len(asked) < 18 else 0)


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
