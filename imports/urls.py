"""Pages of the import wizard. A change of state is a sub-resource that takes POST; each step is a page that takes its own form."""

from django.urls import path

from imports import views

app_name = "imports"
urlpatterns = [
    path("settings/integrations", views.integrations, name="integrations"),
    path("settings/integrations/github", views.connect, name="connect"),
    path("settings/integrations/github/return", views.returned, name="returned"),
    path("settings/integrations/github/<uuid:github_id>/disconnection", views.disconnection, name="disconnection"),
    path("catalog/<slug:slug>/health", views.health, name="health"),
    path("catalog/import", views.source, name="source"),
    path("catalog/import/upload", views.upload, name="upload"),
    path("catalog/import/upload/<uuid:upload_id>/abandonment", views.abandon, name="abandon"),
    path("catalog/import/selection", views.choose, name="choose"),
    path("catalog/import/huggingface", views.fetch, name="fetch"),
    path("catalog/import/github", views.fetch_github, name="fetch_github"),
    path("catalog/import/copy", views.duplicate, name="duplicate"),
    path("catalog/import/recorded", views.recorded, name="recorded"),
    path("catalog/import/recorded/<uuid:upload_id>", views.recorded_files, name="recorded_files"),
    path("catalog/recorded/<uuid:model_id>", views.recorded_model, name="recorded_model"),
    path("catalog/recorded/<uuid:model_id>/archiving", views.recorded_archiving, name="recorded_archiving"),
    path("catalog/recorded/benchmarks/<slug:slug>", views.recorded_of_benchmark, name="recorded_of_benchmark"),
    path("catalog/import/<uuid:draft_id>", views.draft, name="draft"),
    path("catalog/import/<uuid:draft_id>/discarding", views.discard, name="discard"),
    path("catalog/import/<uuid:draft_id>/source", views.source, name="draft_source"),
    path("catalog/import/<uuid:draft_id>/preview", views.preview, name="preview"),
    path("catalog/import/<uuid:draft_id>/mapping", views.mapping, name="mapping"),
    path("catalog/import/<uuid:draft_id>/grading", views.grading, name="grading"),
    path("catalog/import/<uuid:draft_id>/rights", views.rights, name="rights"),
    path("catalog/import/<uuid:draft_id>/check", views.check, name="check"),
    path("catalog/import/<uuid:draft_id>/check/cancellation", views.cancellation, name="cancellation"),
    path("catalog/import/<uuid:draft_id>/check/rows.csv", views.problems, name="problems"),
    path("catalog/import/<uuid:draft_id>/create", views.create, name="create"),
]
