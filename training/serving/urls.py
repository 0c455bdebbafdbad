"""Addresses of the OpenAI-compatible endpoint."""

from django.urls import URLPattern, URLResolver

urlpatterns: list[URLPattern | URLResolver] = []
