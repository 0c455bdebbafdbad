"""Addresses of the review room. Each part lists its own."""

from django.urls import URLPattern, URLResolver, include, path

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("training.review.feed.urls")),
    path("", include("training.review.groups.urls")),
    path("", include("training.review.tries.urls")),
    path("", include("training.review.compare.urls")),
]
