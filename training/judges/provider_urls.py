"""Providers of language models, rubrics, and the preview of a reward."""

from django.urls import URLPattern, URLResolver, path

from training.judges import provider_views, reward_views

urlpatterns: list[URLPattern | URLResolver] = [
    path("providers/", provider_views.page, name="providers"),
    path("providers/undo/", provider_views.undo, name="undo_provider"),
    path("providers/new/<slug:slug>/", provider_views.add, name="add_provider"),
    path("providers/<int:provider_id>/", provider_views.edit, name="provider"),
    path("providers/<int:provider_id>/delete/", provider_views.delete, name="delete_provider"),
    path("providers/<int:provider_id>/test/", provider_views.test, name="test_provider"),
    path("providers/<int:provider_id>/tested/", provider_views.result, name="provider_tested"),
    path("agents/<int:agent_id>/reward/preview/", reward_views.preview, name="reward_preview"),
    path("agents/<int:agent_id>/reward/ask/", reward_views.ask, name="ask_reward"),
    path("agents/<int:agent_id>/rubric/keep/", reward_views.keep, name="keep_rubric"),
    path("agents/<int:agent_id>/rubric/<int:number>/back/", reward_views.take_back, name="take_back_rubric"),
]
