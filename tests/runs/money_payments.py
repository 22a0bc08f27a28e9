"""Stripe in the machine of random orders: what it knows of each payment, told late, twice, and out of order.

What arrives is a `Truth`, as reconciling fetches it; a worker that was slow applies one that is older than what was applied meanwhile.
The cent is one micro-USD here, so that purchases are as small as what is spent.
"""

from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from hypothesis import event
from hypothesis import strategies as st

from billing.enums import DisputeStatus, EntryKind, PaymentKind, PaymentStatus, RefundStatus
from billing.models import Dispute, LedgerEntry, Payment, Refund, TopUp, Wallet
from billing.payments import reconciling, taking_back
from billing.payments.taking_back import TAKING_DISPUTES, TAKING_REFUNDS, collect_shortfalls
from billing.payments.truth import SeenDispute, SeenRefund, Truth
from workspaces.models import Workspace

some = st.integers(0, 1_000)
parts = st.sampled_from([100, 50, 10, 99])
"""In percent of what is left of a payment."""
PAYMENT_EVENTS: list[tuple[str, st.SearchStrategy[dict[str, Any]]]] = [
    ("buy", st.fixed_dictionaries({"credit": st.integers(50, 2_000), "fee": st.integers(0, 100), "kind": st.sampled_from(PaymentKind)})),
    *[("change_at_stripe", st.fixed_dictionaries({"which": some, "what": some, "part": parts, "is_told": st.booleans()}))] * 5,
    *[("deliver", st.fixed_dictionaries({"which": some, "age": st.sampled_from([0, 0, 1, 2, 5]), "times": st.integers(1, 2)}))] * 3,
    ("collect", st.just({})),
]
PAYMENT_NAMES = {name for name, _ in PAYMENT_EVENTS}
RANK = [RefundStatus.ASKED, RefundStatus.DONE, RefundStatus.REFUSED, DisputeStatus.OPEN, DisputeStatus.LOST, DisputeStatus.WON]


@dataclass
class Bought:
    """A payment as it stands at Stripe, all that Stripe ever said of it, and the furthest that was told to us."""

    payment: Payment
    status: PaymentStatus = PaymentStatus.OPEN
    cents: int = 0
    refunds: dict[str, tuple[int, RefundStatus]] = field(default_factory=dict)
    disputes: dict[str, DisputeStatus] = field(default_factory=dict)
    said: list[Truth] = field(default_factory=list)
    is_credited: bool = False
    told_refunds: dict[str, tuple[int, RefundStatus]] = field(default_factory=dict)
    told_disputes: dict[str, DisputeStatus] = field(default_factory=dict)

    def say(self) -> None:
        refunds = tuple(SeenRefund(name, cents, status, "") for name, (cents, status) in self.refunds.items())
        disputes = tuple(SeenDispute(name, status, "fraudulent") for name, status in self.disputes.items())
        number = f"{self.payment.pk}"
        self.said.append(Truth(self.status, f"cs_{number}", f"pi_{number}", self.cents, "usd", refunds=refunds, disputes=disputes))

    def hear(self, truth: Truth) -> None:
        """What the payment must be now that this was applied, too."""
        if truth.status != PaymentStatus.PAID or truth.cents != self.payment.total_microusd:
            return
        self.is_credited = True
        for refund in truth.refunds:
            before = self.told_refunds.get(refund.id, (0, RefundStatus.ASKED))[1]
            self.told_refunds[refund.id] = (refund.cents, max(before, refund.status, key=RANK.index))
        for dispute in truth.disputes:
            self.told_disputes[dispute.id] = max(self.told_disputes.get(dispute.id, DisputeStatus.OPEN), dispute.status, key=RANK.index)

    @property
    def taken_back(self) -> int:
        """The credit that goes back: all of it while a dispute has it, else what refunds reach."""
        if any(status in TAKING_DISPUTES for status in self.told_disputes.values()):
            return self.payment.credit_microusd
        return min(self.payment.credit_microusd, sum(cents for cents, status in self.told_refunds.values() if status in TAKING_REFUNDS))


