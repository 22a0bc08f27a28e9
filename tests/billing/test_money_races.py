"""Money at once, on PostgreSQL: each with a control that shows the race without the lock."""

import importlib
from collections.abc import Callable
from contextlib import suppress
from threading import Barrier, BrokenBarrierError
from typing import Any

import pytest
from django.core import mail
from django.db import connection, transaction
from django.db.models import QuerySet, Sum
from pytest_django import Settings

from billing import ledger
from billing.actions import grant_credit, grant_welcome_credit
from billing.alerts import watch_spend
from billing.checking import ledger_differences
from billing.limits import set_key_ceiling
from billing.models import Allowance, Budget, Hold, LedgerEntry, SpendAlert, Wallet
from tests.billing.spending import batch, close, limit_month, open_, spend, wallet_of
from tests.factories import make_key, make_user, make_workspace
from tests.races import at_once
from workspaces.actors import SYSTEM
from workspaces.enums import Role
from workspaces.models import Workspace

pytestmark = [pytest.mark.services, pytest.mark.xdist_group("services"), pytest.mark.django_db(transaction=True)]
THREADS = 8


@pytest.fixture(params=[True, False], ids=["locked", "control"])
def locked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether `select_for_update` locks. In the control it does not, and nobody writes before all have read."""
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer at a time: nothing can race")
    if not request.param:
        monkeypatch.setattr(QuerySet, "select_for_update", lambda self, *_, **__: self)
    return bool(request.param)


@pytest.fixture
def meet(locked: bool, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Lets threads meet when each has read, before any writes. With the lock they cannot, and the first goes on after a moment."""

    def meet_after(count: int, *functions: str) -> None:
        barrier = Barrier(count)

        def meeting(real: Callable[..., Any]) -> Callable[..., Any]:
            def met(*args: Any, **kwargs: Any) -> Any:
                result = real(*args, **kwargs)
                with suppress(BrokenBarrierError):
                    barrier.wait(0.1 if locked else 20)
                return result

            return met

        for name in functions:
            module, _, attribute = name.rpartition(".")
            monkeypatch.setattr(name, meeting(getattr(importlib.import_module(module), attribute)))

    return meet_after


@pytest.fixture
def workspace(db: None) -> Workspace:
    """With 1,000 micro-USD, and this month's row already there: making it would put starts in a row."""
    workspace = make_workspace("Ours", credit=1_000)
    close(open_(workspace, cap=10))
    return workspace


def held_by_all(workspace: Workspace) -> int:
    return Hold.objects.filter(wallet__workspace=workspace, released_at=None).aggregate(total=Sum("amount_microusd"))["total"] or 0


def test_eight_starts_on_one_wallet_hold_no_more_than_there_is(locked: bool, meet: Callable[..., None], workspace: Workspace) -> None:
    meet(THREADS, "billing.budgets.lock_wallet")
    results = at_once(THREADS, lambda number: open_(workspace, source=f"run:{number}", cap=300))

    refused = results.count("insufficient_credit")
    if locked:
        assert (refused, held_by_all(workspace), wallet_of(workspace).held_microusd) == (THREADS - 3, 900, 900)
        assert ledger_differences() == []
    else:
        assert (refused, held_by_all(workspace), wallet_of(workspace).held_microusd) == (0, 2_400, 300)
        assert {difference.what.partition(" of ")[0] for difference in ledger_differences()} >= {"held"}


def test_eight_holds_that_grow_at_once_take_no_more_than_there_is(locked: bool, meet: Callable[..., None], workspace: Workspace) -> None:
    opened = [open_(workspace, source=f"run:{number}", ceiling=5_000) for number in range(THREADS)]
    meet(THREADS, "billing.budgets.lock_wallet")
    granted = at_once(THREADS, lambda number: batch(opened[number], (240, 240)))

    reserved = Budget.objects.aggregate(total=Sum("reserved_microusd"))["total"]
    if locked:
        assert (granted.count([240]), reserved, wallet_of(workspace).held_microusd) == (4, 960, 960)
        assert ledger_differences() == []
    else:
        assert (granted.count([240]), reserved, wallet_of(workspace).held_microusd) == (THREADS, 240 * THREADS, 240)


def test_keys_starts_at_once_stay_within_its_ceiling(locked: bool, meet: Callable[..., None], workspace: Workspace) -> None:
    key, _ = make_key(workspace, spend_ceiling_microusd=250)
    close(open_(workspace, cap=10, key=str(key.lineage)))  # so that the month's row is there, too
    meet(THREADS, "billing.budgets.lock_wallet")
    results = at_once(THREADS, lambda number: open_(workspace, source=f"run:{number}", cap=100, key=str(key.lineage)))

    allowance = Allowance.objects.get(subject=str(key.lineage))
    if locked:
        assert (results.count("key_ceiling_reached"), held_by_all(workspace), allowance.reserved_microusd) == (THREADS - 2, 200, 200)
    else:
        assert (results.count("key_ceiling_reached"), held_by_all(workspace), allowance.reserved_microusd) == (0, 800, 100)


def test_months_starts_at_once_stay_within_its_budget(locked: bool, meet: Callable[..., None], workspace: Workspace) -> None:
    limit_month(workspace, 250)
    meet(THREADS, "billing.budgets.lock_wallet")
    results = at_once(THREADS, lambda number: open_(workspace, source=f"run:{number}", cap=100))

    assert (results.count("workspace_budget_reached"), held_by_all(workspace)) == ((THREADS - 2, 200) if locked else (0, 800))


