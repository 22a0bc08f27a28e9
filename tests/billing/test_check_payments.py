"""The books of what was bought and taken back, and of keys that keys made: planted differences are found, and nothing else is."""

from collections.abc import Callable

import pytest
from django.utils import timezone

from billing.budgets import open_budget
from billing.checking import ledger_differences
from billing.enums import DisputeStatus, EntryKind, PaymentStatus, RefundStatus
from billing.ledger import post_entry
from billing.models import Allowance, Budget, Dispute, LedgerEntry, Payment, Refund, Wallet
from common.errors import PaymentRequired
from tests.billing.spending import close, open_, spend, wallet_of
from tests.factories import make_key
from workspaces.actions import create_api_key
from workspaces.actors import actor_of_key
from workspaces.enums import Scope
from workspaces.models import Workspace

PAID = 1_000


def enter(payment: Payment, kind: EntryKind, amount: int) -> None:
    """An entry of the payment, written by the ledger."""
    count = LedgerEntry.objects.count()
    post_entry(Wallet.objects.get(pk=payment.wallet_id), kind, amount, key=f"test:{count}", source=f"payment:{payment.public_id}")


@pytest.fixture
def payment(workspace: Workspace) -> Payment:
    """Paid, with a refund of 100 of which 60 could be taken, one that failed, a dispute that was won, and an open one of 300."""
    wallet = wallet_of(workspace)
    paid = Payment.objects.create(wallet=wallet, credit_microusd=PAID, fee_microusd=50, status=PaymentStatus.PAID, paid_at=timezone.now())
    enter(paid, EntryKind.CREDIT_PURCHASE, PAID)
    Refund.objects.create(payment=paid, status=RefundStatus.DONE, amount_microusd=105, credit_microusd=100, taken_microusd=60)
    enter(paid, EntryKind.REFUND, -60)
    Refund.objects.create(payment=paid, status=RefundStatus.REFUSED, amount_microusd=200, credit_microusd=200)
    enter(paid, EntryKind.REFUND, -200)
    enter(paid, EntryKind.REFUND, 200)
    Dispute.objects.create(payment=paid, stripe_dispute_id="du_1", status=DisputeStatus.WON, credit_microusd=500)
    enter(paid, EntryKind.DISPUTE, -500)
    enter(paid, EntryKind.DISPUTE, 500)
    Dispute.objects.create(payment=paid, stripe_dispute_id="du_2", credit_microusd=300)
    enter(paid, EntryKind.DISPUTE, -300)
    Payment.objects.create(wallet=wallet, credit_microusd=70, fee_microusd=0)
    assert ledger_differences() == []
    return paid


