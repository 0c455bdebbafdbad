"""Addresses of the pages on which an agent is made. Each part lists its own."""

from django.urls import URLPattern, URLResolver, include, path

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("training.authoring.guide.wizard_urls")),
    path("", include("training.authoring.toolbox.tool_urls")),
    path("", include("training.authoring.studio.scenario_urls")),
    path("", include("training.authoring.launch.launch_urls")),
]
