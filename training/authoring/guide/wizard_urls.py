"""Addresses of the pages of the wizard and its gallery."""

from django.urls import URLPattern, path

from training.authoring.guide import agent_views, wizard_views
from training.authoring.office import errand_views

urlpatterns: list[URLPattern] = [
    path("agents/", agent_views.agents, name="agents"),
    path("agents/new/", agent_views.new_agent, name="new_agent"),
    path("agents/new/upload/", agent_views.begin_with_file, name="begin_with_file"),
    path("agents/new/<slug:slug>/", agent_views.begin, name="begin"),
    path("agents/<int:agent_id>/copy/", agent_views.duplicate, name="duplicate_agent"),
    path("agents/<int:agent_id>/remove/", agent_views.throw_away, name="remove_agent"),
    path("agents/<int:agent_id>/restore/", agent_views.bring_back, name="restore_agent"),
    path("agents/<int:agent_id>/describe/", wizard_views.page, {"slug": "describe"}, name="describe"),
    path("agents/<int:agent_id>/reward/", wizard_views.page, {"slug": "reward"}, name="reward"),
    path("agents/<int:agent_id>/compute/", wizard_views.page, {"slug": "compute"}, name="compute"),
    path("agents/<int:agent_id>/versions/", wizard_views.versions, name="versions"),
    path("agents/<int:agent_id>/keep/", wizard_views.keep_suggestions, name="keep_suggestions"),
    path("errands/<int:errand_id>/", errand_views.errand, name="errand"),
    path("errands/<int:errand_id>/cancel/", errand_views.cancel_errand, name="cancel_errand"),
]
