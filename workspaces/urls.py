"""Settings pages, and the session's workspace."""

from django.urls import path

from workspaces import views

app_name = "workspaces"
urlpatterns = [
    path("workspace", views.current, name="current"),
    path("settings/account", views.account, name="account"),
    path("settings/workspace", views.workspace, name="workspace"),
    path("settings/members", views.members, name="members"),
    path("settings/api-keys", views.api_keys, name="api_keys"),
]
