"""Money under random orders of grants, corrections, limits, starts, batches, dead leases and ends: after each step the books add up.

The machine drives the functions that runs use and keeps its own, much simpler account of what must have come of it. Its leases are
slices in a list, as the engine's shards hold them.
"""

from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import pytest
from django.db import IntegrityError, transaction
from django.db.models import Sum
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test

from billing.actions import grant_credit, set_key_ceiling, set_workspace_limit
from billing.budgets import Charge, Want, close_budget, lock_budget, open_budget, settle_and_reserve, spendable
from billing.enums import AllowanceKind
from billing.models import Allowance, Budget, Hold, LedgerEntry, Wallet
from billing.queries import entries_of_source, ledger_differences
from common.errors import Conflict, PaymentRequired
from tests.factories import make_key, make_workspace
from workspaces.actors import SYSTEM

amounts = st.integers(1, 2_000)
some = st.integers(0, 1_000)
"""Which one of a list: taken modulo its length."""
limits = st.none() | st.integers(0, 3_000)
REFUSALS = {"insufficient_credit", "key_ceiling_reached", "workspace_budget_reached"}


@dataclass
class Quote:
    """What was quoted, and what became of it: `slices` are what its leases have reserved, `charges` is usage and fee by subject."""

    source: str
    cap: int | None
    ceiling: int
    minimum: int
    key: int | None
    month: str = ""
    slices: list[int] = field(default_factory=list)
    charges: list[list[int]] = field(default_factory=lambda: [[0, 0], [0, 0]])
    is_closed: bool = False

    @property
    def spent(self) -> int:
        return sum(map(sum, self.charges))


