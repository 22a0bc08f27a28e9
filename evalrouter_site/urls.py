"""The URL table."""

from django.contrib import admin
from django.urls import include, path

from evalrouter_site import views

urlpatterns = [
    path("healthz", views.healthz, name="healthz"),
    path("admin/", admin.site.urls),
    path("", include("workspaces.account_urls")),
    path("", include("workspaces.urls")),
    path("", include("billing.urls")),
]

handler400 = "evalrouter_site.problems.bad_request"
handler403 = "evalrouter_site.problems.permission_denied"
handler404 = "evalrouter_site.problems.not_found"
handler500 = "evalrouter_site.problems.server_error"
