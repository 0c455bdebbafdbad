"""The scenario studio: the grid, editing in place, changing many at once, asking for more of them.

Files come and go through `scenario_files_views.py`. Whatever changes rows answers with the grid's part of
the page, what happened, and a way back.
"""

import json
from collections.abc import Sequence
from typing import Any

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from training.access import agent_of, scenario_of
from training.authoring.guide import wizard
from training.authoring.studio import (
    expectations,
    generation,
    scenario_changes,
    scenario_overview,
    scenario_queries,
    scenarios,
)
from training.authoring.studio.expectations import CallLine, Lines
from training.authoring.studio.scenario_queries import Filters, Known
from training.models import Agent, Scenario

UNDO = "scenarios-undo"
"""In the session: {agent, before}: the last change, to be taken back."""
LARGEST_FORM = 60
"""Expected calls one form may hold."""


@require_safe
@login_required
def studio(request: HttpRequest, agent_id: int) -> HttpResponse:
    agent = agent_of(request, agent_id)
    return render(request, "authoring/scenarios.html", page_context(request, agent))


def page_context(request: HttpRequest, agent: Agent, **more: Any) -> dict[str, Any]:
    """Everything the page shows."""
    known = scenario_queries.known_of(agent)
    offer = generation.offer(agent, known)
    errand = scenario_queries.errand_to_show(agent, request.GET.get("errand", ""))
    return {
        **wizard.context(agent, "scenarios"),
        **_grid_context(agent, known, Filters.of(request.POST or request.GET)),
        "overview": scenario_overview.overview(agent, known),
        "offer": offer,
        "tools_url": wizard.address(agent, "tools"),
        "by": request.POST.get("by") or ("tables" if offer.offline else "model"),
        "kinds": list(scenario_queries.KINDS.items()),
        "chosen_kinds": request.POST.getlist("kinds") or list(scenario_queries.KINDS),
        "languages": list(generation.LANGUAGES.items()),
        "language": request.POST.get("language") or agent.language,
        "errand": errand,
        "errand_next": f"{wizard.address(agent, 'scenarios')}?made={errand.pk}" if errand else "",
        "made": scenario_overview.outcome(agent, request.GET.get("made", "")),
        **more,
    }


@require_safe
@login_required
def grid(request: HttpRequest, agent_id: int) -> HttpResponse:
    """The grid narrowed to filters; with `before`, only the next rows."""
    agent = agent_of(request, agent_id)
    filters, known = Filters.of(request.GET), scenario_queries.known_of(agent)
    before = request.GET.get("before", "")
    if before.isascii() and before.isdigit() and len(before) < 16:
        context = _grid_context(agent, known, filters, before=int(before))
        return render(request, "authoring/_scenario_rows.html", context)
    return render(request, "authoring/_scenario_found.html", _grid_context(agent, known, filters))


def _grid_context(agent: Agent, known: Known, filters: Filters, before: int | None = None) -> dict[str, Any]:
    return {
        "agent": agent,
        "filters": filters,
        "grid": scenario_queries.grid(agent, known, filters, before=before),
        "choices": scenario_queries.choices(known.audit),
    }


@require_POST
@login_required
def invent(request: HttpRequest, agent_id: int) -> HttpResponse:
    """Ask the desk for new scenarios."""
    agent = agent_of(request, agent_id)
    return _asked_for(request, agent, generation.start_inventing)


@require_POST
@login_required
def more_like(request: HttpRequest, agent_id: int) -> HttpResponse:
    """Ask the desk for more of the kind that teaches."""
    agent = agent_of(request, agent_id)
    return _asked_for(request, agent, generation.start_more_like)


