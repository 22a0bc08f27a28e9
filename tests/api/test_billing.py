"""The wallet, its ledger, spending, purchases and limits over HTTP."""

from datetime import UTC, datetime

import pytest

from billing.actions import grant_credit
from billing.enums import DisputeStatus, PaymentKind, PaymentStatus, RefundStatus
from billing.limits import set_key_month, set_workspace_limit
from billing.models import Dispute, LedgerEntry, Payment, Refund, SpendAlert
from billing.months import this_month
from tests import factories
from tests.api.conftest import ApiClient, assert_stored, error_of, key_client
from tests.billing.spending import close, open_, spend
from tests.runs.charging import charge, free_run
from workspaces.actors import SYSTEM, Actor
from workspaces.enums import Scope
from workspaces.models import Workspace

PATHS = ("wallet", "entries", "usage", "payments", "limits", "alerts")
AT = datetime(2025, 11, 20, 12, tzinfo=UTC)


def test_wallet(api: ApiClient) -> None:
    assert_stored("wallet", api.get("/v1/billing/wallet").json())


def test_entries_newest_first(api: ApiClient, workspace: Workspace, other_workspace: Workspace) -> None:
    grant_credit(workspace, actor=SYSTEM, amount_microusd=-250_000, reason="Corrected")
    grant_credit(other_workspace, actor=SYSTEM, amount_microusd=1, reason="Theirs")
    assert_stored("entries", api.get("/v1/billing/entries").json())


def test_entries_are_found_by_kind_source_and_time(api: ApiClient, workspace: Workspace) -> None:
    charge(workspace, "run:a", "m", usage=5, fee=1, at=AT)
    charge(workspace, "run:b", "m", usage=7, fee=0, at=AT.replace(day=21))
    asked = {
        "kind=usage": ["-7", "-5"],
        "source=run:a": ["-1", "-5"],
        "kind=usage&source=run:a": ["-5"],
        "created_to=2025-11-21T12:00:00Z": ["-1", "-5"],
        "created_from=2025-11-21T12:00:00Z&created_to=2025-11-21T12:00:00.000001Z": ["-7"],
        "created_from=2025-11-20T13:00:00%2B01:00&kind=platform_fee": ["-1"],
    }
    found = {query: [entry["amount_microusd"] for entry in api.get(f"/v1/billing/entries?{query}").json()["data"]] for query in asked}
    assert found == asked


def test_pages_of_filtered_entries_follow_each_other(api: ApiClient, workspace: Workspace) -> None:
    for number in range(5):
        charge(workspace, f"run:{number}", "m", usage=number + 1, fee=1, at=AT)
    amounts, cursor = [], ""
    while True:
        page = api.get(f"/v1/billing/entries?kind=usage&limit=2{cursor}").json()
        amounts += [entry["amount_microusd"] for entry in page["data"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert amounts == ["-5", "-4", "-3", "-2", "-1"]


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("entries?kind=gift", "kind"),
        ("entries?created_from=yesterday", "created_from"),
        ("entries?created_to=2025-11-21", "created_to"),
        ("entries?who=me", "who"),
        ("usage?month=2025-13", "month"),
        ("usage?month=2025-1", "month"),
        ("usage?month=November", "month"),
        ("payments?status=paid", "status"),
        ("limits?month=2025-11", "month"),
    ],
)
def test_what_cannot_be_asked_is_422_and_names_the_field(api: ApiClient, path: str, field: str) -> None:
    response = api.get(f"/v1/billing/{path}")
    assert (response.status_code, list(error_of(response)["details"])) == (422, [field])


def test_usage_of_a_month(api: ApiClient, workspace: Workspace, actor: Actor) -> None:
    version = factories.make_version(factories.make_benchmark("sums-1", name="Sums"), tasks=2)
    run = free_run(workspace, actor, version.profile_id)
    charge(workspace, run.budget_source, "example/large", usage=1_000_001, fee=50_001, at=AT)
    charge(workspace, "job:1", "other", usage=99, fee=0, at=AT)
    document = api.get("/v1/billing/usage?month=2025-11").json()
    charged = [day for day in document["days"] if day["total_microusd"] != "0"]
    assert (len(document["days"]), charged[0]["day"], len(charged)) == (30, "2025-11-20", 1)
    assert document["total_microusd"] == str(-sum(entry.amount_microusd for entry in LedgerEntry.objects.filter(created_at=AT)))
    assert_stored("usage", {**document, "days": charged})