def test_budget_closed_eight_times_at_once_is_charged_once(locked: bool, meet: Callable[..., None], workspace: Workspace) -> None:
    budget = open_(workspace, source="run:0", cap=500)
    spend(budget, 100)
    meet(THREADS, "billing.budgets.lock_budget")
    results = at_once(THREADS, lambda _: close(budget, (95, 5)))

    assert LedgerEntry.objects.filter(source="run:0").count() == 2
    assert (wallet_of(workspace).balance_microusd, wallet_of(workspace).held_microusd) == (900, 0)
    # Without the lock the keys of the entries still hold, and all but one end in an error.
    assert results.count("IntegrityError") == (0 if locked else THREADS - 1)


def test_grants_and_a_charge_at_once_lose_nothing(locked: bool, meet: Callable[..., None], workspace: Workspace) -> None:
    budget = open_(workspace, source="run:0", cap=100)
    spend(budget, 60)
    meet(THREADS, "billing.budgets.lock_wallet", "billing.actions.lock_wallet")
    at_once(
        THREADS,
        lambda number: close(budget) if number == 0 else grant_credit(workspace, actor=SYSTEM, amount_microusd=50, reason=f"{number}"),
    )
    assert LedgerEntry.objects.filter(wallet__workspace=workspace).count() == 2 + 7
    balance = wallet_of(workspace).balance_microusd
    if locked:
        assert (balance, ledger_differences()) == (1_000 - 60 + 7 * 50, [])
    else:
        assert balance in {1_050, 940}  # the last to write had read what was there before all the others


def test_correction_and_start_at_once_do_not_take_the_same_credit(locked: bool, meet: Callable[..., None], workspace: Workspace) -> None:
    """Without the lock the database's own check refuses the one that comes second, as an error instead of a refusal."""
    meet(2, "billing.budgets.lock_wallet", "billing.actions.lock_wallet")
    results = at_once(
        2,
        lambda number: (
            open_(workspace, source="run:0", cap=700)
            if number
            else grant_credit(workspace, actor=SYSTEM, amount_microusd=-700, reason="A mistake")
        ),
    )
    refused = [result for result in results if isinstance(result, str)]
    wallet = wallet_of(workspace)
    assert 0 <= wallet.held_microusd <= wallet.balance_microusd
    assert len(refused) == 1
    assert refused[0] in ({"insufficient_credit", "balance_held"} if locked else {"IntegrityError"})


def test_ceiling_lowered_while_work_starts_is_not_below_what_it_took(locked: bool, meet: Callable[..., None], workspace: Workspace) -> None:
    """Without the lock the database's own check refuses the one that comes second, as an error instead of a refusal."""
    key, _ = make_key(workspace, spend_ceiling_microusd=500)
    meet(2, "billing.limits._check_own_ceiling", "billing.budgets._allowances")
    results = at_once(
        2,
        lambda number: (
            open_(workspace, source="run:0", cap=400, key=str(key.lineage))
            if number
            else set_key_ceiling(key, actor=SYSTEM, ceiling_microusd=300)
        ),
    )
    refused = [result for result in results if isinstance(result, str)]
    allowance = Allowance.objects.get(subject=str(key.lineage))
    assert allowance.ceiling_microusd is not None
    assert allowance.reserved_microusd <= allowance.ceiling_microusd
    if locked:
        assert refused in (["ceiling_below_spend"], ["key_ceiling_reached"])
    else:
        # The start also writes the ceiling it has read: the lower one is lost, or the database refuses.
        assert refused == ["IntegrityError"] or (refused, allowance.ceiling_microusd) == ([], 500)


@pytest.mark.parametrize("turn", range(3))
def test_two_workspaces_of_one_person_made_at_once_are_welcomed_once(turn: int, settings: Settings) -> None:
    """No lock is shared here: the unique key of the entry decides, and the one that comes second waits for it."""
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer at a time: nothing can race")
    settings.WELCOME_CREDIT_MICROUSD = 5_000_000
    user = make_user()
    workspaces = [make_workspace() for _ in range(THREADS)]
    results = at_once(THREADS, lambda number: grant_welcome_credit(workspaces[number], user=user))

    assert sum(isinstance(result, LedgerEntry) for result in results) == 1
    assert results.count(None) == THREADS - 1
    assert Wallet.objects.aggregate(total=Sum("balance_microusd"))["total"] == 5_000_000
    assert ledger_differences() == []


def test_eight_sweeps_at_once_tell_of_a_share_once(locked: bool, meet: Callable[..., None], workspace: Workspace) -> None:
    limit_month(workspace, 20)
    make_user("owner@example.org", workspace=workspace, role=Role.OWNER)
    budget = open_(workspace, cap=10)
    spend(budget, 10)
    close(budget)
    meet(THREADS, "billing.alerts._lock")
    results = at_once(THREADS, lambda _: watch_spend())

    assert list(SpendAlert.objects.values_list("percent", "used_microusd")) == [(50, 10)]
    if locked:
        assert (sum(results), len(mail.outbox)) == (1, 1)
    else:
        assert sum(results) == len(mail.outbox) > 1


def test_books_are_checked_while_work_goes_on(workspace: Workspace) -> None:
    """Between one read and the next others commit: without one snapshot the check would see half of what they did."""
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer at a time: nothing can race")
    grant_credit(workspace, actor=SYSTEM, amount_microusd=10_000_000, reason="enough")

    def work(number: int) -> object:
        if number == 0:
            return [difference for _ in range(20) for difference in ledger_differences()]
        for turn in range(15):
            budget = open_(workspace, source=f"run:{number}:{turn}", cap=100)
            spend(budget, 10)
            close(budget)
        return None

    assert at_once(4, work) == [[], None, None, None]


def test_lock_is_only_held_inside_a_transaction(workspace: Workspace) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no row locks")
    with pytest.raises(transaction.TransactionManagementError):
        ledger.lock_wallet(wallet_of(workspace).pk)
