"""Opening budgets, spending from them in slices, and closing them. The workspace has 1,000 micro-USD unless said otherwise."""

from datetime import UTC, datetime

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from billing import budgets
from billing.actions import grant_credit
from billing.checking import ledger_differences
from billing.enums import AllowanceKind, Bound
from billing.limits import set_key_ceiling, set_workspace_limit
from billing.models import Allowance, Budget, Hold, LedgerEntry, Wallet
from billing.queries import allowance_of_key, entries_of_source, wallet_figures
from common.errors import PaymentRequired
from tests.billing.spending import batch, close, limit_month, open_, spend, wallet_of
from tests.factories import make_key, make_workspace
from workspaces.actors import SYSTEM
from workspaces.models import ApiKey, Workspace


@pytest.fixture
def workspace(db: None) -> Workspace:
    return make_workspace("Ours", credit=1_000)


@pytest.fixture
def key(workspace: Workspace) -> ApiKey:
    return make_key(workspace)[0]


def month_of(workspace: Workspace, subject: str | None = None) -> Allowance:
    return Allowance.objects.get(workspace=workspace, kind=AllowanceKind.WORKSPACE_BUDGET, subject=subject or f"{timezone.now():%Y-%m}")


# Opening


@pytest.mark.parametrize(
    ("cap", "ceiling", "bound", "bound_by"),
    [(300, 900, 300, Bound.CAP), (900, 300, 300, Bound.CEILING), (300, 300, 300, Bound.CAP), (1_000, 5_000, 1_000, Bound.CAP)],
)
def test_cap_holds_the_less_of_cap_and_ceiling_at_once(workspace: Workspace, cap: int, ceiling: int, bound: int, bound_by: Bound) -> None:
    budget = open_(workspace, cap=cap, ceiling=ceiling)
    assert budget.hold is not None
    assert (budget.bound_microusd, budget.bound_by, budget.hold.amount_microusd) == (bound, bound_by, bound)
    wallet = wallet_of(workspace)
    assert (wallet.balance_microusd, wallet.held_microusd, wallet.available_microusd) == (1_000, bound, 1_000 - bound)
    assert month_of(workspace).reserved_microusd == bound
    assert ledger_differences() == []


@pytest.mark.parametrize(
    ("ceiling", "bound", "bound_by"), [(900, 900, Bound.CEILING), (1_000, 1_000, Bound.CEILING), (5_000, 1_000, Bound.CREDIT)]
)
def test_without_a_cap_the_credit_there_is_bounds_and_nothing_is_held_yet(
    workspace: Workspace, ceiling: int, bound: int, bound_by: Bound
) -> None:
    budget = open_(workspace, ceiling=ceiling)
    assert (budget.bound_microusd, budget.bound_by) == (bound, bound_by)
    assert wallet_of(workspace).held_microusd == 0
    assert ledger_differences() == []


def test_ceiling_of_zero_needs_no_credit_and_holds_nothing(db: None) -> None:
    poor = make_workspace()
    limit_month(poor, 0)
    budget = open_(poor, ceiling=0, minimum=0, cap=500)
    assert (budget.bound_microusd, budget.hold, batch(budget, (0, 0), (5, 5))) == (0, None, [0, 0])
    close(budget, (0, 0))
    assert LedgerEntry.objects.filter(wallet__workspace=poor).count() == 0
    assert ledger_differences() == []


def test_cap_above_the_credit_is_refused_and_leaves_nothing(workspace: Workspace) -> None:
    with pytest.raises(PaymentRequired) as refused:
        open_(workspace, cap=1_001, ceiling=5_000)
    assert (refused.value.status, refused.value.code) == (402, "insufficient_credit")
    assert refused.value.details == {"needed_microusd": "1001", "left_microusd": "1000"}
    assert "$0.001001 is needed and $0.001 is left" in refused.value.message
    assert (Budget.objects.count(), Hold.objects.count(), wallet_of(workspace).held_microusd) == (0, 0, 0)


