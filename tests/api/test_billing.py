"""The wallet and its ledger over HTTP."""

from billing.actions import grant_credit
from tests.api.conftest import ApiClient, assert_stored
from workspaces.actors import SYSTEM
from workspaces.models import Workspace


def test_wallet(api: ApiClient) -> None:
    assert_stored("wallet", api.get("/v1/billing/wallet").json())


def test_entries_newest_first(api: ApiClient, workspace: Workspace, other_workspace: Workspace) -> None:
    grant_credit(workspace, actor=SYSTEM, amount_microusd=-250_000, reason="Corrected")
    grant_credit(other_workspace, actor=SYSTEM, amount_microusd=1, reason="Theirs")
    assert_stored("entries", api.get("/v1/billing/entries").json())