def _asked_for(request: HttpRequest, agent: Agent, start: generation.Start) -> HttpResponse:
    try:
        errand = start(_person(request), agent, request.POST)
    except scenarios.Refused as refused:
        context = page_context(request, agent, refusal=str(refused), posted=request.POST)
        return render(request, "authoring/scenarios.html", context, status=422)
    return redirect(f"{wizard.address(agent, 'scenarios')}?errand={errand.pk}")


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def add(request: HttpRequest, agent_id: int) -> HttpResponse:
    """A form for a new scenario, and what becomes of it."""
    agent = agent_of(request, agent_id)
    fresh = Scenario(agent=agent, split="train", messages=[], source="written")
    if request.method != "POST":
        return render(request, "authoring/_scenario_form.html", _form_context(fresh, _fields_of(fresh)))
    posted = _posted(request.POST)
    try:
        expect = expectations.read(posted["lines"], {})
        made = scenarios.add(
            agent,
            question=posted["question"],
            split=posted["split"],
            expect=expect,
            tags=posted["tags"].split(","),
            rubric=posted["rubric"],
        )
    except (scenarios.Refused, expectations.Unreadable) as refused:
        return _form_again(request, fresh, posted, refused)
    return _changed(request, agent, scenarios.Undo(_("The scenario is added.")), focus=made.pk)


@require_safe
@login_required
def line(request: HttpRequest, scenario_id: int) -> HttpResponse:
    """A row of the grid as it is: what calling off an edit shows again."""
    return _line(request, scenario_of(request, scenario_id))


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def edit(request: HttpRequest, scenario_id: int) -> HttpResponse:
    """A row of the grid as a form, and what becomes of it."""
    scenario = scenario_of(request, scenario_id)
    if request.method != "POST":
        return render(request, "authoring/_scenario_form.html", _form_context(scenario, _fields_of(scenario)))
    posted = _posted(request.POST)
    try:
        expect = expectations.read(posted["lines"], scenario.expect)
        undo = scenarios.edit(
            scenario,
            question=posted["question"],
            split=posted["split"],
            expect=expect,
            tags=posted["tags"].split(","),
            rubric=posted["rubric"],
        )
    except (scenarios.Refused, expectations.Unreadable) as refused:
        return _form_again(request, scenario, posted, refused)
    _remember(request, scenario.agent, undo)
    return _line(request, scenario, undo=undo)


def _line(request: HttpRequest, scenario: Scenario, undo: scenarios.Undo | None = None) -> HttpResponse:
    """A row; after an edit also what else on the page has changed."""
    agent = scenario.agent
    known = scenario_queries.known_of(agent)
    (shown,) = scenario_queries.lines_of(known, [scenario])
    context: dict[str, Any] = {"agent": agent, "line": shown, "focus": scenario.pk, "undo": undo}
    if undo:
        context |= wizard.context(agent, "scenarios")
        context["overview"] = scenario_overview.overview(agent, known)
    return render(request, "authoring/_scenario_line_alone.html", context)


def _form_again(
    request: HttpRequest, scenario: Scenario, posted: dict[str, Any], refused: Exception
) -> HttpResponse:
    context = _form_context(scenario, posted)
    context |= {"refusal": str(refused), "refused_field": getattr(refused, "field", "")}
    return render(request, "authoring/_scenario_form.html", context, status=422)


def _form_context(scenario: Scenario, fields: dict[str, Any]) -> dict[str, Any]:
    lines: Lines = fields["lines"]
    return {
        "agent": scenario.agent,
        "scenario": scenario,
        "fields": fields,
        "calls": [*lines.calls, CallLine("", "")],
        "splits": scenarios.SPLITS,
        "tools": scenario_queries.tool_names(scenario.agent, [call.name for call in lines.calls]),
        "earlier": scenario_queries.earlier_messages(scenario),
        "changes": json.dumps(scenario.expect.get("changes"), ensure_ascii=False, indent=2),
        "post_to": _address_of_form(scenario),
    }


def _address_of_form(scenario: Scenario) -> str:
    if scenario.pk:
        return reverse("edit_scenario", args=[scenario.pk])
    return reverse("add_scenario", args=[scenario.agent.pk])