def test_usage_is_of_the_present_month_where_none_is_named(api: ApiClient, workspace: Workspace) -> None:
    charge(workspace, "job:1", "m", usage=99, fee=0, at=AT)
    document = api.get("/v1/billing/usage").json()
    assert (document["month"], document["total_microusd"], document["models"]) == (this_month(), "0", [])


def test_payments_with_refunds_and_disputes(api: ApiClient, workspace: Workspace, other_workspace: Workspace) -> None:
    amounts = {"credit_microusd": 25_000_000, "fee_microusd": 1_250_000}
    paid = Payment.objects.create(
        wallet=workspace.wallet, status=PaymentStatus.PAID, paid_at=AT, receipt_url="https://example.org/receipt", **amounts
    )
    Refund.objects.create(
        payment=paid,
        status=RefundStatus.DONE,
        amount_microusd=5_250_000,
        credit_microusd=5_000_000,
        taken_microusd=3_000_000,
        reason="For staff",
    )
    Dispute.objects.create(payment=paid, stripe_dispute_id="dp_none", status=DisputeStatus.OPEN, credit_microusd=20_000_000)
    failed = "The card was declined."
    Payment.objects.create(wallet=workspace.wallet, kind=PaymentKind.TOP_UP, status=PaymentStatus.FAILED, failure=failed, **amounts)
    Payment.objects.create(wallet=other_workspace.wallet, **amounts)
    assert_stored("payments", api.get("/v1/billing/payments").json())


def test_limits_of_workspace_and_keys(workspace: Workspace) -> None:
    key, _ = factories.make_key(workspace, label="CI", spend_ceiling_microusd=2_000)
    set_key_month(key, actor=SYSTEM, monthly_microusd=700)
    set_workspace_limit(workspace, actor=SYSTEM, monthly_microusd=100)
    factories.make_key(workspace, label="Has spent nothing")
    set_workspace_limit(workspace, actor=SYSTEM, monthly_microusd=1_000)
    budget = open_(workspace, key=str(key.lineage), cap=300)
    spend(budget, 120)
    close(budget)
    open_(workspace, key=str(key.lineage), cap=50)
    set_workspace_limit(workspace, actor=SYSTEM, monthly_microusd=100)
    document = key_client(workspace, Scope.BILLING_READ).get("/v1/billing/limits").json()
    assert document.pop("month") == this_month()
    assert_stored("limits", document)


def test_alerts_newest_first(api: ApiClient, workspace: Workspace, other_workspace: Workspace) -> None:
    amounts = {"used_microusd": 510_000, "limit_microusd": 1_000_000, "month": "2025-11", "reached_at": AT}
    for of, percent in ((workspace, 50), (workspace, 80), (other_workspace, 100)):
        SpendAlert.objects.create(workspace=of, percent=percent, **amounts)
    assert_stored("alerts", api.get("/v1/billing/alerts").json())


@pytest.mark.parametrize("path", PATHS)
def test_a_key_that_may_not_read_billing_learns_no_amount(workspace: Workspace, path: str) -> None:
    grant_credit(workspace, actor=SYSTEM, amount_microusd=7_041_704, reason="Zebra")
    others = [scope for scope in Scope if scope != Scope.BILLING_READ]
    response = key_client(workspace, *others).get(f"/v1/billing/{path}")
    assert (response.status_code, error_of(response)["code"]) == (403, "forbidden")
    assert not any(secret in response.content for secret in (b"7041704", b"17041704", b"Zebra", b"microusd"))
    assert key_client(workspace, Scope.BILLING_READ).get(f"/v1/billing/{path}").status_code == 200


@pytest.mark.parametrize("path", PATHS)
def test_nothing_here_is_changed_over_http(api: ApiClient, path: str) -> None:
    assert [api.ask(verb, f"/v1/billing/{path}").status_code for verb in ("POST", "PUT", "PATCH", "DELETE")] == [405] * 4
