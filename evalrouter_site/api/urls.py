"""Every address of the API, on one page."""

from django.urls import URLPattern, URLResolver, include, path, re_path
from django.urls.converters import StringConverter, register_converter

from billing import api as billing
from catalog import api as catalog
from evalrouter_site.api.views import unknown
from gateway import api as gateway
from imports.api import github, health, hub, private, recorded, uploads
from runs.api import disagreements, gradings, models, notices, results, reviews, runs, samples, sharing, spending
from runs.groups import api as groups
from workspaces import api as workspaces


class PrivateBenchmarkConverter(StringConverter):
    """`byob-…`, with or without its number."""

    regex = "byob-[0-9a-f]{12}(?:@[0-9]{1,9})?"


register_converter(PrivateBenchmarkConverter, "byob")

v1: list[URLPattern | URLResolver] = [
    path("account", workspaces.AccountView.as_view()),
    path("workspaces", workspaces.WorkspaceList.as_view()),
    path("workspaces/<uuid:workspace_id>", workspaces.WorkspaceDetail.as_view()),
    path("api-keys", billing.ApiKeyList.as_view()),
    path("api-keys/<uuid:key_id>", billing.ApiKeyDetail.as_view()),
    path("api-keys/<uuid:key_id>/roll", billing.ApiKeyRoll.as_view()),
    path("billing/wallet", billing.WalletView.as_view()),
    path("billing/entries", billing.EntryList.as_view()),
    path("billing/usage", spending.UsageView.as_view()),
    path("billing/payments", billing.PaymentList.as_view()),
    path("billing/limits", billing.LimitsView.as_view()),
    path("billing/alerts", billing.AlertList.as_view()),
    path("benchmarks", catalog.BenchmarkList.as_view()),
    path("benchmarks/<slug:slug>", catalog.BenchmarkDetail.as_view()),
    path("benchmarks/<slug:slug>/health", health.BenchmarkHealthDetail.as_view()),
    path("evals", catalog.EvalList.as_view()),
    path("catalog/tasks", catalog.TaskList.as_view()),
    path("private-benchmarks", private.PrivateBenchmarkList.as_view()),
    path("private-benchmarks/<byob:benchmark_id>", catalog.PrivateBenchmarkDetail.as_view()),
    path("private-benchmarks/<byob:benchmark_id>/archive", catalog.PrivateBenchmarkArchive.as_view()),
    path("benchmark-imports/huggingface", hub.HuggingFaceImport.as_view()),
    path("benchmark-imports/github", github.GithubImport.as_view()),
    path("benchmark-imports/github/refs", github.GithubRefs.as_view()),
    path("benchmark-imports/github/preview", github.GithubPreview.as_view()),
    path("benchmark-imports/capabilities", private.Capabilities.as_view()),
    path("benchmark-uploads", uploads.UploadList.as_view()),
    path("benchmark-uploads/<uuid:upload_id>", uploads.UploadDetail.as_view()),
    path("benchmark-uploads/<uuid:upload_id>/files/<str:file_name>", uploads.UploadContent.as_view()),
    path("benchmark-uploads/<uuid:upload_id>/complete", uploads.UploadComplete.as_view()),
    path("benchmark-uploads/<uuid:upload_id>/archive", uploads.UploadArchive.as_view()),
    path("recorded-models", recorded.RecordedModelList.as_view()),
    path("recorded-models/<uuid:model_id>", recorded.RecordedModelDetail.as_view()),
    path("recorded-models/<uuid:model_id>/agreement", recorded.RecordedModelAgreement.as_view()),
    path("recorded-models/<uuid:model_id>/archive", recorded.RecordedModelArchive.as_view()),
    path("models", models.ModelList.as_view()),
    path("connections", gateway.ConnectionList.as_view()),
    path("connections/<uuid:connection_id>", gateway.ConnectionDetail.as_view()),
    path("connections/<uuid:connection_id>/check", gateway.ConnectionCheck.as_view()),
    path("quotes", runs.QuoteList.as_view()),
    path("quotes/<uuid:quote_id>", runs.QuoteDetail.as_view()),
    path("runs", runs.RunList.as_view()),
    path("runs/<uuid:run_id>", runs.RunDetail.as_view()),
    path("runs/<uuid:run_id>/cancel", runs.RunCancel.as_view()),
    path("runs/<uuid:run_id>/continue", runs.RunContinue.as_view()),
    path("runs/<uuid:run_id>/events", runs.EventList.as_view()),
    path("runs/<uuid:run_id>/attempts", runs.AttemptList.as_view()),
    path("runs/<uuid:run_id>/results", results.RunResults.as_view()),
    path("runs/<uuid:run_id>/compare", results.RunCompare.as_view()),
    path("runs/<uuid:run_id>/disagreements", disagreements.DisagreementList.as_view()),
    path("runs/<uuid:run_id>/samples", samples.SampleList.as_view()),
    path("runs/<uuid:run_id>/samples/<uuid:sample_id>", samples.SampleDetail.as_view()),
    path("runs/<uuid:run_id>/samples/<uuid:sample_id>/notes", reviews.NoteList.as_view()),
    path("runs/<uuid:run_id>/samples/<uuid:sample_id>/notes/<uuid:note_id>", reviews.NoteDetail.as_view()),
    path("runs/<uuid:run_id>/samples/<uuid:sample_id>/override", reviews.Override.as_view()),
    path("runs/<uuid:run_id>/reviews", reviews.ReviewList.as_view()),
    path("runs/<uuid:run_id>/reviews/figures", reviews.SecondFigures.as_view()),
    path("runs/<uuid:run_id>/gradings", gradings.GradingList.as_view()),
    path("runs/<uuid:run_id>/gradings/<int:grading_number>", gradings.GradingDetail.as_view()),
    path("runs/<uuid:run_id>/gradings/<int:grading_number>/flips", gradings.FlipList.as_view()),
    path("runs/<uuid:run_id>/export", results.RunExport.as_view()),
    path("runs/<uuid:run_id>/receipt", results.RunReceipt.as_view()),
    path("result-groups", groups.ResultGroupList.as_view()),
    path("result-groups/<uuid:group_id>", groups.ResultGroupDetail.as_view()),
    path("result-groups/<uuid:group_id>/export", groups.ResultGroupExport.as_view()),
    path("comparisons", groups.ComparisonList.as_view()),
    path("comparisons/<uuid:comparison_id>", groups.ComparisonDetail.as_view()),
    path("webhook-endpoints", notices.WebhookEndpointList.as_view()),
    path("webhook-endpoints/<uuid:endpoint_id>", notices.WebhookEndpointDetail.as_view()),
    path("webhook-endpoints/<uuid:endpoint_id>/secret", notices.WebhookEndpointSecret.as_view()),
    path("webhook-endpoints/<uuid:endpoint_id>/test", notices.WebhookEndpointTest.as_view()),
    path("webhook-deliveries", notices.WebhookDeliveryList.as_view()),
    path("webhook-deliveries/<uuid:delivery_id>", notices.WebhookDeliveryDetail.as_view()),
    path("webhook-deliveries/<uuid:delivery_id>/redeliver", notices.WebhookRedelivery.as_view()),
    path("runs/<uuid:run_id>/shares", sharing.ShareList.as_view()),
    path("runs/<uuid:run_id>/shares/<uuid:share_id>", sharing.ShareDetail.as_view()),
    path("benchmarks/<slug:slug>/leaderboard", sharing.Leaderboard.as_view()),
    re_path(r"^.*$", unknown),
]

urlpatterns = [path("v1/", include(v1)), path("v1", unknown)]