def test_without_a_cap_the_least_attempt_must_be_covered(workspace: Workspace) -> None:
    with pytest.raises(PaymentRequired) as refused:
        open_(workspace, ceiling=5_000, minimum=1_001)
    assert (refused.value.code, refused.value.details["needed_microusd"]) == ("insufficient_credit", "1001")
    open_(workspace, ceiling=5_000, minimum=1_000)


def test_what_others_hold_is_not_available(workspace: Workspace) -> None:
    open_(workspace, cap=700)
    with pytest.raises(PaymentRequired) as refused:
        open_(workspace, cap=301)
    assert refused.value.details["left_microusd"] == "300"
    open_(workspace, cap=300)
    assert wallet_of(workspace).available_microusd == 0


def test_disputed_wallet_starts_nothing(workspace: Workspace) -> None:
    Wallet.objects.filter(workspace=workspace).update(is_disputed=True)
    for cap, ceiling in ((100, 1_000), (None, 1_000), (None, 0)):
        with pytest.raises(PaymentRequired, match="disputed") as refused:
            open_(workspace, cap=cap, ceiling=ceiling)
        assert refused.value.code == "wallet_disputed"
    assert Budget.objects.count() == 0


@pytest.mark.parametrize(
    ("ceiling_of_key", "limit", "code", "left"),
    [
        (None, None, "insufficient_credit", 1_000),
        (400, None, "key_ceiling_reached", 400),
        (None, 500, "workspace_budget_reached", 500),
        (400, 500, "key_ceiling_reached", 400),
        (500, 400, "workspace_budget_reached", 400),
        (1_000, 1_000, "insufficient_credit", 1_000),
        (500, 500, "key_ceiling_reached", 500),
        (0, None, "key_ceiling_reached", 0),
        (None, 0, "workspace_budget_reached", 0),
        (2_000, 2_000, "insufficient_credit", 1_000),
    ],
)
def test_limit_that_binds_first_is_named_with_what_is_left(
    workspace: Workspace, key: ApiKey, ceiling_of_key: int | None, limit: int | None, code: str, left: int
) -> None:
    """Of limits that leave the same the order is: credit, key ceiling, workspace budget."""
    set_key_ceiling(key, actor=SYSTEM, ceiling_microusd=ceiling_of_key)
    limit_month(workspace, limit)
    for cap, needed in ((1_001, 1_001), (None, 1_002)):
        with pytest.raises(PaymentRequired) as refused:
            open_(workspace, cap=cap, ceiling=5_000, minimum=1_002, key=str(key.lineage))
        assert (refused.value.code, refused.value.details) == (code, {"needed_microusd": str(needed), "left_microusd": str(left)})
    assert wallet_of(workspace).held_microusd == 0


@pytest.mark.parametrize(
    ("ceiling_of_key", "limit", "bound", "bound_by"),
    [(400, None, 400, Bound.KEY_CEILING), (None, 500, 500, Bound.WORKSPACE_BUDGET), (2_000, 2_000, 1_000, Bound.CREDIT)],
)
def test_without_a_cap_the_least_limit_bounds(
    workspace: Workspace, key: ApiKey, ceiling_of_key: int | None, limit: int | None, bound: int, bound_by: Bound
) -> None:
    set_key_ceiling(key, actor=SYSTEM, ceiling_microusd=ceiling_of_key)
    limit_month(workspace, limit)
    budget = open_(workspace, ceiling=5_000, key=str(key.lineage))
    assert (budget.bound_microusd, budget.bound_by) == (bound, bound_by)


def test_key_of_one_lineage_is_not_bound_by_anothers_ceiling(workspace: Workspace, key: ApiKey) -> None:
    set_key_ceiling(key, actor=SYSTEM, ceiling_microusd=0)
    other, _ = make_key(workspace)
    assert open_(workspace, cap=100, key=str(other.lineage)).bound_microusd == 100
    assert open_(workspace, cap=100).bound_microusd == 100


