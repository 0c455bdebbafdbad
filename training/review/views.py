"""Reading what the agent did: a group's tries side by side, and one try down to its tokens."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from training.access import group_of, trajectory_of
from training.review import queries
from training.review.tokens import window


@require_safe
@login_required
def group(request: HttpRequest, group_id: int) -> HttpResponse:
    view = queries.group_view(group_of(request, group_id))
    return render(request, "review/group.html", {"view": view, "run": view.group.run})


@require_safe
@login_required
def trajectory(request: HttpRequest, trajectory_id: int) -> HttpResponse:
    found = trajectory_of(request, trajectory_id)
    beside = {t.index: t.pk for t in found.group.trajectories.all()}
    return render(
        request,
        "review/trajectory.html",
        {
            "try": queries.one_try(found),
            "group": found.group,
            "run": found.group.run,
            "previous": beside.get(found.index - 1),
            "next": beside.get(found.index + 1),
        },
    )


@require_safe
@login_required
def tokens(request: HttpRequest, trajectory_id: int) -> HttpResponse:
    found = trajectory_of(request, trajectory_id)
    base_model = found.group.run.config.get("base_model", "embedded")
    shown = window(
        found.record.segments,
        base_model,
        segment=_place(request.GET.get("segment")),
        start=_place(request.GET.get("start")),
    )
    return render(request, "review/_tokens.html", {"trajectory": found, "window": shown})


@require_safe
@login_required
def raw(request: HttpRequest, trajectory_id: int) -> HttpResponse:
    """Everything that is stored of a try, as JSON."""
    found = trajectory_of(request, trajectory_id)
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
        "segments": found.record.segments,
    }
    return JsonResponse(content, json_dumps_params={"ensure_ascii": False, "indent": 1})


def _place(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 12 else 0