class Payments:
    """A part of the machine: credit is bought, and goes back."""

    workspace: Workspace

    def begin_payments(self) -> None:
        self.bought: list[Bought] = []
        self.cents = [patch.object(module, "CENT", 1) for module in (reconciling, taking_back)]
        for each in self.cents:
            each.start()
        wallet, _ = Wallet.objects.get_or_create(workspace=self.workspace)
        TopUp.objects.create(wallet=wallet, is_enabled=True, stripe_method_id="pm_1")

    def end_payments(self) -> None:
        for each in self.cents:
            each.stop()

    def buy(self, credit: int, fee: int, kind: PaymentKind) -> None:
        wallet = Wallet.objects.get(workspace=self.workspace)
        self.bought.append(Bought(Payment.objects.create(wallet=wallet, credit_microusd=credit, fee_microusd=fee, kind=kind)))
        self.change_at_stripe(len(self.bought) - 1, 0 if credit % 4 else 2, 100, bool(credit % 3))

    def change_at_stripe(self, which: int, what: int, part: int, is_told: bool) -> None:
        """Something happens at Stripe, and is told at once or later."""
        if not self.bought:
            return
        one = self.bought[which % len(self.bought)]
        if one.status == PaymentStatus.PAID:
            [self._refund, self._dispute, self._end_refund, self._decide, self._refund, self._dispute][what % 6](one, part)
        elif one.status == PaymentStatus.OPEN:
            total = one.payment.total_microusd
            one.status, one.cents = [
                (PaymentStatus.PAID, total),
                (PaymentStatus.PAID, total),
                (PaymentStatus.OPEN, 0),
                (PaymentStatus.PAID, total - 1),
                (PaymentStatus.FAILED if one.payment.kind == PaymentKind.TOP_UP else PaymentStatus.EXPIRED, 0),
            ][what % 5]
        one.say()
        if is_told:
            self.deliver(which, 0, 1)

    def _refund(self, one: Bought, part: int) -> None:
        left = one.cents - sum(cents for cents, status in one.refunds.values() if status != RefundStatus.REFUSED)
        if left * part // 100:
            status = RefundStatus.DONE if part % 2 else RefundStatus.ASKED
            one.refunds[f"re_{one.payment.pk}_{len(one.refunds)}"] = (left * part // 100, status)

    def _end_refund(self, one: Bought, part: int) -> None:
        for name, (cents, status) in one.refunds.items():
            if status == RefundStatus.ASKED or (status == RefundStatus.DONE and part == 10):
                one.refunds[name] = (cents, RefundStatus.REFUSED if part == 10 else RefundStatus.DONE)
                return

    def _dispute(self, one: Bought, part: int) -> None:
        if part >= 50:
            one.disputes[f"du_{one.payment.pk}_{len(one.disputes)}"] = DisputeStatus.OPEN

    def _decide(self, one: Bought, part: int) -> None:
        for name, status in one.disputes.items():
            if status == DisputeStatus.OPEN or (status == DisputeStatus.LOST and part == 10):
                one.disputes[name] = DisputeStatus.LOST if part == 100 else DisputeStatus.WON
                return

    def deliver(self, which: int, age: int, times: int) -> None:
        """Apply something that Stripe said, the newest or older, once or twice."""
        if not self.bought or not (said := self.bought[which % len(self.bought)].said):
            return
        one = self.bought[which % len(self.bought)]
        truth = said[max(0, len(said) - 1 - age)]
        for _ in range(times):
            reconciling.apply(one.payment.pk, truth)
        one.hear(truth)
        event("told late" if truth is not said[-1] else "told")
        if one.told_refunds or one.told_disputes:
            event("taken back")

    def collect(self) -> None:
        """What refunds have not found comes out of what is there now."""
        collect_shortfalls(self.workspace.pk)
        short = [refund for refund in self._refunds() if refund.status in TAKING_REFUNDS and refund.taken_microusd < refund.credit_microusd]
        assert not short or Wallet.objects.get(workspace=self.workspace).available_microusd == 0

    def _refunds(self) -> list[Refund]:
        return list(Refund.objects.filter(payment__wallet__workspace=self.workspace))

    @property
    def came_in(self) -> int:
        """What payments have added to the balance, less what went back."""
        credited = sum(one.payment.credit_microusd for one in self.bought if one.is_credited)
        disputes = Dispute.objects.filter(payment__wallet__workspace=self.workspace, status__in=TAKING_DISPUTES)
        return credited - sum(refund.taken_microusd for refund in self._refunds()) - sum(each.credit_microusd for each in disputes)

    def check_payments(self) -> None:
        """Each purchase once, each state the furthest that was told, and as much taken back as that makes, in whatever order it came."""
        purchases = LedgerEntry.objects.filter(kind=EntryKind.CREDIT_PURCHASE).order_by("id").values_list("source", "amount_microusd")
        wanted = {taking_back.source_of(one.payment): one.payment.credit_microusd for one in self.bought if one.is_credited}
        assert sorted(purchases.filter(wallet__workspace=self.workspace)) == sorted(wanted.items())
        rows = Payment.objects.filter(wallet__workspace=self.workspace).prefetch_related("refunds", "disputes").order_by("pk")
        for one, payment in zip(self.bought, rows, strict=True):
            refunds, disputes = list(payment.refunds.all()), list(payment.disputes.all())
            assert {each.stripe_refund_id: (each.amount_microusd, each.status) for each in refunds} == one.told_refunds
            assert {each.stripe_dispute_id: each.status for each in disputes} == one.told_disputes
            taken = sum(each.credit_microusd for each in refunds if each.status in TAKING_REFUNDS)
            taken += sum(each.credit_microusd for each in disputes if each.status in TAKING_DISPUTES)
            assert taken == one.taken_back

    def check_dispute(self, wallet: Wallet) -> None:
        """A wallet is marked while a dispute that has its credit is open, and, once all are decided, only as long as it is short."""
        states = [status for one in self.bought for status in one.told_disputes.values()]
        if wallet.is_disputed:
            event("disputed")
            assert DisputeStatus.OPEN in states or wallet.balance_microusd < wallet.held_microusd
            assert DisputeStatus.OPEN in states or DisputeStatus.LOST in states
        else:
            assert 0 <= wallet.held_microusd <= wallet.balance_microusd