def test_source_has_one_budget(workspace: Workspace) -> None:
    open_(workspace, source="run:1", cap=100)
    with pytest.raises(IntegrityError):
        open_(workspace, source="run:1", cap=100)
    assert wallet_of(workspace).held_microusd == 100


# Slices


@pytest.mark.parametrize(
    ("amount", "least", "granted"),
    [
        (500, 10, 100),  # a quarter of 400
        (50, 10, 50),  # less than a quarter: what is wanted
        (500, 300, 300),  # one worst case, though it is more than a quarter
        (400, 400, 400),
        (500, 401, 0),  # not even one worst case fits
        (0, 0, 0),
    ],
)
def test_slice_is_a_quarter_of_what_is_free_and_at_least_one_worst_case(
    workspace: Workspace, amount: int, least: int, granted: int
) -> None:
    budget = open_(workspace, cap=400)
    assert batch(budget, (amount, least)) == [granted]
    budget.refresh_from_db()
    assert (budget.reserved_microusd, budget.free_microusd) == (granted, 400 - granted)


def test_wants_of_one_batch_are_granted_in_turn_from_what_is_left(workspace: Workspace) -> None:
    budget = open_(workspace, cap=400)
    assert batch(budget, (400, 10), (400, 10), (400, 250), (400, 10)) == [100, 75, 0, 56]


def test_batch_settles_and_returns_before_it_reserves(workspace: Workspace) -> None:
    budget = open_(workspace, cap=100)
    assert batch(budget, (100, 100)) == [100]
    assert batch(budget, (60, 60)) == [0]
    assert batch(budget, (60, 60), settled=30, returned=100) == [60]
    budget.refresh_from_db()
    assert (budget.settled_microusd, budget.reserved_microusd, budget.free_microusd) == (30, 60, 10)
    assert ledger_differences() == []


def test_slices_of_a_cap_touch_neither_wallet_nor_allowances(workspace: Workspace) -> None:
    budget = open_(workspace, cap=400)
    before = Wallet.objects.values().get(), list(Allowance.objects.values())
    spend(budget, 100)
    assert (Wallet.objects.values().get(), list(Allowance.objects.values())) == before


def test_more_than_the_bound_is_refused_by_the_database(workspace: Workspace) -> None:
    budget = open_(workspace, cap=100)
    with pytest.raises(IntegrityError):
        batch(budget, settled=101)
    with pytest.raises(IntegrityError):
        batch(budget, returned=1)
    with pytest.raises(IntegrityError), transaction.atomic():
        Budget.objects.update(bound_microusd=101)  # above its cap


def test_closed_budget_settles_nothing_more(workspace: Workspace) -> None:
    budget = open_(workspace, cap=100)
    close(budget)
    with pytest.raises(ValueError, match="closed"):
        batch(budget, settled=1)


def test_hold_grows_with_the_work_and_covers_what_is_reserved(workspace: Workspace) -> None:
    budget = open_(workspace, ceiling=800)
    assert batch(budget, (20, 10)) == [20]
    assert (wallet_of(workspace).held_microusd, month_of(workspace).reserved_microusd) == (100, 100)  # an eighth of 800, not 20
    assert batch(budget, (80, 10)) == [80]
    assert wallet_of(workspace).held_microusd == 100  # covered: the wallet is not touched
    assert batch(budget, (100, 10), settled=5, returned=50) == [100]
    assert wallet_of(workspace).held_microusd == 187
    assert ledger_differences() == []


def test_hold_never_grows_past_the_bound(workspace: Workspace) -> None:
    budget = open_(workspace, ceiling=90, minimum=10)
    granted = [batch(budget, (1_000, 10))[0] for _ in range(20)]
    assert sum(granted) <= 90
    assert granted[-1] == 0
    assert wallet_of(workspace).held_microusd <= 90
    assert ledger_differences() == []


def test_growth_takes_what_the_limits_leave_where_one_worst_case_fits(workspace: Workspace) -> None:
    budget = open_(workspace, ceiling=1_000)
    open_(workspace, cap=970)
    assert batch(budget, (200, 31)) == [0]
    assert batch(budget, (200, 30)) == [30]
    assert wallet_of(workspace).available_microusd == 0
    assert ledger_differences() == []


