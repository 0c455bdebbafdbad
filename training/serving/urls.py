"""Addresses of the OpenAI-compatible endpoint."""

from django.urls import URLPattern, URLResolver, path, re_path

from training.serving import views

urlpatterns: list[URLPattern | URLResolver] = [
    path("chat/completions", views.chat_completions, name="v1_chat_completions"),
    path("models", views.models, name="v1_models"),
    path("models/<path:name>", views.model, name="v1_model"),
    re_path("", views.nothing_here),
]
