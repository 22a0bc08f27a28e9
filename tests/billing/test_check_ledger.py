"""The books are checked from their parts: each planted difference is found, by name and amount, and nothing else is."""

from collections.abc import Callable
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db.models import F
from django.utils import timezone

from billing.checking import ledger_differences
from billing.enums import EntryKind
from billing.models import Allowance, Budget, Hold, LedgerEntry, Wallet
from tests.billing.spending import batch, close, open_, spend
from tests.factories import make_key, make_workspace
from workspaces.models import Workspace


@pytest.fixture
def books(workspace: Workspace) -> Workspace:
    """One budget of a key's that is closed ("run:1"), one with a cap and one without that are open ("run:2", "run:3")."""
    lineage = str(make_key(workspace, spend_ceiling_microusd=5_000)[0].lineage)
    closed = open_(workspace, source="run:1", cap=400, key=lineage)
    spend(closed, 120)
    close(closed, (100, 5), (15, 0))
    spend(open_(workspace, source="run:2", cap=300, key=lineage), 50)
    batch(open_(workspace, source="run:3", ceiling=800, key=lineage), (80, 10))
    make_workspace("Without anything")
    assert ledger_differences() == []
    return workspace


def entry(workspace: Workspace, amount: int, *, after: int | None = None, **fields: str) -> None:
    """An entry past the ledger: the wallet's balance stays as it is unless `after` says what it became."""
    wallet = Wallet.objects.get(workspace=workspace)
    if after is not None:
        Wallet.objects.filter(pk=wallet.pk).update(balance_microusd=after)
    kind = fields.pop("kind", EntryKind.ADJUSTMENT)
    LedgerEntry.objects.create(
        wallet=wallet,
        kind=kind,
        amount_microusd=amount,
        balance_after_microusd=wallet.balance_microusd + amount if after is None else after,
        idempotency_key=f"planted:{LedgerEntry.objects.count()}",
        **fields,
    )


BALANCE = 10_000_000 - 120
HELD = 300 + 100

