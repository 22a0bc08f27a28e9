"""Pages of runs. A change of state is a sub-resource that takes POST."""

from django.urls import path

from runs import views
from runs.groups import views as groups
from runs.views import notices

app_name = "runs"
urlpatterns = [
    path("evaluations", views.history, name="history"),
    path("evaluations/new", views.new_evaluation, name="new_evaluation"),
    path("evaluations/quotes/<uuid:quote_id>", views.quote, name="quote"),
    path("evaluations/quotes/<uuid:quote_id>/start", views.start, name="start"),
    path("evaluations/benchmarks/<slug:slug>", views.benchmark_results, name="benchmark_results"),
    path("evaluations/benchmarks/<slug:slug>/health", views.benchmark_health, name="benchmark_health"),
    path("evaluations/groups", groups.groups, name="groups"),
    path("evaluations/groups/new", groups.new_group, name="new_group"),
    path("evaluations/groups/<uuid:group_id>", groups.group, name="group"),
    path("evaluations/groups/<uuid:group_id>/comparison", groups.group_comparison, name="group_comparison"),
    path("evaluations/groups/<uuid:group_id>/export/<str:file_format>", groups.group_export, name="group_export"),
    path("evaluations/<uuid:run_id>", views.report, name="report"),
    path("evaluations/<uuid:run_id>/cancellation", views.cancellation, name="cancellation"),
    path("evaluations/<uuid:run_id>/comparison", views.comparison, name="comparison"),
    path("evaluations/<uuid:run_id>/comparison/<str:table>", views.comparison_table, name="comparison_table"),
    path("evaluations/<uuid:run_id>/continuation", views.continuation, name="continuation"),
    path("evaluations/<uuid:run_id>/difference", views.difference, name="difference"),
    path("evaluations/<uuid:run_id>/disagreements", views.disagreements, name="disagreements"),
    path("evaluations/<uuid:run_id>/export/<str:wanted>", views.export, name="export"),
    path("evaluations/<uuid:run_id>/exports", views.exports, name="exports"),
    path("evaluations/<uuid:run_id>/gradings", views.gradings, name="gradings"),
    path("evaluations/<uuid:run_id>/gradings/<int:grading_number>", views.grading, name="grading"),
    path("evaluations/<uuid:run_id>/samples", views.samples, name="samples"),
    path("evaluations/<uuid:run_id>/samples/<int:position>", views.sample, name="sample"),
    path("evaluations/<uuid:run_id>/samples/<uuid:sample_id>/notes", views.notes, name="notes"),
    path("evaluations/<uuid:run_id>/samples/<uuid:sample_id>/notes/<uuid:note_id>", views.note, name="note"),
    path("evaluations/<uuid:run_id>/samples/<uuid:sample_id>/notes/<uuid:note_id>/deletion", views.note_deletion, name="note_deletion"),
    path("evaluations/<uuid:run_id>/samples/<uuid:sample_id>/override", views.override, name="override"),
    path("evaluations/<uuid:run_id>/samples/<uuid:sample_id>/override/withdrawal", views.override_withdrawal, name="override_withdrawal"),
    path("evaluations/<uuid:run_id>/reviews", views.reviews, name="reviews"),
    path("evaluations/<uuid:run_id>/sharing", views.sharing, name="sharing"),
    path("evaluations/<uuid:run_id>/sharing/preview", views.sharing_preview, name="sharing_preview"),
    path("evaluations/<uuid:run_id>/sharing/<uuid:share_id>/revocation", views.sharing_revocation, name="sharing_revocation"),
    path("evaluations/<uuid:run_id>/publishing", views.publishing, name="publishing"),
    path("evaluations/<uuid:run_id>/publishing/<uuid:publication_id>/withdrawal", views.withdrawal, name="withdrawal"),
    path("catalog/<slug:slug>/leaderboard", views.leaderboard, name="leaderboard"),
    path("settings/billing/spending", views.spending, name="spending"),
    path("settings/notices", notices.notices, name="notices"),
    path("settings/notices/webhooks/new", notices.new_webhook, name="new_webhook"),
    path("settings/notices/webhooks/<uuid:endpoint_id>", notices.webhook, name="webhook"),
    path("settings/notices/webhooks/<uuid:endpoint_id>/secret", notices.webhook_secret, name="webhook_secret"),
    path("settings/notices/webhooks/<uuid:endpoint_id>/test", notices.webhook_test, name="webhook_test"),
    path("settings/notices/webhooks/<uuid:endpoint_id>/deletion", notices.webhook_deletion, name="webhook_deletion"),
    path("settings/notices/deliveries", notices.webhook_deliveries, name="webhook_deliveries"),
    path("settings/notices/deliveries/<uuid:delivery_id>", notices.webhook_delivery, name="webhook_delivery"),
    path("settings/notices/deliveries/<uuid:delivery_id>/again", notices.webhook_redelivery, name="webhook_redelivery"),
]
