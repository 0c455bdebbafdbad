"""Addresses of the pages people see."""

from django.urls import URLPattern, URLResolver, include, path

from training import sign_in
from training.runs import views as runs
from training.serving.urls import endpoint_urls

urlpatterns: list[URLPattern | URLResolver] = [
    path("", runs.home, name="home"),
    path("demo/", runs.start_demo, name="start_demo"),
    path("runs/<int:run_id>/", runs.run, name="run"),
    path("runs/<int:run_id>/pause/", runs.pause, name="pause"),
    path("runs/<int:run_id>/resume/", runs.resume, name="resume"),
    path("runs/<int:run_id>/stop/", runs.stop, name="stop"),
    path("runs/<int:run_id>/offer/", runs.offer, name="offer"),
    path("runs/<int:run_id>/lines/", runs.earlier_lines, name="earlier_lines"),
    path("runs/<int:run_id>/groups/", runs.groups, name="groups"),
    path("", include("training.review.urls")),
    path("", include("training.judges.urls")),
    path("", include("training.authoring.urls")),
    path("endpoint/", include(endpoint_urls)),
    path("sign-in/", sign_in.explain, name="sign_in"),
    path("sign-in/<str:token>/", sign_in.redeem, name="redeem"),
    path("sign-out/", sign_in.sign_out, name="sign_out"),
    path("theme/", sign_in.theme, name="theme"),
]
