"""The judge lab and people's scores."""

from django.urls import URLPattern, URLResolver, path

from training.judges.lab import lab_views, overrides, ranking_views, rubric_views, score_views

urlpatterns: list[URLPattern | URLResolver] = [
    path("lab/", lab_views.lab, name="lab"),
    path("lab/results/", lab_views.lab_results, name="lab_results"),
    path("lab/estimate/", lab_views.lab_estimate, name="lab_estimate"),
    path("lab/ask/", lab_views.lab_ask, name="lab_ask"),
    path("lab/rubric/", rubric_views.lab_rubric, name="lab_rubric"),
    path("lab/rubric/change/", rubric_views.lab_rubric_change, name="lab_rubric_change"),
    path("lab/rubric/try/", rubric_views.lab_rubric_try, name="lab_rubric_try"),
    path("lab/rubric/keep/", rubric_views.lab_rubric_keep, name="lab_rubric_keep"),
    path("runs/<int:run_id>/scores/", overrides.human_scores, name="human_scores"),
    path("groups/<int:group_id>/lab/", ranking_views.lab_group, name="lab_group"),
    path("groups/<int:group_id>/lab/verdicts/", ranking_views.lab_verdicts, name="lab_verdicts"),
    path("trajectories/<int:trajectory_id>/score/", score_views.score_try, name="score_try"),
    path("scores/<int:score_id>/withdraw/", score_views.withdraw_score, name="withdraw_score"),
    path("scores/<int:score_id>/restore/", score_views.restore_score, name="restore_score"),
    path("groups/<int:group_id>/rank/", score_views.rank_group, name="rank_group"),
    path("rankings/<int:ranking_id>/withdraw/", score_views.withdraw_ranking, name="withdraw_ranking"),
    path("rankings/<int:ranking_id>/restore/", score_views.restore_ranking, name="restore_ranking"),
]