def test_growth_that_is_refused_moves_nothing(workspace: Workspace, key: ApiKey) -> None:
    budget = open_(workspace, ceiling=1_000, key=str(key.lineage))
    set_key_ceiling(key, actor=SYSTEM, ceiling_microusd=5)
    assert batch(budget, (200, 10)) == [0]
    assert (wallet_of(workspace).held_microusd, Hold.objects.get().amount_microusd) == (0, 0)
    budget.refresh_from_db()
    assert (budget.reserved_microusd, budget.bound_by) == (0, Bound.CEILING)


def test_monthly_limit_that_is_lowered_stops_work_without_a_cap(workspace: Workspace) -> None:
    budget = open_(workspace, ceiling=800)
    assert batch(budget, (100, 10)) == [100]
    set_workspace_limit(workspace, actor=SYSTEM, monthly_microusd=50)
    assert batch(budget, (100, 10)) == [0]
    set_workspace_limit(workspace, actor=SYSTEM, monthly_microusd=None)
    assert batch(budget, (100, 10)) == [100]
    assert ledger_differences() == []


# What could be reserved


def test_spendable_of_a_cap_is_what_is_free_of_it(workspace: Workspace) -> None:
    budget = open_(workspace, cap=400)
    spend(budget, 100)
    budget.refresh_from_db()
    assert budgets.spendable(budget) == (300, Bound.CAP)


def test_spendable_without_a_cap_names_what_binds_now_not_what_bound_once(workspace: Workspace, key: ApiKey) -> None:
    set_key_ceiling(key, actor=SYSTEM, ceiling_microusd=600)
    budget = open_(workspace, ceiling=5_000, key=str(key.lineage))
    spend(budget, 10)  # and 75 are held: an eighth of the bound
    other = open_(workspace, cap=925)
    budget = budgets.lock_budget(budget.source)
    assert budgets.spendable(budget) == (65, Bound.CREDIT)
    close(other)
    budget = budgets.lock_budget(budget.source)
    assert budgets.spendable(budget) == (590, Bound.KEY_CEILING)
    limit_month(workspace, 80)
    assert budgets.spendable(budgets.lock_budget(budget.source)) == (70, Bound.WORKSPACE_BUDGET)


@pytest.mark.parametrize("elsewhere", [0, 500, 950, 1_000])
def test_spendable_is_exactly_what_a_reservation_can_get(workspace: Workspace, elsewhere: int) -> None:
    budget = open_(workspace, ceiling=900)
    if elsewhere:
        open_(workspace, cap=elsewhere)
    amount, _ = budgets.spendable(budget)
    assert batch(budget, (amount + 1, amount + 1)) == [0]
    assert batch(budget, (amount, amount)) == [amount]


# Closing


def test_closing_writes_usage_and_fee_of_each_subject_once_and_frees_the_rest(workspace: Workspace, key: ApiKey) -> None:
    set_key_ceiling(key, actor=SYSTEM, ceiling_microusd=500)
    budget = open_(workspace, cap=400, key=str(key.lineage))
    spend(budget, 100)
    spend(budget, 63)
    assert batch(budget, (50, 50)) == [50]  # reserved by a lease that never came back
    close(budget, (100, 5), (55, 3), (0, 0))
    close(budget, (100, 5), (55, 3), (0, 0))
    entries = entries_of_source(workspace, budget.source).values_list("kind", "amount_microusd", "balance_after_microusd", "note")
    assert list(entries) == [
        ("usage", -100, 900, "Subject 0"),
        ("platform_fee", -5, 895, "Subject 0"),
        ("usage", -55, 840, "Subject 1"),
        ("platform_fee", -3, 837, "Subject 1"),
    ]
    wallet = wallet_of(workspace)
    assert (wallet.balance_microusd, wallet.held_microusd) == (837, 0)
    allowances = [allowance_of_key(key), month_of(workspace)]
    assert [(each.reserved_microusd, each.spent_microusd) for each in allowances if each] == [(0, 163), (0, 163)]
    assert wallet_figures(workspace)["settled_charges_microusd"] == 163
    budget.refresh_from_db()
    assert (budget.reserved_microusd, budget.settled_microusd, budget.closed_at is not None) == (0, 163, True)
    assert ledger_differences() == []


