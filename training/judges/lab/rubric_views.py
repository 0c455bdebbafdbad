"""A rubric is edited beside the present one, and what that would change is seen before it is saved."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from judging.rubric import DEFAULT, unwrapped
from training.access import run_of
from training.authoring.office import errands
from training.judges.lab import asking_form, keeping, queue
from training.judges.lab.asking_form import NotAsked
from training.judges.lab.lab_views import begin
from training.judges.lab.questions import KIND, Hearing
from training.judges.lab.rubric_change import change
from training.judges.lab.sources import judge_title
from training.models import Errand, Run

KEPT = "lab-rubric-kept"
"""In the session: the agent whose rubric was just replaced, and by what it was."""


@require_safe
@login_required
def lab_rubric(request: HttpRequest) -> HttpResponse:
    run = _run(request, request.GET.get("run", ""))
    context = _context(request, run, queue.selected(run, request.GET.dict()))
    kept = request.session.pop(KEPT, {})
    context["undo"] = kept if kept.get("agent") == run.agent_id else None
    return render(request, "judges/lab_rubric.html", context)


@require_safe
@login_required
def lab_rubric_change(request: HttpRequest) -> HttpResponse:
    """What is known of the change so far."""
    run = _run(request, request.GET.get("run", ""))
    context = _context(request, run, queue.selected(run, request.GET.dict()))
    return render(request, "judges/_lab_change.html", context)


@require_POST
@login_required
def lab_rubric_try(request: HttpRequest) -> HttpResponse:
    """Have the same groups judged by both rubrics."""
    person = _person(request)
    run = _run(request, request.POST.get("run", ""))
    selection = queue.selected(run, request.POST.dict())
    draft = keeping.sound(request.POST.get("draft", ""))
    try:
        judge = asking_form.one_judge(request.POST.get("judge", ""), person)
        cap = asking_form.cap(request.POST)
        if draft == keeping.sound(run.agent.rubric):
            raise NotAsked(_("That is the present rubric. Change something, then see what it would change."))
    except NotAsked as refused:
        messages.error(request, str(refused))
        return redirect(_page(selection))
    rubrics = [keeping.sound(run.agent.rubric), draft]
    hearing = Hearing(selection.ids, [judge], rubrics, flips=False, repeats=0)
    begin(run, person, cap=cap, draft=draft, **hearing.arguments)
    return redirect(f"{_page(selection)}#lab-change")


@require_POST
@login_required
def lab_rubric_keep(request: HttpRequest) -> HttpResponse:
    """Make the text the agent's rubric; undo is keeping what it was."""
    run = _run(request, request.POST.get("run", ""))
    selection = queue.selected(run, request.POST.dict())
    before = run.agent.rubric
    keeping.keep(
        run.agent, request.POST.get("draft", ""), author=_person(request), note=request.POST.get("note", "")
    )
    if run.agent.rubric != before:
        request.session[KEPT] = {"agent": run.agent_id, "text": before or DEFAULT}
        messages.success(request, _("It is the agent's rubric now. Runs that are under way keep theirs."))
    return redirect(_page(selection))


def _context(request: HttpRequest, run: Run, selection: queue.Selection) -> dict[str, Any]:
    person = _person(request)
    errand = _errand(request, run, person)
    present = keeping.sound(run.agent.rubric)
    told = errand.arguments if errand else {}
    draft = told.get("draft")
    if draft == present:  # it was kept
        errand, told, draft = None, {}, None
    judge = (told.get("judges") or [run.config.get("judge_model") or run.agent.judge_model])[0]
    judges = asking_form.judges_of(run, person)
    return {
        "run": run,
        "selection": selection,
        "present": unwrapped(present or DEFAULT),
        "is_default": not present,
        "draft": (draft if draft is not None else present) or unwrapped(DEFAULT),
        "judge": judge,
        "judges": judges if judge in dict(judges) else [*judges, (judge, judge_title(judge))],
        "cap": asking_form.USUAL_CAP,
        "errand": errand,
        "at_work": errand is not None and errand.state not in Errand.OVER,
        "change": change(selection.groups, person, judge, present, draft) if draft is not None else None,
    }


def _errand(request: HttpRequest, run: Run, person: User) -> Errand | None:
    """The newest that tried an edit, so that nobody loses one that was not kept; none for a fresh start."""
    if request.GET.get("fresh") == "1":
        return None
    tried = Errand.objects.filter(owner=person, kind=KIND, arguments__run=run.pk, arguments__has_key="draft")
    found = tried.first()
    return errands.look_after(found) if found else None


def _page(selection: queue.Selection) -> str:
    return f"{reverse('lab_rubric')}?{selection.query}"


def _run(request: HttpRequest, asked: str) -> Run:
    return run_of(request, int(asked) if asked.isdecimal() and len(asked) < 18 else 0)


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
