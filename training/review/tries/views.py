"""The page of one try: what was said, its course, its tokens, all of it as JSON."""

import json

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from training.access import trajectory_of
from training.authoring.studio.scenarios import SPLITS
from training.models import Trajectory
from training.review import queries
from training.review.tries import course, measured, measured_views, notes, replay, tokens
from training.review.tries import queries as own
from training.review.tries.spoken import stretches

VIEWS: dict[str, Promise] = {
    "transcript": _("Transcript"),
    "timeline": _("Timeline"),
    "tokens": _("Tokens"),
    "raw": _("Raw"),
}
LONGEST_RAW = 400_000
"""Characters of JSON that the page shows; the download has all of it."""


@require_safe
@login_required
def trajectory(request: HttpRequest, trajectory_id: int) -> HttpResponse:
    found = trajectory_of(request, trajectory_id)
    view = request.GET.get("view", "")
    view = view if view in VIEWS else "transcript"
    shown = queries.one_try(found)
    beside = dict(found.group.trajectories.values_list("index", "pk"))
    context = {
        "try": shown,
        "group": found.group,
        "run": found.group.run,
        "previous": beside.get(found.index - 1),
        "next": beside.get(found.index + 1),
        "views": VIEWS.items(),
        "view": view,
        "trajectory": found,
        "tags": found.tags.all(),
        "names": notes.names_of(found.run),
        "splits": SPLITS.items(),
        **_beside(request, found),
        **_of_view(request, found, view, shown),
    }
    return render(request, "review/trajectory.html", context)


def _beside(request: HttpRequest, found: Trajectory) -> dict[str, object]:
    """What stands beside every view."""
    deleted = own.just_deleted(found, _place(request.GET.get("deleted")))
    return {
        "place": own.notes_at(found, None, deleted if deleted and deleted.message is None else None),
        "replays": found.replays.select_related("errand"),
        "replay": replay.choices(found, wanted=_place(request.GET.get("from"))),
    }


def _of_view(request: HttpRequest, found: Trajectory, view: str, shown: queries.Try) -> dict[str, object]:
    if view == "transcript":
        return {"said": own.said(found, shown.turns, _place(request.GET.get("deleted")))}
    if view == "raw":
        text = json.dumps(_content(found, segments=False), ensure_ascii=False, indent=2)
        return {"raw": text[:LONGEST_RAW], "cut": len(text) > LONGEST_RAW}
    record = found.record
    places = stretches(record.segments, record.messages)
    if view == "timeline":
        values = measured.values_of(found)
        legs = course.course(record.messages, record.segments, places, values)
        return {"legs": legs, "measured": bool(values)}
    segment, start = _place(request.GET.get("segment")), _place(request.GET.get("start"))
    context: dict[str, object] = {
        "segment": segment,
        "segments": len(record.segments),
        "start": start,
        "spoken": own.from_where(found),
        "facts": own.step_facts(found),
        "as_table": "table" in request.GET,
        **measured_views.shown(request, found),
    }
    if "table" in request.GET:
        values = measured.values_of(found)
        context["window"] = tokens.window(record.segments, _base_model(found), segment, start, values)
    return context


@require_safe
@login_required
def tokens_of(request: HttpRequest, trajectory_id: int) -> JsonResponse:
    """A stretch of tokens for the browser to draw."""
    found = trajectory_of(request, trajectory_id)
    record = found.record
    told = tokens.strip(
        record.segments,
        stretches(record.segments, record.messages),
        _base_model(found),
        segment=_place(request.GET.get("segment")),
        start=_place(request.GET.get("start")),
        measured=measured.values_of(found),
    )
    return JsonResponse(told, json_dumps_params={"ensure_ascii": False, "separators": (",", ":")})


@require_safe
@login_required
def raw(request: HttpRequest, trajectory_id: int) -> HttpResponse:
    """Everything that is stored of a try, as JSON."""
    content = _content(trajectory_of(request, trajectory_id), segments=True)
    return JsonResponse(content, json_dumps_params={"ensure_ascii": False, "indent": 1})


def _content(found: Trajectory, *, segments: bool) -> dict[str, object]:
    scores = found.scores.order_by("id").values("source", "value", "explanation")
    content = {
        "id": found.pk,
        "run": found.group.run.name,
        "label": found.group.label,
        "step": found.group.step,
        "group": found.group.index,
        "scenario": found.group.scenario_key,
        "index": found.index,
        "ended": found.ended,
        "note": found.note,
        "reward": found.reward,
        "success": found.success,
        "policy_step": found.policy_step,
        "advantage": found.advantage,
        "scores": list(scores),
        "tools": found.group.tools,
        "messages": found.record.messages,
    }
    if not segments:
        return content
    return {**content, "segments": found.record.segments, "measured": measured.stored(found)}


def _base_model(found: Trajectory) -> str:
    return str(found.group.run.config.get("base_model", "embedded"))


def _place(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 12 else 0
