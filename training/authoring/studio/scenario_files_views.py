"""Files of scenarios: one comes in, one is told what its columns mean, one goes out."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from training.access import agent_of
from training.authoring.guide import wizard
from training.authoring.office import errands
from training.authoring.studio import audit, scenario_files, scenario_queries
from training.authoring.studio.scenario_files import Preview
from training.authoring.studio.scenario_queries import Filters
from training.authoring.studio.scenario_records import FORMATS, Record, Records, Refused
from training.authoring.studio.scenario_views import page_context
from training.authoring.toolbox import uploads
from training.models import Agent, Errand

TITLES: dict[str, str | Promise] = {
    "question": _("The question"),
    "answers": _("What the answer must contain"),
    "tags": _("Tags"),
    "split": _("Split"),
}
CONTENT = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}


@require_POST
@login_required
def upload(request: HttpRequest, agent_id: int) -> HttpResponse:
    """Take a file in and have the desk look into it."""
    agent = agent_of(request, agent_id)
    file = request.FILES.get("file")
    try:
        kept, filename = uploads.keep(file)
    except uploads.Unwelcome as unwelcome:
        context = page_context(request, agent, file_refusal=str(unwelcome))
        return render(request, "authoring/scenarios.html", context, status=422)
    errand = errands.start(
        owner=_person(request),
        kind="read_scenarios",
        agent=agent,
        upload=kept,
        filename=filename,
    )
    return redirect(f"{wizard.address(agent, 'scenarios')}?errand={errand.pk}")


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def mapping(request: HttpRequest, agent_id: int, errand_id: int) -> HttpResponse:
    """What each column of a file is taken for, with its first rows read so; POST without `look` brings it."""
    agent = agent_of(request, agent_id)
    of_files = Errand.objects.filter(agent=agent, kind="read_scenarios", state=Errand.State.DONE)
    looked = get_object_or_404(of_files, pk=errand_id)
    chosen = dict(looked.result["mapping"])
    if request.method == "POST":
        chosen = {field: request.POST.get(field, "") for field in scenario_files.FIELDS}
    shown, refusal = _preview(looked, chosen)
    if request.method == "POST" and not refusal and "look" not in request.POST:
        return _bring(request, agent, looked, chosen)
    context = _context(agent, looked, chosen) | {"shown": shown, "refusal": refusal}
    part = "HX-Request" in request.headers
    name = "authoring/_scenario_mapping.html" if part else "authoring/scenario_mapping.html"
    return render(request, name, context, status=422 if refusal and request.method == "POST" else 200)


@require_safe
@login_required
def export(request: HttpRequest, agent_id: int, form: str) -> HttpResponse:
    """The scenarios that the filters let through, as a file that can be brought back."""
    agent = agent_of(request, agent_id)
    if form not in CONTENT:
        raise Http404
    known = scenario_queries.known_of(agent)
    wanted = set(scenario_queries.matching(agent, known, Filters.of(request.GET)))
    questions = audit.questions_of(agent, wanted)
    content = scenario_files.exported(questions, FORMATS[form])
    name = f"scenarios-{agent.pk}.{form}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(content, content_type=CONTENT[form], headers=headers)


def _bring(request: HttpRequest, agent: Agent, looked: Errand, chosen: dict[str, str]) -> HttpResponse:
    errand = errands.start(
        owner=_person(request),
        kind="import_scenarios",
        agent=agent,
        look=looked.pk,
        mapping=chosen,
    )
    return redirect(f"{wizard.address(agent, 'scenarios')}?errand={errand.pk}")


def _preview(looked: Errand, chosen: dict[str, str]) -> tuple[Preview | None, str]:
    """The first rows as they would be read, or why none can be."""
    rows = tuple(Record(row["number"], row["values"]) for row in looked.result["sample"])
    records = Records(looked.result["format"], tuple(looked.result["columns"]), rows)
    try:
        return scenario_files.preview(records, chosen), ""
    except Refused as refused:
        return None, str(refused)


def _context(agent: Agent, looked: Errand, chosen: dict[str, str]) -> dict[str, Any]:
    return {
        **wizard.context(agent, "scenarios"),
        "looked": looked,
        "fields": [(field, TITLES[field], chosen.get(field, "")) for field in scenario_files.FIELDS],
        "columns": looked.result["columns"],
    }


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
