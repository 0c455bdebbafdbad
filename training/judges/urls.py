"""Addresses of what has to do with judges. Each part lists its own."""

from django.urls import URLPattern, URLResolver, include, path

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("training.judges.provider_urls")),
    path("", include("training.judges.lab.urls")),
]
