"""Staff's view of people, workspaces, keys and changes. Only a person's standing is changed here, and Django keeps that record."""

from datetime import timedelta

from allauth.account.decorators import secure_admin_login
from allauth.account.models import EmailAddress
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from unfold.decorators import display
from unfold.forms import AdminPasswordChangeForm, UserChangeForm

from common.admin import LargeReadOnlyAdmin, PlainAdmin, ReadOnlyAdmin, ReadOnlyInline
from workspaces.models import ApiKey, AuditEntry, Membership, User, Workspace

admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]
"""Staff sign in where everyone does: with rate limits and a verified address."""

admin.site.unregister(Group)
admin.site.unregister(EmailAddress)


@admin.register(Group)
class GroupAdmin(PlainAdmin):
    search_fields = ["name"]
    filter_horizontal = ["permissions"]


@admin.register(EmailAddress)
class EmailAddressAdmin(ReadOnlyAdmin):
    """Who has shown that an address is theirs. People confirm addresses themselves, so nobody does it for them here."""

    list_display = ["email", "user", "verified", "primary"]
    list_filter = ["verified", "primary"]
    list_select_related = ["user"]
    search_fields = ["email", "user__name"]
    ordering = ["-id"]


class JoinedFilter(admin.SimpleListFilter):
    title = "joined"
    parameter_name = "joined"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        return [("day", "Within a day"), ("week", "Within a week")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[User]) -> QuerySet[User]:
        days = {"day": 1, "week": 7}.get(self.value() or "")
        return queryset.filter(date_joined__gte=timezone.now() - timedelta(days=days)) if days else queryset


class MembershipInline(ReadOnlyInline):
    model = Membership
    fields = ["workspace", "user", "role", "created_at"]
    verbose_name_plural = "memberships"


@admin.register(User)
class UserAdmin(DjangoUserAdmin, PlainAdmin):  # type: ignore[misc,type-arg]
    """People sign up by themselves or through `create_account`, so none is added here; none is deleted, since work keeps its name."""

    form = UserChangeForm
    change_password_form = AdminPasswordChangeForm
    list_display = ["email", "name", "is_confirmed", "is_active", "is_staff", "date_joined", "last_login"]
    list_filter = [JoinedFilter, "is_active", "is_staff", "is_superuser"]
    search_fields = ["email", "name", "public_id"]
    ordering = ["-id"]
    readonly_fields = ["public_id", "email", "date_joined", "last_login", "onboarding_closed_at"]
    fieldsets = [
        (None, {"fields": ["email", "name", "public_id", "password"]}),
        ("Standing", {"fields": ["is_active", "is_staff", "is_superuser", "groups", "user_permissions"]}),
        ("Times", {"fields": ["date_joined", "last_login", "onboarding_closed_at"]}),
    ]
    inlines = [MembershipInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        confirmed = EmailAddress.objects.filter(user=OuterRef("pk"), verified=True)
        return super().get_queryset(request).annotate(has_confirmed=Exists(confirmed))  # type: ignore[no-any-return]

    @display(description="Address confirmed", boolean=True, ordering="has_confirmed")
    def is_confirmed(self, user: User) -> bool:
        return user.has_confirmed  # type: ignore[attr-defined,no-any-return]

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