def _fields_of(scenario: Scenario) -> dict[str, Any]:
    return {
        "question": scenario_queries.asked(scenario.messages),
        "split": scenario.split,
        "tags": ", ".join(scenario.tags),
        "rubric": scenario.rubric,
        "lines": expectations.written(scenario.expect),
    }


def _posted(post: QueryDict) -> dict[str, Any]:
    names, arguments = post.getlist("call_name"), post.getlist("call_arguments")
    calls = tuple(CallLine(*pair) for pair in list(zip(names, arguments, strict=False))[:LARGEST_FORM])
    texts = {name: post.get(name, "") for name in ("answer_has", "answer_lacks", "evidence")}
    fields = {name: post.get(name, "") for name in ("question", "split", "tags", "rubric")}
    return {**fields, "lines": Lines(**texts, calls=calls)}


@require_POST
@login_required
def change(request: HttpRequest, agent_id: int) -> HttpResponse:
    """Do one thing with the chosen scenarios, or with all that the filters let through."""
    agent = agent_of(request, agent_id)
    chosen = _chosen(request, agent)
    try:
        undo = _change(agent, chosen, request.POST)
    except scenarios.Refused as refused:
        return _grid(request, agent, refusal=str(refused))
    return _changed(request, agent, undo)


def _change(agent: Agent, chosen: Sequence[int], post: QueryDict) -> scenarios.Undo:
    if not chosen:
        raise scenarios.Refused(_("Choose scenarios first: tick the boxes before them."))
    match post.get("do", ""):
        case "tag":
            return scenario_changes.tag(agent, chosen, post.get("new_tag", ""))
        case "untag":
            return scenario_changes.untag(agent, chosen, post.get("new_tag", ""))
        case "delete":
            return scenario_changes.delete(agent, chosen)
        case split:
            return scenario_changes.move(agent, chosen, split.removeprefix("to-"))


def _chosen(request: HttpRequest, agent: Agent) -> list[int]:
    if request.POST.get("all"):
        return scenario_queries.matching(agent, scenario_queries.known_of(agent), Filters.of(request.POST))
    return [
        int(pk) for pk in request.POST.getlist("chosen") if pk.isascii() and pk.isdigit() and len(pk) < 16
    ]


@require_POST
@login_required
def mend(request: HttpRequest, agent_id: int) -> HttpResponse:
    """Delete near-duplicates, or deal the scenarios into splits again without leaks."""
    agent = agent_of(request, agent_id)
    if request.POST.get("what") == "duplicates":
        return _changed(request, agent, scenario_changes.delete_duplicates(agent))
    return _changed(request, agent, scenario_changes.split_anew(agent))


@require_POST
@login_required
def undo(request: HttpRequest, agent_id: int) -> HttpResponse:
    """Take the last change back."""
    agent = agent_of(request, agent_id)
    kept = request.session.pop(UNDO, None)
    if not kept or kept["agent"] != agent.pk:
        return _grid(request, agent, refusal=_("There is nothing to undo any more."))
    scenario_changes.take_back(agent, kept["before"])
    return _grid(request, agent, told=_("Undone."))


def _changed(request: HttpRequest, agent: Agent, undo: scenarios.Undo, **more: Any) -> HttpResponse:
    _remember(request, agent, undo)
    return _grid(request, agent, undo=undo, **more)


def _grid(request: HttpRequest, agent: Agent, **more: Any) -> HttpResponse:
    """The part of the page below its title, or only why not; without scripts, the whole page."""
    context = page_context(request, agent) | more
    if "HX-Request" not in request.headers:
        return render(request, "authoring/scenarios.html", context, status=422 if "refusal" in more else 200)
    if "refusal" in more:
        return render(request, "authoring/_scenario_toast.html", context, status=422)
    return render(request, "authoring/_scenario_changed.html", context)


def _remember(request: HttpRequest, agent: Agent, undo: scenarios.Undo) -> None:
    if undo.before:
        request.session[UNDO] = {"agent": agent.pk, "before": undo.before}


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
