"""Staff's view of connections and of every call. Nothing here is written by hand, and no secret is ever shown."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.decorators import display

from common.admin import LargeReadOnlyAdmin, ReadOnlyAdmin
from common.money import format_usd
from gateway.enums import ErrorCode
from gateway.models import Call, Connection


@admin.register(Connection)
class ConnectionAdmin(ReadOnlyAdmin):
    list_display = ["name", "workspace", "model", "endpoint", "shown_check", "has_key", "created_at", "deleted_at"]
    list_filter = ["protocol", ("checked_at", admin.EmptyFieldListFilter), ("deleted_at", admin.EmptyFieldListFilter)]
    list_select_related = ["workspace"]
    search_fields = ["name", "model", "endpoint", "public_id", "workspace__name"]
    exclude = ["secret"]
    readonly_fields = ["public_id", "has_key"]

    @display(description="Check", label={"answered": "success", "refused": "danger", "not checked": "warning"})
    def shown_check(self, connection: Connection) -> str:
        if connection.checked_at:
            return "answered"
        return "refused" if connection.check_error else "not checked"

    @display(description="Key", boolean=True)
    def has_key(self, connection: Connection) -> bool:
        return bool(connection.secret)


class ErrorFilter(admin.SimpleListFilter):
    """By error. All that there are, not those that occur: finding those would read the whole table."""

    title = "error"
    parameter_name = "error"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        return list(ErrorCode.choices)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Call]) -> QuerySet[Call]:
        return queryset.filter(error_code=self.value()) if self.value() else queryset


@admin.register(Call)
class CallAdmin(LargeReadOnlyAdmin):
    """The newest first, by their integer key, which is the order they were written in. What a call said is not shown here."""

    list_display = [
        "public_id",
        "workspace",
        "purpose",
        "outcome",
        "error_code",
        "served_model",
        "tries",
        "latency_ms",
        "shown_charge",
        "shown_absorbed",
        "created_at",
    ]
    list_filter = ["purpose", "outcome", ErrorFilter, "is_estimated"]
    list_select_related = ["workspace"]
    search_fields = ["source_id", "public_id"]
    search_help_text = "A sample's or a call's whole ID"
    ordering = ["-id"]
    readonly_fields = ["public_id", "shown_charge"]

    def get_search_results(self, request: HttpRequest, queryset: QuerySet[Call], search_term: str) -> tuple[QuerySet[Call], bool]:
        """Only whole IDs: a search by part of one would read every row."""
        from django.db.models import Q

        from common.ids import parse_uuid

        if not search_term.strip():
            return queryset, False
        found = parse_uuid(search_term.strip())
        return (queryset.filter(Q(source_id=found) | Q(public_id=found)) if found else queryset.none()), False

    @display(description="Charge", ordering="usage_microusd")
    def shown_charge(self, call: Call) -> str:
        return format_usd(call.charge_microusd)

    @display(description="Absorbed", ordering="absorbed_microusd")
    def shown_absorbed(self, call: Call) -> str:
        return format_usd(call.absorbed_microusd)
