"""Settings pages, and the session's workspace. A change of state is a sub-resource that takes POST."""

from django.urls import path

from workspaces.views import account, api_keys, members, workspace

app_name = "workspaces"
urlpatterns = [
    path("workspace", account.current, name="current"),
    path("settings/account", account.account, name="account"),
    path("settings/account/density", account.density, name="density"),
    path("settings/account/workspaces", account.workspaces, name="workspaces"),
    path("settings/workspace", workspace.workspace, name="workspace"),
    path("settings/members", members.members, name="members"),
    path("settings/members/<uuid:user_id>/role", members.role, name="member_role"),
    path("settings/members/<uuid:user_id>/removal", members.removal, name="member_removal"),
    path("settings/api-keys", api_keys.api_keys, name="api_keys"),
    path("settings/api-keys/<uuid:key_id>", api_keys.api_key, name="api_key"),
    path("settings/api-keys/<uuid:key_id>/roll", api_keys.roll, name="api_key_roll"),
    path("settings/api-keys/<uuid:key_id>/revocation", api_keys.revocation, name="api_key_revocation"),
]