def test_closing_a_budget_that_spent_nothing_writes_no_entry(workspace: Workspace) -> None:
    budget = open_(workspace, cap=400)
    close(budget)
    assert (entries_of_source(workspace, budget.source).count(), wallet_of(workspace).available_microusd) == (0, 1_000)


@pytest.mark.parametrize("charges", [[(99, 0)], [(100, 1)], [(50, 0), (49, 0)], []])
def test_charges_that_do_not_add_up_to_what_was_settled_write_nothing(workspace: Workspace, charges: list[tuple[int, int]]) -> None:
    budget = open_(workspace, cap=400)
    spend(budget, 100)
    with pytest.raises(ValueError, match="do not add up"), transaction.atomic():
        budgets.close_budget(budget.source, charges=[budgets.Charge(f"{n}", "", *charge) for n, charge in enumerate(charges)])
    assert (entries_of_source(workspace, budget.source).count(), wallet_of(workspace).held_microusd) == (0, 400)


def test_two_stale_copies_close_once(workspace: Workspace) -> None:
    budget = open_(workspace, cap=400)
    spend(budget, 100)
    one, two = (Budget.objects.get(pk=budget.pk) for _ in range(2))
    for stale in (one, two):
        assert stale.closed_at is None
        close(stale, (95, 5))
    assert (entries_of_source(workspace, budget.source).count(), wallet_of(workspace).balance_microusd) == (2, 900)


def test_credit_that_was_spent_is_gone_for_corrections_and_what_is_free_is_not(workspace: Workspace) -> None:
    budget = open_(workspace, cap=400)
    spend(budget, 100)
    close(budget)
    grant_credit(workspace, actor=SYSTEM, amount_microusd=-900, reason="All that is left")
    assert wallet_of(workspace).balance_microusd == 0


# Months


def at(monkeypatch: pytest.MonkeyPatch, *moment: int) -> None:
    monkeypatch.setattr("billing.budgets.timezone.now", lambda: datetime(*moment, tzinfo=UTC))  # type: ignore[misc]


def test_new_month_begins_with_the_whole_budget(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    limit_month(workspace, 100)
    at(monkeypatch, 2027, 1, 31, 23, 59, 59)
    january = open_(workspace, cap=100)
    spend(january, 60)
    with pytest.raises(PaymentRequired, match="this month"):
        open_(workspace, cap=1)
    at(monkeypatch, 2027, 2, 1)
    february = open_(workspace, cap=100)
    close(january)
    assert (month_of(workspace, "2027-01").spent_microusd, month_of(workspace, "2027-02").spent_microusd) == (60, 0)
    close(february)
    assert ledger_differences() == []


def test_work_that_goes_on_into_a_month_counts_against_the_one_it_began_in(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    limit_month(workspace, 100)
    at(monkeypatch, 2027, 1, 31)
    budget = open_(workspace, ceiling=800)
    at(monkeypatch, 2027, 2, 1)
    spend(budget, 90)
    close(budget)
    assert month_of(workspace, "2027-01").spent_microusd == 90
    assert not Allowance.objects.filter(subject="2027-02").exists()


def test_limit_below_what_is_spent_leaves_nothing_and_fails_nothing(workspace: Workspace) -> None:
    budget = open_(workspace, cap=400)
    spend(budget, 300)
    limit_month(workspace, 200)
    with pytest.raises(PaymentRequired) as refused:
        open_(workspace, cap=10)
    assert (refused.value.code, refused.value.details["left_microusd"]) == ("workspace_budget_reached", "0")
    close(budget)
    assert month_of(workspace).spent_microusd == 300
    assert ledger_differences() == []
