"""The admin's side bar: every list, by what staff is about to do, for those who may see it."""

from typing import Any

from django.apps import apps
from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse

GROUPS = (
    (
        "Catalog",
        (
            ("Benchmarks", "menu_book", "catalog.Benchmark"),
            ("Versions", "verified", "catalog.BenchmarkVersion"),
            ("Tasks", "list", "catalog.Task"),
            ("Data files", "draft", "catalog.DataFile"),
        ),
    ),
    (
        "Models",
        (
            ("Routes", "route", "catalog.ModelRoute"),
            ("Prices", "sell", "catalog.RouteRate"),
            ("Providers", "factory", "catalog.Provider"),
            ("Connections", "power", "gateway.Connection"),
            ("Calls", "swap_vert", "gateway.Call"),
        ),
    ),
    (
        "Runs",
        (
            ("Runs", "play_circle", "runs.Run"),
            ("Quotes", "request_quote", "runs.Quote"),
            ("Models in runs", "groups", "runs.Subject"),
            ("Shards", "splitscreen", "runs.Shard"),
            ("Samples", "checklist", "runs.Sample"),
            ("Events", "bolt", "runs.Event"),
            ("Results", "bar_chart", "runs.ResultVersion"),
            ("Published results", "leaderboard", "runs.Publication"),
            ("Links to results", "link", "runs.Share"),
        ),
    ),
    (
        "Money",
        (
            ("Wallets", "account_balance_wallet", "billing.Wallet"),
            ("Ledger", "receipt_long", "billing.LedgerEntry"),
            ("Payments", "credit_card", "billing.Payment"),
            ("Refunds", "undo", "billing.Refund"),
            ("Disputes", "gavel", "billing.Dispute"),
            ("Top-ups", "autorenew", "billing.TopUp"),
            ("Stripe's events", "webhook", "billing.StripeEvent"),
            ("Holds", "lock", "billing.Hold"),
            ("Budgets", "savings", "billing.Budget"),
            ("Allowances", "speed", "billing.Allowance"),
            ("Monthly limits", "event_repeat", "billing.WorkspaceLimit"),
            ("Budget alerts", "notifications", "billing.SpendAlert"),
            ("Checks of the books", "fact_check", "billing.BookCheck"),
        ),
    ),
    (
        "People",
        (
            ("People", "person", "workspaces.User"),
            ("Addresses", "alternate_email", "account.EmailAddress"),
            ("Workspaces", "apartment", "workspaces.Workspace"),
            ("Memberships", "badge", "workspaces.Membership"),
            ("API keys", "key", "workspaces.ApiKey"),
            ("Staff groups", "admin_panel_settings", "auth.Group"),
        ),
    ),
    ("Audit", (("Record of changes", "history", "workspaces.AuditEntry"),)),
)
"""Title, icon and model of each list, by group."""


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    """The groups that hold something the member of staff may see."""
    start = {"title": "What waits", "icon": "inbox", "link": reverse("admin:index")}
    groups = [{"title": title, "separator": True, "items": items} for title, lists in GROUPS if (items := _allowed(request, lists))]
    return [{"items": [start]}, *groups]


def _allowed(request: HttpRequest, lists: tuple[tuple[str, str, str], ...]) -> list[dict[str, str]]:
    items = []
    for title, icon, name in lists:
        model = apps.get_model(name)
        if admin.site.get_model_admin(model).has_view_or_change_permission(request):
            link = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
            items.append({"title": title, "icon": icon, "link": link})
    return items
