"""The URL table."""

from django.contrib import admin
from django.urls import include, path

from billing import webhooks
from evalrouter_site import shared, verifying, views
from evalrouter_site.api.views import openapi

urlpatterns = [
    path("", views.landing, name="landing"),
    path("command", views.command, name="command"),
    path("design", views.design, name="design"),
    path("healthz", views.healthz, name="healthz"),
    path("readyz", views.readyz, name="readyz"),
    path("verify", verifying.verify, name="verify"),
    path("verify/verify_bundle.py", verifying.script, name="verify_script"),
    path(".well-known/evalrouter-keys.json", verifying.keys, name="signing_keys"),
    path("shared/<slug:token>", shared.shared, name="shared"),
    path("shared/<slug:token>/result.json", shared.shared_json, name="shared_json"),
    path("shared/<slug:token>/samples", shared.shared_samples, name="shared_samples"),
    path("shared/<slug:token>/samples/<int:position>", shared.shared_sample, name="shared_sample"),
    path("webhooks/stripe", webhooks.stripe, name="stripe_webhook"),
    path("admin/", admin.site.urls),
    path("openapi.json", openapi, name="openapi"),
    path(".well-known/openapi.json", openapi),
    path("", include("evalrouter_site.api.urls")),
    path("", include("workspaces.account_urls")),
    path("", include("workspaces.urls")),
    path("", include("billing.urls")),
    path("", include("imports.urls")),
    path("", include("catalog.urls")),
    path("", include("gateway.urls")),
    path("", include("runs.urls")),
    path("", include("evalrouter_site.onboarding.urls")),
]

handler400 = "evalrouter_site.problems.bad_request"
handler403 = "evalrouter_site.problems.permission_denied"
handler404 = "evalrouter_site.problems.not_found"
handler429 = "evalrouter_site.problems.too_many_requests"
handler500 = "evalrouter_site.problems.server_error"
