"""Addresses of the pages of the scenario studio and the prompt."""

from django.urls import URLPattern, path

from training.authoring.studio import prompt_views as prompt
from training.authoring.studio import scenario_files_views as files
from training.authoring.studio import scenario_views as views

urlpatterns: list[URLPattern] = [
    path("agents/<int:agent_id>/scenarios/", views.studio, name="scenarios"),
    path("agents/<int:agent_id>/scenarios/grid/", views.grid, name="scenario_grid"),
    path("agents/<int:agent_id>/scenarios/invent/", views.invent, name="invent_scenarios"),
    path("agents/<int:agent_id>/scenarios/more/", views.more_like, name="more_scenarios"),
    path("agents/<int:agent_id>/scenarios/add/", views.add, name="add_scenario"),
    path("agents/<int:agent_id>/scenarios/change/", views.change, name="change_scenarios"),
    path("agents/<int:agent_id>/scenarios/mend/", views.mend, name="mend_scenarios"),
    path("agents/<int:agent_id>/scenarios/undo/", views.undo, name="undo_scenarios"),
    path("agents/<int:agent_id>/scenarios/upload/", files.upload, name="upload_scenarios"),
    path("agents/<int:agent_id>/scenarios/import/<int:errand_id>/", files.mapping, name="map_scenarios"),
    path("agents/<int:agent_id>/scenarios/export/<str:form>/", files.export, name="export_scenarios"),
    path("scenarios/<int:scenario_id>/", views.line, name="scenario"),
    path("scenarios/<int:scenario_id>/edit/", views.edit, name="edit_scenario"),
    path("agents/<int:agent_id>/prompt/", prompt.page, name="prompt"),
    path("agents/<int:agent_id>/prompt/save/", prompt.save, name="save_prompt"),
    path("agents/<int:agent_id>/prompt/propose/", prompt.propose, name="propose_prompt"),
    path("agents/<int:agent_id>/prompt/final/", prompt.final, name="final_prompt"),
]
