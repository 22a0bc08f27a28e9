"""Money under random orders of grants, purchases, refunds, disputes, limits, keys that make keys, starts, batches, dead leases, ends and
continued work: after each step the books add up.

The machine drives the functions that runs use and keeps its own, much simpler account of what must have come of it. Its leases are
slices in a list, as the engine's shards hold them.
"""

import os
from typing import Any
from unittest.mock import patch

import pytest
from django.db import IntegrityError, transaction
from django.db.models import Sum
from hypothesis import HealthCheck, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from billing.actions import grant_credit
from billing.budgets import Charge, Want, close_budget, lock_budget, open_budget, settle_and_reserve, spendable
from billing.checking import ledger_differences
from billing.enums import AllowanceKind, PaymentKind
from billing.limits import key_left, set_key_ceiling, set_key_month, set_workspace_limit
from billing.models import Allowance, Budget, Hold, KeyLimit, LedgerEntry, Wallet
from common.errors import Conflict, PaymentRequired, Refused
from tests.factories import make_key, make_workspace
from tests.runs.money_events import EVENTS, Quote, quotes
from tests.runs.money_payments import PAYMENT_NAMES, Payments
from workspaces.actions import create_api_key
from workspaces.actors import SYSTEM, actor_of_key
from workspaces.enums import Scope

REFUSALS = {"insufficient_credit", "key_ceiling_reached", "key_month_reached", "workspace_budget_reached"}
MOST_KEYS = 6
EXAMPLES = int(os.environ.get("MONEY_EXAMPLES", "10"))
"""`make soak` tries more."""