PLANTED: dict[str, tuple[Callable[[Payment], object], list[str]]] = {
    "credit without a paid payment": (
        lambda paid: Payment.objects.filter(pk=paid.pk).update(status=PaymentStatus.OPEN),
        ["purchase of {source}: stands at 1000, should be 0"],
    ),
    "paid without credit": (
        lambda paid: Payment.objects.exclude(pk=paid.pk).update(status=PaymentStatus.PAID),
        ["purchase of {other}: stands at 0, should be 70"],
    ),
    "credited twice": (lambda paid: enter(paid, EntryKind.CREDIT_PURCHASE, PAID), ["purchase of {source}: stands at 2000, should be 1000"]),
    "refund that took what it did not note": (
        lambda paid: enter(paid, EntryKind.REFUND, -40),
        ["refunds of {source}: stands at 100, should be 60"],
    ),
    "refund that noted what it did not take": (
        lambda _: Refund.objects.filter(taken_microusd=60).update(taken_microusd=100),
        ["refunds of {source}: stands at 60, should be 100"],
    ),
    "dispute taken twice": (
        lambda paid: enter(paid, EntryKind.DISPUTE, -300),
        ["disputes of {source}: stands at 600, should be 300"],
    ),
    "dispute that was won and gave nothing back": (
        lambda _: Dispute.objects.filter(stripe_dispute_id="du_2").update(status=DisputeStatus.WON),
        ["disputes of {source}: stands at 300, should be 0"],
    ),
    "more taken back than bought": (
        lambda _: Payment.objects.filter(status=PaymentStatus.PAID).update(credit_microusd=350),
        ["purchase of {source}: stands at 1000, should be 350", "taken back of {source}: stands at 360, should be 350"],
    ),
    "wallet that an open dispute has not marked": (
        lambda _: Wallet.objects.update(is_disputed=False),
        ["open disputes that {wallet} is marked for: stands at 0, should be 1"],
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_difference_of_a_payment_is_found(payment: Payment, name: str) -> None:
    plant, found = PLANTED[name]
    plant(payment)
    other = Payment.objects.exclude(pk=payment.pk).get()
    names = {"source": f"payment:{payment.public_id}", "other": f"payment:{other.public_id}", "wallet": str(payment.wallet)}
    assert [str(difference) for difference in ledger_differences()] == [f"{text.format(**names)} micro-USD" for text in found]


def test_balance_below_nothing_without_a_dispute_is_found(workspace: Workspace) -> None:
    wallet = wallet_of(workspace)
    post_entry(wallet, EntryKind.DISPUTE, -wallet.balance_microusd - 5, key="test:gone", source="nothing")
    assert [str(difference) for difference in ledger_differences()] == [
        f"balance of {wallet}, without a dispute: stands at -5, should be 0 micro-USD",
        "entries of nothing, which has no payment: stands at -10000005, should be 0 micro-USD",
    ]


def test_wallet_that_a_lost_dispute_left_short_is_in_order(payment: Payment) -> None:
    paid, wallet = payment, wallet_of(payment.wallet.workspace)
    post_entry(wallet, EntryKind.ADJUSTMENT, -wallet.balance_microusd, key="test:spent")
    Dispute.objects.filter(stripe_dispute_id="du_2").update(status=DisputeStatus.LOST, credit_microusd=900)
    enter(paid, EntryKind.DISPUTE, -600)
    assert wallet_of(wallet.workspace).balance_microusd == -600
    assert ledger_differences() == []


@pytest.fixture
def grandchild(workspace: Workspace) -> str:
    """The lineage of a key that a key made that a person's key made; it has an ended budget of 30 and an open one of 50."""
    key, _ = make_key(workspace, spend_ceiling_microusd=1_000)
    for label in ("child", "grandchild"):
        key, _ = create_api_key(workspace, actor=actor_of_key(key), label=label, scopes=list(Scope), spend_ceiling_microusd=500)
    ended = open_(workspace, source="run:1", cap=40, key=str(key.lineage))
    spend(ended, 30)
    close(ended)
    open_(workspace, source="run:2", cap=50, key=str(key.lineage))
    assert ledger_differences() == []
    return str(key.lineage)


@pytest.mark.parametrize("kind", ["key_ceiling", "key_month"])
def test_budget_that_does_not_count_on_the_key_behind_its_key_is_found(workspace: Workspace, grandchild: str, kind: str) -> None:
    root = Allowance.objects.filter(kind="key_ceiling").earliest("id")
    child = Allowance.objects.filter(kind="key_ceiling").exclude(subject__in=[root.subject, grandchild]).get()
    left_out = Allowance.objects.get(kind=kind, subject__startswith=root.subject)
    for budget in Budget.objects.all():
        budget.allowances.remove(left_out)
    Allowance.objects.filter(pk=left_out.pk).update(reserved_microusd=0, spent_microusd=0)
    assert [(each.what, each.stands, each.expected) for each in ledger_differences()] == [
        (f"run:1 of key {child.subject} on key {root.subject}, which it comes from", 0, 30),
        (f"run:2 of key {child.subject} on key {root.subject}, which it comes from", 0, 50),
    ]


def test_start_that_the_key_behind_refuses_leaves_the_books_in_order(workspace: Workspace, grandchild: str) -> None:
    with pytest.raises(PaymentRequired, match="ceiling"):
        open_budget(workspace, source="run:3", cap_microusd=900, ceiling_microusd=900, minimum_microusd=900, key_lineage=grandchild)
    assert Budget.objects.count() == 2