PLANTED: dict[str, tuple[Callable[[Workspace], object], list[str]]] = {
    "balance": (
        lambda ours: Wallet.objects.filter(workspace=ours).update(balance_microusd=F("balance_microusd") + 7),
        [f"balance of wallet of {{workspace}}: stands at {BALANCE + 7}, should be {BALANCE}"],
    ),
    "entry without its balance": (
        lambda ours: entry(ours, 5),
        [f"balance of wallet of {{workspace}}: stands at {BALANCE}, should be {BALANCE + 5}"],
    ),
    "wrong balance after": (
        lambda ours: (entry(ours, 5, after=BALANCE + 4), Wallet.objects.filter(workspace=ours).update(balance_microusd=BALANCE + 5)),
        [f"balance after entry {{entry}}: stands at {BALANCE + 4}, should be {BALANCE + 5}"],
    ),
    "held": (
        lambda ours: Wallet.objects.filter(workspace=ours).update(held_microusd=F("held_microusd") + 1),
        [f"held of wallet of {{workspace}}: stands at {HELD + 1}, should be {HELD}"],
    ),
    "charged twice": (
        lambda ours: entry(ours, -3, after=BALANCE - 3, kind=EntryKind.USAGE, source="run:1"),
        ["entries of run:1: stands at 123, should be 120"],
    ),
    "charged before the end": (
        lambda ours: entry(ours, -3, after=BALANCE - 3, kind=EntryKind.PLATFORM_FEE, source="run:2"),
        ["entries of run:2: stands at 3, should be 0"],
    ),
    "charged for nothing known": (
        lambda ours: entry(ours, -3, after=BALANCE - 3, kind=EntryKind.USAGE, source="run:9"),
        ["entries of run:9, which has no budget: stands at 3, should be 0"],
    ),
    "settled after closing": (
        lambda _: Budget.objects.filter(source="run:1").update(settled_microusd=130),
        [
            "entries of run:1: stands at 120, should be 130",
            "spent of key_ceiling {lineage} of workspace {workspace}: stands at 120, should be 130",
            "spent of workspace_budget {month} of workspace {workspace}: stands at 120, should be 130",
            "spent of key_month {lineage}:{month} of workspace {workspace}: stands at 120, should be 130",
        ],
    ),
    "reserved after closing": (
        lambda _: Budget.objects.filter(source="run:1").update(reserved_microusd=9),
        ["reserved of run:1, which is closed: stands at 9, should be 0"],
    ),
    "cap not all held": (
        lambda _: Budget.objects.filter(source="run:2").update(bound_microusd=299),
        ["hold of run:2: stands at 300, should be 299"],
    ),
    "hold that does not cover": (
        lambda _: Budget.objects.filter(source="run:3").update(reserved_microusd=101),
        ["hold of run:3: stands at 100, should be 101"],
    ),
    "hold above the bound": (
        lambda _: Budget.objects.filter(source="run:3").update(bound_microusd=99),
        ["hold of run:3: stands at 100, should be 80"],
    ),
    "bound without a hold": (
        lambda _: Budget.objects.create(source="run:4", wallet=Wallet.objects.earliest("id"), bound_microusd=5, bound_by="cap"),
        ["bound of run:4, which holds nothing: stands at 5, should be 0"],
    ),
    "hold that was released early": (
        lambda ours: (
            Hold.objects.filter(source="run:2").update(released_at=timezone.now()),
            Wallet.objects.filter(workspace=ours).update(held_microusd=F("held_microusd") - 300),
        ),
        ["hold of run:2, released while its budget is open: stands at 0, should be 300"],
    ),
    "hold that was not released": (
        lambda ours: (
            Hold.objects.filter(source="run:1").update(released_at=None),
            Wallet.objects.filter(workspace=ours).update(held_microusd=F("held_microusd") + 400),
        ),
        ["hold of run:1, whose budget is closed: stands at 400, should be 0"],
    ),
    "hold without a budget": (
        lambda ours: (
            Hold.objects.create(wallet=Wallet.objects.get(workspace=ours), source="run:5", amount_microusd=6),
            Wallet.objects.filter(workspace=ours).update(held_microusd=F("held_microusd") + 6),
        ),
        ["hold of run:5, which has no budget: stands at 6, should be 0"],
    ),
    "reserved of an allowance": (
        lambda _: Allowance.objects.filter(kind="key_ceiling").update(reserved_microusd=F("reserved_microusd") - 1),
        ["reserved of key_ceiling {lineage} of workspace {workspace}: stands at 399, should be 400"],
    ),
    "spent of an allowance": (
        lambda _: Allowance.objects.filter(kind="workspace_budget").update(spent_microusd=F("spent_microusd") + 1),
        ["spent of workspace_budget {month} of workspace {workspace}: stands at 121, should be 120"],
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_difference_is_found(books: Workspace, name: str) -> None:
    plant, found = PLANTED[name]
    plant(books)
    names = {
        "workspace": books.pk,
        "entry": LedgerEntry.objects.latest("id").public_id,
        "lineage": Allowance.objects.get(kind="key_ceiling").subject,
        "month": f"{timezone.now():%Y-%m}",
    }
    assert [str(difference) for difference in ledger_differences()] == [f"{text.format(**names)} micro-USD" for text in found]


def test_command_says_that_the_books_add_up(books: Workspace) -> None:
    out = StringIO()
    call_command("check_ledger", stdout=out)
    assert out.getvalue() == "The books add up.\n"


def test_command_names_the_differences_and_fails(books: Workspace) -> None:
    PLANTED["charged twice"][0](books)
    errors = StringIO()
    with pytest.raises(CommandError, match=r"^1 difference$") as ended:
        call_command("check_ledger", stderr=errors)
    assert (ended.value.returncode, errors.getvalue()) == (1, "entries of run:1: stands at 123, should be 120 micro-USD\n")


@pytest.mark.django_db(transaction=True)
def test_check_outside_a_transaction_reads_one_moment_and_writes_nothing(books: Workspace) -> None:
    assert ledger_differences() == []
    open_(books, cap=10)  # the connection writes again afterwards
    assert ledger_differences() == []
