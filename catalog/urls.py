"""Pages of the catalog: benchmarks and models."""

from django.urls import path

from catalog import views

app_name = "catalog"
urlpatterns = [
    path("catalog", views.benchmarks, name="benchmarks"),
    path("catalog/<slug:slug>", views.benchmark, name="benchmark"),
    path("catalog/<slug:slug>/archiving", views.archiving, name="archiving"),
    path("models", views.models, name="models"),
    path("models/<path:route_id>", views.model, name="model"),
]
