"""What admin pages share: lists that never count a large table, and rows that nobody edits by hand."""

from typing import Any

from django.contrib.admin import ModelAdmin as BaseModelAdmin
from django.contrib.admin.options import ActionLocation
from django.http import HttpRequest
from unfold.admin import ModelAdmin, TabularInline
from unfold.decorators import display
from unfold.paginator import InfinitePaginator

from common.money import format_usd


def usd_column(field: str, description: str) -> object:
    """A column that shows an amount in USD and sorts by it."""

    @display(description=description, ordering=field)
    def column(_admin: object, row: object) -> str:
        amount = getattr(row, field)
        return "—" if amount is None else format_usd(amount)

    return column


class PlainAdmin(ModelAdmin):  # type: ignore[misc]
    """Fifty rows a page, the newest first where a model says so, and no second count of the whole table."""

    list_per_page = 50
    show_full_result_count = False

    def get_action_choices(
        self,
        request: HttpRequest,
        default_choices: list[tuple[str, str]] | None = None,
        action_location: ActionLocation = ActionLocation.CHANGE_LIST,
    ) -> list[tuple[str, str]]:
        """Unfold's own form of it has the older signature, which Django warns of."""
        blank = default_choices or [("", "Select action")]
        return BaseModelAdmin.get_action_choices(self, request, blank, action_location)  # type: ignore[no-any-return]


class ReadOnlyAdmin(PlainAdmin):
    """For rows that only actions and the engine write."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class LargeReadOnlyAdmin(ReadOnlyAdmin):
    """For tables of millions of rows: pages without a count."""

    paginator = InfinitePaginator


class ReadOnlyInline(TabularInline):  # type: ignore[misc]
    extra = 0
    can_delete = False
    show_change_link = True

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
