"""Addresses of the OpenAI-compatible endpoint, and of the page about it."""

from django.urls import URLPattern, URLResolver, path, re_path

from training.serving import pages, views

urlpatterns: list[URLPattern | URLResolver] = [
    path("chat/completions", views.chat_completions, name="v1_chat_completions"),
    path("models", views.models, name="v1_models"),
    path("models/<path:name>", views.model, name="v1_model"),
    re_path("", views.nothing_here),
]

endpoint_urls: list[URLPattern | URLResolver] = [
    path("", pages.page, name="endpoint"),
    path("keys/", pages.make_key, name="make_key"),
    path("keys/<int:key_id>/revoke/", pages.revoke_key, name="revoke_key"),
    path("runs/<int:run_id>/key/", pages.make_key_for_run, name="make_key_for_run"),
    path("deployments/", pages.deploy, name="deploy"),
    path("deployments/<int:deployment_id>/remove/", pages.undeploy, name="undeploy"),
]
"""The page people see; `training/urls.py` puts it under endpoint/."""
