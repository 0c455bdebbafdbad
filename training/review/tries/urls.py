"""The pages of a try and of a scenario over all steps."""

from django.urls import URLPattern, URLResolver, path

from training.review.tries import (
    measured_views,
    note_views,
    replay_views,
    scenario_views,
    timeline_views,
    views,
)

urlpatterns: list[URLPattern | URLResolver] = [
    path("trajectories/<int:trajectory_id>/", views.trajectory, name="trajectory"),
    path("trajectories/<int:trajectory_id>/tokens/", views.tokens_of, name="tokens"),
    path("trajectories/<int:trajectory_id>/measurements/", measured_views.measure, name="measure_try"),
    path("trajectories/<int:trajectory_id>/raw.json", views.raw, name="raw"),
    path("trajectories/<int:trajectory_id>/notes/", note_views.add_note, name="add_note"),
    path("notes/<int:note_id>/", note_views.edit_note, name="edit_note"),
    path("notes/<int:note_id>/delete/", note_views.delete_note, name="delete_note"),
    path("notes/<int:note_id>/restore/", note_views.restore_note, name="restore_note"),
    path("trajectories/<int:trajectory_id>/tags/", note_views.add_tag, name="add_tag"),
    path("trajectories/<int:trajectory_id>/tags/remove/", note_views.remove_tag, name="remove_tag"),
    path("trajectories/<int:trajectory_id>/replays/", replay_views.play, name="replay_try"),
    path("replays/<int:replay_id>/", replay_views.replay, name="replay"),
    path("trajectories/<int:trajectory_id>/scenario/", scenario_views.make, name="scenario_of_try"),
    path("trajectories/<int:trajectory_id>/scenario/undo/", scenario_views.undo, name="undo_scenario_of_try"),
    path("runs/<int:run_id>/scenarios/", timeline_views.scenarios, name="run_scenarios"),
    path("runs/<int:run_id>/scenarios/<path:key>/", timeline_views.timeline, name="scenario_timeline"),
]
