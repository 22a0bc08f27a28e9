"""Staff's view of money. Rows are read only; the one thing staff does here is to grant credit, through the action that keeps its reason."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from unfold.decorators import action, display

from billing.actions import grant_credit
from billing.admin_story import story_of
from billing.checking import ledger_differences
from billing.forms import CreditForm
from billing.models import Allowance, BookCheck, Budget, Hold, LedgerEntry, SpendAlert, Wallet, WorkspaceLimit
from billing.payments import admin as _payments  # noqa: F401  (its lists)
from common.admin import LargeReadOnlyAdmin, ReadOnlyAdmin, usd_column
from common.errors import Refused
from common.forms import add_refusal
from common.money import format_usd
from workspaces.actors import actor_of_user


@admin.register(Wallet)
class WalletAdmin(ReadOnlyAdmin):
    list_display = ["workspace", "balance", "held", "available", "is_disputed"]
    list_filter = ["is_disputed"]
    list_select_related = ["workspace"]
    search_fields = ["workspace__name", "workspace__public_id"]
    ordering = ["-id"]
    fields = ["workspace"]
    change_form_after_template = "billing/admin_story.html"
    actions_list = ["check_books"]
    actions_detail = ["grant"]
    balance = usd_column("balance_microusd", "Balance")
    held = usd_column("held_microusd", "Held")
    available = usd_column("available_microusd", "Available")

    @action(description="Check the books", url_path="check", icon="fact_check", permissions=["view"])
    def check_books(self, request: HttpRequest) -> HttpResponse:
        """Add everything up, now. It reads every wallet, entry, hold, budget and allowance, so it is done only when asked for."""
        context = {
            **self.admin_site.each_context(request),
            "title": "Check of the books",
            "differences": ledger_differences(),
            "checked_at": timezone.now(),
            "opts": self.opts,
        }
        return render(request, "billing/admin_check.html", context)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The wallet's whole story."""
        wallet = self.get_object(request, unquote(object_id))
        allowed = wallet is not None and self.has_view_permission(request, wallet)
        story = {"story": story_of(wallet)} if wallet is not None and allowed else {}
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), **story})

    def has_grant_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        """Whoever may add ledger entries may grant credit."""
        return request.user.has_perm("billing.add_ledgerentry")

    @action(description="Grant credit", url_path="grant", permissions=["grant"])
    def grant(self, request: HttpRequest, object_id: int) -> HttpResponse:
        wallet = get_object_or_404(self.get_queryset(request), pk=object_id)
        form = CreditForm(request.POST or None)
        back = reverse("admin:billing_wallet_change", args=[wallet.pk])
        if request.method == "POST" and form.is_valid():
            try:
                entry = grant_credit(
                    wallet.workspace,
                    actor=actor_of_user(request.user),  # type: ignore[arg-type]
                    amount_microusd=form.cleaned_data["amount"],
                    reason=form.cleaned_data["reason"],
                )
            except Refused as refused:
                add_refusal(form, refused.message)
            else:
                messages.success(request, f"{format_usd(entry.amount_microusd)} granted to {wallet.workspace}.")
                return HttpResponseRedirect(back)
        context = {
            **self.admin_site.each_context(request),
            "title": f"Grant credit to {wallet.workspace}",
            "form": form,
            "back": back,
            "opts": self.opts,
        }
        return render(request, "billing/admin_grant.html", context, status=422 if form.errors else 200)


@admin.register(LedgerEntry)
class LedgerEntryAdmin(LargeReadOnlyAdmin):
    list_display = ["created_at", "wallet_of", "kind", "amount", "balance_after", "source", "note", "actor_label"]
    list_filter = ["kind"]
    list_select_related = ["wallet__workspace"]
    search_fields = ["source", "note", "wallet__workspace__name", "public_id"]
    ordering = ["-id"]
    readonly_fields = ["public_id"]
    amount = usd_column("amount_microusd", "Amount")
    balance_after = usd_column("balance_after_microusd", "Balance after")

    @display(description="Workspace")
    def wallet_of(self, entry: LedgerEntry) -> str:
        return entry.wallet.workspace.name


@admin.register(Hold)
class HoldAdmin(LargeReadOnlyAdmin):
    list_display = ["created_at", "wallet", "amount", "source", "released_at"]
    list_filter = [("released_at", admin.EmptyFieldListFilter)]
    list_select_related = ["wallet"]
    search_fields = ["source"]
    ordering = ["-id"]
    amount = usd_column("amount_microusd", "Amount")


@admin.register(Budget)
class BudgetAdmin(LargeReadOnlyAdmin):
    list_display = ["source", "cap", "bound", "bound_by", "reserved", "settled", "closed_at"]
    list_filter = ["bound_by", ("closed_at", admin.EmptyFieldListFilter)]
    search_fields = ["source"]
    ordering = ["-id"]
    cap = usd_column("cap_microusd", "Cap")
    bound = usd_column("bound_microusd", "Bound")
    reserved = usd_column("reserved_microusd", "Reserved")
    settled = usd_column("settled_microusd", "Settled")


@admin.register(Allowance)
class AllowanceAdmin(LargeReadOnlyAdmin):
    list_display = ["workspace", "kind", "subject", "ceiling", "reserved", "spent"]
    list_filter = ["kind"]
    list_select_related = ["workspace"]
    search_fields = ["subject", "workspace__name"]
    ordering = ["-id"]
    ceiling = usd_column("ceiling_microusd", "Ceiling")
    reserved = usd_column("reserved_microusd", "Reserved")
    spent = usd_column("spent_microusd", "Spent")


@admin.register(WorkspaceLimit)
class WorkspaceLimitAdmin(ReadOnlyAdmin):
    list_display = ["workspace", "monthly"]
    list_select_related = ["workspace"]
    search_fields = ["workspace__name"]
    monthly = usd_column("monthly_microusd", "At most a month")


@admin.register(SpendAlert)
class SpendAlertAdmin(ReadOnlyAdmin):
    list_display = ["reached_at", "workspace", "month", "share", "used", "limit", "mailed_at"]
    list_filter = ["percent"]
    list_select_related = ["workspace"]
    search_fields = ["workspace__name", "month"]
    ordering = ["-id"]
    used = usd_column("used_microusd", "Used")
    limit = usd_column("limit_microusd", "Limit")

    @display(description="Share", ordering="percent")
    def share(self, alert: SpendAlert) -> str:
        return f"{alert.percent}%"


@admin.register(BookCheck)
class BookCheckAdmin(ReadOnlyAdmin):
    list_display = ["day", "started_at", "ended_at", "found"]
    ordering = ["-day"]