class Money(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.example = transaction.atomic()
        self.example.__enter__()
        self.workspace = make_workspace()
        self.keys = [make_key(self.workspace)[0] for _ in range(2)]
        self.granted = 0
        self.grants: list[tuple[str, int]] = []
        self.quotes: list[Quote] = []
        self.runs: list[Quote] = []
        self.months = 1
        self.clock = patch("billing.budgets._month", lambda _now: self.month)
        self.clock.start()

    def teardown(self) -> None:
        self.clock.stop()
        transaction.set_rollback(True)
        self.example.__exit__(None, None, None)

    # Reading

    @property
    def month(self) -> str:
        return f"2027-{self.months:02d}"

    @property
    def wallet(self) -> Wallet:
        return Wallet.objects.get(workspace=self.workspace)

    @property
    def live(self) -> list[Quote]:
        return [run for run in self.runs if not run.is_closed]

    def everything(self) -> list[Any]:
        """All rows of money, to see that nothing has changed."""
        return [list(model.objects.order_by("pk").values()) for model in (Wallet, LedgerEntry, Hold, Budget, Allowance)]

    def taken_of_month(self, month: str) -> int:
        row = Allowance.objects.filter(workspace=self.workspace, kind=AllowanceKind.WORKSPACE_BUDGET, subject=month).first()
        return row.reserved_microusd + row.spent_microusd if row else 0

    # Credit and limits

    @initialize(amount=st.integers(0, 5_000))
    def begin(self, amount: int) -> None:
        if amount:
            self.grant(amount)

    @rule(amount=amounts)
    def grant(self, amount: int) -> None:
        """Credit that comes in, a refund too: all of it is an entry."""
        self.grants.append((f"{self.workspace.public_id}:{len(self.grants)}", amount))
        self.granted += amount
        self.repeat_grant(-1)

    @precondition(lambda self: self.grants)
    @rule(which=some)
    def repeat_grant(self, which: int) -> None:
        key, amount = self.grants[which % len(self.grants)]
        grant_credit(self.workspace, actor=SYSTEM, amount_microusd=amount, reason="random", key=key)

    @rule(amount=amounts)
    def correct(self, amount: int) -> None:
        wallet, before = self.wallet, self.everything()
        try:
            grant_credit(self.workspace, actor=SYSTEM, amount_microusd=-amount, reason="random")
        except Conflict as refused:
            assert wallet.balance_microusd - amount < wallet.held_microusd
            assert refused.code == ("balance_too_low" if amount > wallet.balance_microusd else "balance_held")
            assert self.everything() == before
        else:
            assert wallet.balance_microusd - amount >= wallet.held_microusd
            self.granted -= amount

    @rule(key=st.integers(0, 1), ceiling=limits)
    def limit_key(self, key: int, ceiling: int | None) -> None:
        before = self.everything()
        try:
            set_key_ceiling(self.keys[key], actor=SYSTEM, ceiling_microusd=ceiling)
        except Conflict as refused:
            assert refused.code == "ceiling_below_spend"
            assert self.everything() == before

    @rule(limit=limits)
    def limit_month(self, limit: int | None) -> None:
        self.limit = limit
        set_workspace_limit(self.workspace, actor=SYSTEM, monthly_microusd=limit)

    limit: int | None = None

    @precondition(lambda self: self.months < 12)
    @rule()
    def end_month(self) -> None:
        self.months += 1

    # Runs

    @rule(
        cap=st.none() | st.integers(10, 2_000),
        ceiling=st.just(0) | st.integers(10, 4_000),
        minimum=st.integers(1, 200),
        key=st.none() | st.integers(0, 1),
    )
    def quote(self, cap: int | None, ceiling: int, minimum: int, key: int | None) -> None:
        """Costs nothing, so it changes nothing."""
        least = min(minimum, ceiling, ceiling if cap is None else cap)
        self.quotes.append(Quote(f"run:{self.workspace.public_id}:{len(self.quotes)}", cap, ceiling, least, key))

    @precondition(lambda self: self.quotes)
    @rule(which=some)
    def start(self, which: int) -> None:
        quote = self.quotes[which % len(self.quotes)]
        lineage = None if quote.key is None else str(self.keys[quote.key].lineage)
        before, taken = self.everything(), self.taken_of_month(self.month)
        try:
            with transaction.atomic():
                budget = open_budget(
                    self.workspace,
                    source=quote.source,
                    cap_microusd=quote.cap,
                    ceiling_microusd=quote.ceiling,
                    minimum_microusd=quote.minimum,
                    key_lineage=lineage,
                )
        except IntegrityError:
            assert quote in self.runs  # started before: its budget is there
            assert self.everything() == before
        except PaymentRequired as refused:
            assert quote.ceiling
            assert refused.code in REFUSALS
            assert int(refused.details["left_microusd"]) < int(refused.details["needed_microusd"])
            assert self.everything() == before
        else:
            assert quote not in self.runs
            assert budget.bound_microusd <= min(quote.ceiling, quote.ceiling if quote.cap is None else quote.cap)
            quote.month = self.month
            self.runs.append(quote)
            self.check_month(quote, taken)

    @precondition(lambda self: self.live)
    @rule(which=some, wants=st.lists(st.tuples(st.integers(0, 1_500), st.integers(1, 150)), min_size=1, max_size=3))
    def lease(self, which: int, wants: list[tuple[int, int]]) -> None:
        self.batch(self.live[which % len(self.live)], wants=wants)

    @precondition(lambda self: any(run.slices for run in self.live))
    @rule(
        which=some,
        lease=some,
        shares=st.tuples(*[st.floats(0, 1)] * 3),
        subject=st.integers(0, 1),
        wants=st.lists(st.tuples(st.integers(0, 1_500), st.integers(1, 150)), max_size=2),
    )
    def hand_in(self, which: int, lease: int, shares: tuple[float, float, float], subject: int, wants: list[tuple[int, int]]) -> None:
        """A lease's batch: some attempts have finished and cost no more than they had reserved; it may want more."""
        runs = [run for run in self.live if run.slices]
        run = runs[which % len(runs)]
        place = lease % len(run.slices)
        finished = int(run.slices[place] * shares[0])
        charged = int(finished * shares[1])
        fee = int(charged * shares[2] / 2)
        run.slices[place] -= finished
        run.charges[subject][0] += charged - fee
        run.charges[subject][1] += fee
        self.batch(run, settled=charged, returned=finished, wants=wants)

    @precondition(lambda self: any(run.slices for run in self.live))
    @rule(which=some, lease=some)
    def lose_lease(self, which: int, lease: int) -> None:
        """A worker died: what it had reserved comes back, and what it had on its way is not charged."""
        runs = [run for run in self.live if run.slices]
        run = runs[which % len(runs)]
        self.batch(run, returned=run.slices.pop(lease % len(run.slices)))

    @precondition(lambda self: self.live)
    @rule(which=some)
    def finalize(self, which: int) -> None:
        run = self.live[which % len(self.live)]
        self.batch(run, returned=sum(run.slices))
        run.slices.clear()
        self.close(run)
        run.is_closed = True

    @precondition(lambda self: len(self.live) < len(self.runs))
    @rule(which=some)
    def finalize_again(self, which: int) -> None:
        closed = [run for run in self.runs if run.is_closed]
        before = self.everything()
        self.close(closed[which % len(closed)])
        assert self.everything() == before

    @precondition(lambda self: self.live)
    @rule(which=some, wrong=st.integers(1, 50))
    def finalize_wrongly(self, which: int, wrong: int) -> None:
        """Charges that are not what was settled: refused, whole."""
        run = self.live[which % len(self.live)]
        before = self.everything()
        with pytest.raises(ValueError, match="do not add up"):
            self.close(run, wrong)
        assert self.everything() == before

    def batch(self, run: Quote, *, wants: list[tuple[int, int]] | None = None, settled: int = 0, returned: int = 0) -> None:
        wants = [(max(amount, least), least) for amount, least in wants or []]
        taken = self.taken_of_month(run.month)
        with transaction.atomic():
            budget = lock_budget(run.source)
            granted = settle_and_reserve(budget, settled=settled, returned=returned, wants=[Want(*want) for want in wants])
        for (amount, least), got in zip(wants, granted, strict=True):
            assert got == 0 or least <= got <= amount
        if wants and granted[-1] == 0:
            assert wants[-1][1] > spendable(Budget.objects.get(source=run.source))[0]
        run.slices += [got for got in granted if got]
        self.check_month(run, taken)

    def close(self, run: Quote, wrong: int = 0) -> None:
        charges = [Charge(f"{run.source}:{n}", f"Subject {n}", usage + wrong, fee) for n, (usage, fee) in enumerate(run.charges)]
        with transaction.atomic():
            close_budget(run.source, charges=charges)

    def check_month(self, run: Quote, taken_before: int) -> None:
        """A month takes more only within the limit that holds now."""
        taken = self.taken_of_month(run.month)
        assert taken <= taken_before or self.limit is None or taken <= self.limit

    # After each step

    @invariant()
    def balance_is_the_sum_of_entries(self) -> None:
        entries = LedgerEntry.objects.filter(wallet__workspace=self.workspace)
        spent = sum(run.spent for run in self.runs if run.is_closed)
        total = entries.aggregate(total=Sum("amount_microusd"))["total"] or 0
        assert self.wallet.balance_microusd == total == self.granted - spent

    @invariant()
    def held_is_covered(self) -> None:
        wallet = self.wallet
        assert 0 <= wallet.held_microusd <= wallet.balance_microusd

    @invariant()
    def runs_spend_within_cap_and_bound(self) -> None:
        budgets = {budget.source: budget for budget in Budget.objects.filter(wallet__workspace=self.workspace)}
        assert set(budgets) == {run.source for run in self.runs}
        for run in self.runs:
            budget = budgets[run.source]
            assert (budget.settled_microusd, budget.reserved_microusd) == (run.spent, sum(run.slices))
            assert run.spent + sum(run.slices) <= budget.bound_microusd <= run.ceiling
            assert run.cap is None or run.spent <= run.cap

    @invariant()
    def keys_spend_within_their_ceilings(self) -> None:
        for number, key in enumerate(self.keys):
            row = Allowance.objects.filter(subject=str(key.lineage)).first()
            if row is None:
                assert not any(run.key == number and run.ceiling for run in self.runs)
                continue
            assert row.spent_microusd == sum(run.spent for run in self.runs if run.key == number and run.is_closed)
            assert row.reserved_microusd >= sum(run.spent + sum(run.slices) for run in self.live if run.key == number)
            assert row.ceiling_microusd is None or row.reserved_microusd + row.spent_microusd <= row.ceiling_microusd

    @invariant()
    def runs_are_charged_once_and_at_their_end(self) -> None:
        for run in self.runs:
            written = list(entries_of_source(self.workspace, run.source).values_list("kind", "amount_microusd"))
            wanted = [(kind, -amount) for charge in run.charges for kind, amount in zip(("usage", "platform_fee"), charge, strict=True)]
            assert written == ([each for each in wanted if each[1]] if run.is_closed else [])

    @invariant()
    def books_add_up(self) -> None:
        assert ledger_differences() == []


@pytest.mark.django_db
def test_no_order_of_events_makes_money_wrong() -> None:
    run_state_machine_as_test(
        Money,
        settings=settings(max_examples=25, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)),
    )
