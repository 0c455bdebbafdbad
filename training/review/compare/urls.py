"""Comparisons of contenders on held-out scenarios."""

from django.urls import URLPattern, URLResolver, path

from training.review.compare import views
from training.review.compare.blind import views as blind

urlpatterns: list[URLPattern | URLResolver] = [
    path("runs/<int:run_id>/compare/", views.comparisons, name="comparisons"),
    path("runs/<int:run_id>/compare/forecast/", views.forecast_part, name="comparison_forecast"),
    path("comparisons/<int:comparison_id>/", views.comparison, name="comparison"),
    path("comparisons/<int:comparison_id>/part/", views.comparison_part, name="comparison_part"),
    path("comparisons/<int:comparison_id>/report.md", views.markdown, name="comparison_markdown"),
    path("comparisons/<int:comparison_id>/tries.csv", views.csv, name="comparison_csv"),
    path("comparisons/<int:comparison_id>/go-on/", views.go_on, name="go_on_comparison"),
    path("comparisons/<int:comparison_id>/blind/", blind.ask, name="blind"),
    path("comparisons/<int:comparison_id>/blind/vote/", blind.vote, name="blind_vote"),
    path("comparisons/<int:comparison_id>/blind/undo/", blind.undo, name="blind_undo"),
    path("comparisons/<int:comparison_id>/blind/skipped/", blind.skipped, name="blind_skipped"),
    path("comparisons/<int:comparison_id>/blind/judged/", blind.judged, name="blind_judged"),
    path(
        "comparisons/<int:comparison_id>/blind/<int:vote_id>/take-back/",
        blind.take_back,
        name="blind_take_back",
    ),
    path("comparisons/<int:comparison_id>/delete/", views.delete, name="delete_comparison"),
    path("comparisons/<int:comparison_id>/restore/", views.restore, name="restore_comparison"),
    path("comparisons/<int:comparison_id>/scenarios/<path:key>/", views.case, name="comparison_case"),
]
