"""Staff's view of people, workspaces, keys and changes. Only a person's standing is changed here, and Django keeps that record."""

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group
from django.http import HttpRequest
from unfold.decorators import display
from unfold.forms import AdminPasswordChangeForm, UserChangeForm

from common.admin import LargeReadOnlyAdmin, PlainAdmin, ReadOnlyAdmin, ReadOnlyInline
from workspaces.models import ApiKey, AuditEntry, Membership, User, Workspace

admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]
"""Staff sign in where everyone does: with rate limits and a verified address."""

admin.site.unregister(Group)


@admin.register(Group)
class GroupAdmin(PlainAdmin):
    search_fields = ["name"]
    filter_horizontal = ["permissions"]


class MembershipInline(ReadOnlyInline):
    model = Membership
    fields = ["workspace", "user", "role", "created_at"]
    verbose_name_plural = "memberships"


@admin.register(User)
class UserAdmin(DjangoUserAdmin, PlainAdmin):  # type: ignore[misc,type-arg]
    """People sign up by themselves or through `create_account`, so none is added here; none is deleted, since work keeps its name."""

    form = UserChangeForm
    change_password_form = AdminPasswordChangeForm
    list_display = ["email", "name", "is_active", "is_staff", "date_joined", "last_login"]
    list_filter = ["is_active", "is_staff", "is_superuser"]
    search_fields = ["email", "name", "public_id"]
    ordering = ["-id"]
    readonly_fields = ["public_id", "email", "date_joined", "last_login"]
    fieldsets = [
        (None, {"fields": ["email", "name", "public_id", "password"]}),
        ("Standing", {"fields": ["is_active", "is_staff", "is_superuser", "groups", "user_permissions"]}),
        ("Times", {"fields": ["date_joined", "last_login"]}),
    ]
    inlines = [MembershipInline]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


@admin.register(Workspace)
class WorkspaceAdmin(ReadOnlyAdmin):
    list_display = ["name", "created_by", "created_at", "public_id"]
    list_select_related = ["created_by"]
    search_fields = ["name", "public_id", "created_by__email"]
    ordering = ["-id"]
    readonly_fields = ["public_id"]
    inlines = [MembershipInline]


@admin.register(Membership)
class MembershipAdmin(ReadOnlyAdmin):
    list_display = ["user", "workspace", "role", "created_at"]
    list_filter = ["role"]
    list_select_related = ["user", "workspace"]
    search_fields = ["user__email", "workspace__name"]
    ordering = ["-id"]


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnlyAdmin):
    """Keys by their prefix; the hash of the secret is not shown."""

    list_display = ["label", "prefix", "workspace", "shown_scopes", "created_by", "created_at", "last_used_at", "expires_at", "revoked_at"]
    list_filter = [("revoked_at", admin.EmptyFieldListFilter)]
    list_select_related = ["workspace", "created_by"]
    search_fields = ["label", "prefix", "public_id", "workspace__name"]
    exclude = ["secret_sha256"]
    readonly_fields = ["public_id"]

    @display(description="Scopes")
    def shown_scopes(self, key: ApiKey) -> str:
        return ", ".join(key.scopes)


@admin.register(AuditEntry)
class AuditEntryAdmin(LargeReadOnlyAdmin):
    list_display = ["created_at", "action", "target", "actor_label", "workspace"]
    list_filter = ["actor_kind", "action"]
    list_select_related = ["workspace"]
    search_fields = ["action", "target", "actor_label", "workspace__name"]
    ordering = ["-id"]
