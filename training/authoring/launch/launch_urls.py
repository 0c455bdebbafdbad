"""Addresses of the pages of preflight, launch, queue and presets."""

from django.urls import URLPattern, path

from training.authoring.launch import budget_views, launch_views, queue_views

urlpatterns: list[URLPattern] = [
    path("agents/<int:agent_id>/review/", launch_views.review, name="review"),
    path("agents/<int:agent_id>/review/checks/", launch_views.checks_part, name="checks_part"),
    path("agents/<int:agent_id>/review/smoke/", launch_views.smoke_part, name="smoke_part"),
    path("agents/<int:agent_id>/start/", launch_views.start, name="start_run"),
    path("agents/<int:agent_id>/try/", launch_views.try_it, name="try_agent"),
    path("agents/<int:agent_id>/inspect/", launch_views.inspect, name="inspect_agent"),
    path("agents/<int:agent_id>/presets/", launch_views.save_preset, name="save_preset"),
    path("agents/<int:agent_id>/presets/restore/", launch_views.restore_preset, name="restore_preset"),
    path(
        "agents/<int:agent_id>/presets/<int:preset_id>/apply/", launch_views.apply_preset, name="apply_preset"
    ),
    path(
        "agents/<int:agent_id>/presets/<int:preset_id>/delete/",
        launch_views.delete_preset,
        name="delete_preset",
    ),
    path("runs/<int:run_id>/place/", queue_views.place, name="place"),
    path("runs/<int:run_id>/budget/", budget_views.raise_budget, name="raise_budget"),
]
