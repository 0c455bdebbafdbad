"""The page of a group."""

from django.urls import URLPattern, URLResolver, path

from training.review.groups import views

urlpatterns: list[URLPattern | URLResolver] = [
    path("groups/<int:group_id>/", views.group, name="group"),
    path(
        "groups/<int:group_id>/tries/<int:index>/messages/<int:number>/", views.message, name="group_message"
    ),
]
