"""Every address of the site."""

from django.urls import URLPattern, URLResolver, include, path

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("training.urls")),
    path("v1/", include("training.serving.urls")),
    path("i18n/", include("django.conf.urls.i18n")),
]
