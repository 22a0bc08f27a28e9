"""Staff's pages of money: read only, but for granting credit with a reason."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from billing.models import LedgerEntry, Wallet
from tests.factories import make_user
from workspaces.models import AuditEntry, User, Workspace

SignIn = Callable[[User], Client]


@pytest.fixture
def path(workspace: Workspace) -> str:
    return f"/admin/billing/wallet/{Wallet.objects.get(workspace=workspace).pk}/grant/"


def test_staff_grants_credit_with_a_reason(workspace: Workspace, staff: User, path: str, sign_in: SignIn) -> None:
    client = sign_in(staff)
    assert client.get(path).status_code == 200
    response = client.post(path, {"amount": "12.5", "reason": "For the trial"})
    assert (response.status_code, response["Location"]) == (302, path.replace("grant", "change"))
    entry = LedgerEntry.objects.latest("id")
    assert (entry.wallet.workspace, entry.amount_microusd, entry.note, entry.actor_label) == (
        workspace,
        12_500_000,
        "For the trial",
        staff.email,
    )
    assert AuditEntry.objects.get().action == "billing.grant_credit"


@pytest.mark.parametrize(
    ("fields", "field"),
    [({"amount": "0", "reason": "x"}, "amount"), ({"amount": "much", "reason": "x"}, "amount"), ({"amount": "1"}, "reason")],
)
def test_unfit_grant_is_422_at_its_field(staff: User, path: str, sign_in: SignIn, fields: dict[str, str], field: str) -> None:
    response = sign_in(staff).post(path, fields)
    assert (response.status_code, list(response.context["form"].errors)) == (422, [field])
    assert LedgerEntry.objects.count() == 1


def test_correction_that_running_work_holds_is_refused(workspace: Workspace, staff: User, path: str, sign_in: SignIn) -> None:
    Wallet.objects.filter(workspace=workspace).update(held_microusd=9_000_000)
    response = sign_in(staff).post(path, {"amount": "-2", "reason": "A mistake"})
    assert response.status_code == 422
    assert response.context["form"].non_field_errors() == ["Running work holds the credit that this would take; wait for it, or take less."]
    assert Wallet.objects.get(workspace=workspace).balance_microusd == 10_000_000


def test_staff_without_the_permission_grants_nothing(path: str, db: None, sign_in: SignIn) -> None:
    reader = make_user(is_staff=True)
    reader.user_permissions.add(Permission.objects.get(codename="view_wallet"))
    client = sign_in(reader)
    assert client.get("/admin/billing/wallet/").status_code == 200
    assert client.post(path, {"amount": "1", "reason": "x"}).status_code == 403
    assert LedgerEntry.objects.count() == 1


def test_owner_of_a_workspace_is_no_staff(owner: User, path: str, sign_in: SignIn) -> None:
    response = sign_in(owner).post(path, {"amount": "1", "reason": "x"})
    assert (response.status_code, LedgerEntry.objects.count()) == (302, 1)


def test_rows_of_money_are_read_only(workspace: Workspace, staff: User, sign_in: SignIn) -> None:
    client = sign_in(staff)
    entry = LedgerEntry.objects.get()
    for page in ("wallet", "ledgerentry", "hold", "budget", "allowance", "workspacelimit"):
        assert client.get(f"/admin/billing/{page}/").status_code == 200
        assert client.get(f"/admin/billing/{page}/add/").status_code == 403
    assert client.get(f"/admin/billing/ledgerentry/{entry.pk}/change/").status_code == 200
    assert client.post(f"/admin/billing/ledgerentry/{entry.pk}/change/", {"amount_microusd": "1"}).status_code == 403
    assert client.post(f"/admin/billing/ledgerentry/{entry.pk}/delete/", {"post": "yes"}).status_code == 403