class Money(Payments, RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.example = transaction.atomic()
        self.example.__enter__()
        self.workspace = make_workspace()
        self.keys = [make_key(self.workspace)[0] for _ in range(2)]
        self.makers: dict[int, int] = {}
        self.begin_payments()
        self.granted = 0
        self.grants: list[tuple[str, int]] = []
        self.quotes: list[Quote] = []
        self.runs: list[Quote] = []
        self.months = 1
        self.limit: int | None = None
        self.clock = patch("billing.budgets.month_of", lambda _now: self.month)
        self.clock.start()

    def teardown(self) -> None:
        self.clock.stop()
        self.end_payments()
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

    @property
    def leased(self) -> list[Quote]:
        return [run for run in self.live if run.slices]

    def everything(self) -> list[Any]:
        """All rows of money, to see that nothing has changed."""
        return [list(model.objects.order_by("pk").values()) for model in (Wallet, LedgerEntry, Hold, Budget, Allowance, KeyLimit)]

    def taken(self) -> dict[str, int]:
        """What each month has taken, the workspace's and the keys', by subject."""
        rows = Allowance.objects.filter(workspace=self.workspace).exclude(kind=AllowanceKind.KEY_CEILING)
        return {row.subject: row.reserved_microusd + row.spent_microusd for row in rows}

    def older(self, key: int | None) -> list[int]:
        """The key and those that it comes from."""
        found: list[int] = []
        while key is not None:
            found.append(key)
            key = self.makers.get(key)
        return found

    @initialize(amount=st.integers(500, 6_000), first=st.lists(quotes, min_size=1, max_size=3))
    def begin(self, amount: int, first: list[dict[str, Any]]) -> None:
        self.grant(amount, 0)
        for maker in (0, 2):
            self.make_key(maker, None)
        self.buy(credit=amount, fee=amount // 20, kind=PaymentKind.CHECKOUT)
        for wanted in first:
            self.start(wanted)

    @rule(happenings=st.lists(st.one_of([st.tuples(st.just(name), given) for name, given in EVENTS]), min_size=5, max_size=10))
    def happen(self, happenings: list[tuple[str, dict[str, Any]]]) -> None:
        """One rule for all: of several, hypothesis leaves some out in each example, and little money would be spent."""
        for name, given in happenings:
            getattr(self, name)(**given)
            self.check_wallet()
            self.check_runs()
            if name in PAYMENT_NAMES:
                self.check_payments()

    # Credit and limits

    def grant(self, amount: int, again: int) -> None:
        """Credit that comes in, a refund too: all of it is an entry. An earlier one is sent again and changes nothing."""
        self.grants.append((f"{self.workspace.public_id}:{len(self.grants)}", amount))
        self.granted += amount
        for key, granted in (self.grants[-1], self.grants[again % len(self.grants)]):
            grant_credit(self.workspace, actor=SYSTEM, amount_microusd=granted, reason="random", key=key)

    def correct(self, amount: int) -> None:
        wallet, before = self.wallet, self.everything()
        try:
            grant_credit(self.workspace, actor=SYSTEM, amount_microusd=-amount, reason="random")
        except Conflict as refused:
            assert wallet.balance_microusd - amount < wallet.held_microusd
            assert refused.code == ("balance_too_low" if amount > wallet.balance_microusd else "balance_held")
            assert self.everything() == before
            event("correction refused")
        else:
            assert wallet.balance_microusd - amount >= wallet.held_microusd
            self.granted -= amount

    def limit_key(self, key: int, ceiling: int | None) -> None:
        before = self.everything()
        try:
            set_key_ceiling(self.keys[key % len(self.keys)], actor=SYSTEM, ceiling_microusd=ceiling)
        except Conflict as refused:
            assert refused.code == "ceiling_below_spend"
            assert self.everything() == before

    def limit_key_month(self, key: int, limit: int | None) -> None:
        set_key_month(self.keys[key % len(self.keys)], actor=SYSTEM, monthly_microusd=limit)

    def make_key(self, maker: int, ceiling: int | None) -> None:
        """A key makes another, whose ceiling is no more than its own has left."""
        if len(self.keys) == MOST_KEYS:
            return
        maker %= len(self.keys)
        left = key_left(self.workspace, str(self.keys[maker].lineage))
        before = self.everything()
        try:
            made, _ = create_api_key(
                self.workspace, actor=actor_of_key(self.keys[maker]), label="made", scopes=list(Scope), spend_ceiling_microusd=ceiling
            )
        except Refused as refused:
            assert refused.code == "ceiling_exceeded"
            assert left is not None
            assert ceiling is None or ceiling > left
            assert self.everything() == before
            return
        assert left is None or (ceiling is not None and ceiling <= left)
        self.makers[len(self.keys)] = maker
        self.keys.append(made)
        event(f"a key that {len(self.older(maker))} stand behind")

    def limit_month(self, limit: int | None) -> None:
        self.limit = limit
        set_workspace_limit(self.workspace, actor=SYSTEM, monthly_microusd=limit)

    def end_month(self) -> None:
        self.months += 1

    # Runs

    def start(self, wanted: dict[str, Any]) -> None:
        """Quote and start. A quote costs nothing; a start that is refused leaves nothing behind."""
        least = min(wanted["minimum"], wanted["ceiling"], wanted["ceiling"] if wanted["cap"] is None else wanted["cap"])
        key = None if wanted["key"] is None else wanted["key"] % len(self.keys)
        quote = Quote(
            **{**wanted, "minimum": least, "key": key}, source=f"run:{self.workspace.public_id}:{len(self.runs)}", month=self.month
        )
        before, taken, wallet = self.everything(), self.taken(), self.wallet
        try:
            budget = self.open(quote)
        except PaymentRequired as refused:
            event(f"start refused: {refused.code}")
            assert self.everything() == before
            assert (refused.code == "wallet_disputed") == wallet.is_disputed
            if wallet.is_disputed:
                return
            assert quote.ceiling
            assert refused.code in REFUSALS
            assert int(refused.details["left_microusd"]) < int(refused.details["needed_microusd"])
            return
        assert not wallet.is_disputed
        assert budget.bound_microusd <= min(quote.ceiling, quote.ceiling if quote.cap is None else quote.cap, wallet.available_microusd)
        self.runs.append(quote)
        self.check_months(taken)
        with pytest.raises((IntegrityError, PaymentRequired)):  # a source has one budget
            self.open(quote)

    def ask(self, which: int, wants: list[tuple[int, int]]) -> None:
        """New leases want their slices."""
        if self.live:
            self.batch(self.live[which % len(self.live)], wants=wants)

    def hand_in(self, which: int, lease: int, finished: int, charged: int, fee: int, subject: int, more: list[tuple[int, int]]) -> None:
        """A lease's batch: some attempts have finished and cost no more than they had reserved; it may want more."""
        if not self.leased:
            return
        run = self.leased[which % len(self.leased)]
        place = lease % len(run.slices)
        returned = run.slices[place] * finished // 100
        settled = returned * charged // 100
        fees = settled * fee // 100
        run.slices[place] -= returned
        run.charges[subject % 2][0] += settled - fees
        run.charges[subject % 2][1] += fees
        self.batch(run, settled=settled, returned=returned, wants=more)

    def lose_lease(self, which: int, lease: int) -> None:
        """A worker died: what it had reserved comes back, and what it had on its way is not charged."""
        if self.leased:
            run = self.leased[which % len(self.leased)]
            self.batch(run, returned=run.slices.pop(lease % len(run.slices)))

    def finalize(self, which: int, wrong: int) -> None:
        """Charges that are not what was settled are refused, whole; the right ones are written once, however often it is tried."""
        if not self.live:
            return
        run = self.live[which % len(self.live)]
        self.batch(run, returned=sum(run.slices))
        run.slices.clear()
        before = self.everything()
        if wrong:
            with pytest.raises(ValueError, match="do not add up"):
                self.close(run, wrong)
        assert self.everything() == before
        self.close(run)
        run.is_closed = True
        before = self.everything()
        self.close(run, wrong)
        assert self.everything() == before
        event("finalized, having spent" if run.spent else "finalized")

    def go_on(self, which: int, key: int | None) -> None:
        """What an ended run has left is continued as a new one, under another key it may be."""
        ended = [run for run in self.runs if run.is_closed and run.ceiling > run.spent]
        if ended:
            run = ended[which % len(ended)]
            self.start({"cap": run.cap, "ceiling": run.ceiling - run.spent, "minimum": 1, "key": key})

    def open(self, quote: Quote) -> Budget:
        with transaction.atomic():
            return open_budget(
                self.workspace,
                source=quote.source,
                cap_microusd=quote.cap,
                ceiling_microusd=quote.ceiling,
                minimum_microusd=quote.minimum,
                key_lineage=None if quote.key is None else str(self.keys[quote.key].lineage),
            )

    def batch(self, run: Quote, *, wants: list[tuple[int, int]] | None = None, settled: int = 0, returned: int = 0) -> None:
        wants = [(max(amount, least), least) for amount, least in wants or []]
        event("batch without a cap" if run.cap is None else "batch")
        taken = self.taken()
        with transaction.atomic():
            budget = lock_budget(run.source)
            granted = settle_and_reserve(budget, settled=settled, returned=returned, wants=[Want(*want) for want in wants])
        for (amount, least), got in zip(wants, granted, strict=True):
            assert got == 0 or least <= got <= amount
        if wants and granted[-1] == 0:
            assert wants[-1][1] > spendable(Budget.objects.get(source=run.source))[0]
            event("refused a slice")
        run.slices += [got for got in granted if got]
        self.check_months(taken)

    def close(self, run: Quote, wrong: int = 0) -> None:
        charges = [Charge(f"{run.source}:{n}", f"Subject {n}", usage + wrong, fee) for n, (usage, fee) in enumerate(run.charges)]
        with transaction.atomic():
            close_budget(run.source, charges=charges)

    def check_months(self, before: dict[str, int]) -> None:
        """A month takes more only within the limit that holds now."""
        limits = {str(limit.lineage): limit.monthly_microusd for limit in KeyLimit.objects.filter(workspace=self.workspace)}
        for subject, taken in self.taken().items():
            limit = limits.get(subject.partition(":")[0]) if ":" in subject else self.limit
            assert taken <= before.get(subject, 0) or limit is None or taken <= limit

    # After each step

    @invariant()
    def books_add_up(self) -> None:
        assert ledger_differences() == []
        self.check_keys()
        self.check_payments()

    # The machine's own account

    def check_wallet(self) -> None:
        """The balance is what came in less what finished runs spent, and covers what is held, but for disputes."""
        wallet = self.wallet
        entries = LedgerEntry.objects.filter(wallet=wallet).aggregate(total=Sum("amount_microusd"))["total"] or 0
        spent = sum(run.spent for run in self.runs if run.is_closed)
        assert wallet.balance_microusd == entries == self.granted + self.came_in - spent
        self.check_dispute(wallet)

    def check_runs(self) -> None:
        """Spend within cap and bound, and charged at the end alone, each entry once."""
        budgets = {budget.source: budget for budget in Budget.objects.filter(wallet__workspace=self.workspace)}
        assert set(budgets) == {run.source for run in self.runs}
        written: dict[str, list[tuple[str, int]]] = {run.source: [] for run in self.runs}
        for source, kind, amount in (
            LedgerEntry.objects.filter(source__in=written).order_by("id").values_list("source", "kind", "amount_microusd")
        ):
            written[source].append((kind, amount))
        for run in self.runs:
            budget = budgets[run.source]
            assert (budget.settled_microusd, budget.reserved_microusd) == (run.spent, sum(run.slices))
            assert run.spent + sum(run.slices) <= budget.bound_microusd <= run.ceiling
            assert run.cap is None or run.spent <= run.cap
            wanted = [(kind, -amount) for charge in run.charges for kind, amount in zip(("usage", "platform_fee"), charge, strict=True)]
            assert written[run.source] == ([each for each in wanted if each[1]] if run.is_closed else [])

    def check_keys(self) -> None:
        """What runs of a key, and of keys that come from it, have spent and reserved stands on its lineage, within its ceiling."""
        rows = {(row.kind, row.subject): row for row in Allowance.objects.filter(workspace=self.workspace)}
        for number, key in enumerate(self.keys):
            mine = [run for run in self.runs if number in self.older(run.key)]
            row = rows.get((AllowanceKind.KEY_CEILING, str(key.lineage)), Allowance())
            self.check_key(row, mine)
            assert row.ceiling_microusd is None or row.reserved_microusd + row.spent_microusd <= row.ceiling_microusd
            for month in {run.month for run in mine}:
                row = rows.get((AllowanceKind.KEY_MONTH, f"{key.lineage}:{month}"), Allowance())
                self.check_key(row, [run for run in mine if run.month == month])

    def check_key(self, row: Allowance, runs: list[Quote]) -> None:
        assert row.spent_microusd == sum(run.spent for run in runs if run.is_closed)
        assert row.reserved_microusd >= sum(run.spent + sum(run.slices) for run in runs if not run.is_closed)


@pytest.mark.django_db
def test_no_order_of_events_makes_money_wrong() -> None:
    run_state_machine_as_test(
        Money,
        settings=settings(max_examples=EXAMPLES, stateful_step_count=10, deadline=None, suppress_health_check=list(HealthCheck)),
    )
