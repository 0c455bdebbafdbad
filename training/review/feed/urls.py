"""The list of tries, its filters, saved views and exports."""

from django.urls import URLPattern, URLResolver, path

from training.review.feed import views

urlpatterns: list[URLPattern | URLResolver] = [
    path("tries/", views.tries, name="tries"),
    path("tries/export/<str:kind>/", views.export, name="export_tries"),
    path("tries/names/", views.names, name="tries_names"),
    path("tries/views/save/", views.save_view, name="save_view"),
    path("tries/views/<int:view_id>/rename/", views.rename_view, name="rename_view"),
    path("tries/views/<int:view_id>/delete/", views.delete_view, name="delete_view"),
]
