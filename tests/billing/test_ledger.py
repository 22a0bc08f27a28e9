"""Entries: once for their key, on the balance that is there now, and by whom they may be written."""

import pytest
from django.db import IntegrityError, transaction
from pytest_django import Settings

from billing.actions import grant_credit, grant_welcome_credit
from billing.checking import ledger_differences
from billing.enums import EntryKind
from billing.ledger import EntryDiffers, lock_wallet, post_entry, wallet_id_of
from billing.models import LedgerEntry, Wallet
from billing.queries import entries_for, get_wallet, wallet_figures
from common.errors import Conflict, Forbidden, Refused
from common.money import MAX_MICROUSD
from tests.factories import make_key, make_user, make_workspace
from workspaces.actions import create_workspace
from workspaces.actors import SYSTEM, Actor, actor_of_key, actor_of_user
from workspaces.models import AuditEntry, User, Workspace


def post(workspace: Workspace, amount: int, key: str, kind: EntryKind = EntryKind.ADJUSTMENT) -> tuple[LedgerEntry, bool]:
    with transaction.atomic():
        return post_entry(lock_wallet(wallet_id_of(workspace)), kind, amount, key=key)


def balance(workspace: Workspace) -> int:
    return Wallet.objects.get(workspace=workspace).balance_microusd


def test_entry_moves_the_balance_and_keeps_what_it_came_to(workspace: Workspace) -> None:
    entry, is_new = post(workspace, 2_500_000, "a")
    assert (is_new, entry.balance_after_microusd, balance(workspace)) == (True, 12_500_000, 12_500_000)
    assert ledger_differences() == []


def test_entry_posted_again_under_its_key_is_the_one_there_is(workspace: Workspace) -> None:
    first, _ = post(workspace, 2_500_000, "a")
    again, is_new = post(workspace, 2_500_000, "a")
    assert (again.pk, is_new, balance(workspace)) == (first.pk, False, 12_500_000)


@pytest.mark.parametrize(("amount", "kind"), [(2_500_001, EntryKind.ADJUSTMENT), (2_500_000, EntryKind.REFUND)])
def test_key_that_stands_for_another_entry_is_an_error(workspace: Workspace, amount: int, kind: EntryKind) -> None:
    post(workspace, 2_500_000, "a")
    with pytest.raises(EntryDiffers):
        post(workspace, amount, "a", kind)
    assert balance(workspace) == 12_500_000


def test_key_of_another_wallet_is_an_error(workspace: Workspace, other_workspace: Workspace) -> None:
    post(other_workspace, 2_500_000, "a")
    with pytest.raises(EntryDiffers):
        post(workspace, 2_500_000, "a")
    assert (balance(workspace), balance(other_workspace)) == (10_000_000, 12_500_000)


def test_two_stale_copies_of_a_wallet_lose_nothing(workspace: Workspace) -> None:
    one, two = get_wallet(workspace), get_wallet(workspace)
    for stale, key in ((one, "a"), (two, "b")):
        assert stale.balance_microusd == 10_000_000
        with transaction.atomic():
            post_entry(lock_wallet(stale.pk), EntryKind.ADJUSTMENT, 1_000_000, key=key)
    assert balance(workspace) == 12_000_000
    assert ledger_differences() == []


def test_several_entries_follow_one_lock(workspace: Workspace) -> None:
    with transaction.atomic():
        wallet = lock_wallet(wallet_id_of(workspace))
        for number in range(3):
            post_entry(wallet, EntryKind.USAGE, -1, key=f"u{number}")
    assert [entry.balance_after_microusd for entry in entries_for(workspace)] == [9_999_997, 9_999_998, 9_999_999, 10_000_000]


@pytest.mark.parametrize("changes", [{"held_microusd": -1}, {"held_microusd": 10_000_001}, {"balance_microusd": -1}])
def test_wallet_that_holds_what_it_lacks_is_refused_by_the_database(workspace: Workspace, changes: dict[str, int]) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Wallet.objects.filter(workspace=workspace).update(**changes)


def test_disputed_wallet_may_be_below_zero_and_has_nothing_available(workspace: Workspace) -> None:
    Wallet.objects.filter(workspace=workspace).update(balance_microusd=-5, held_microusd=3, is_disputed=True)
    assert wallet_figures(workspace)["available_microusd"] == 0


# Grants


def test_grant_is_an_adjustment_with_its_reason_and_an_audit_entry(workspace: Workspace, staff: User) -> None:
    entry = grant_credit(workspace, actor=actor_of_user(staff), amount_microusd=1_500_000, reason="  For the trial ")
    assert (entry.kind, entry.amount_microusd, entry.note, entry.actor_label) == ("adjustment", 1_500_000, "For the trial", staff.email)
    audited = AuditEntry.objects.get()
    assert (audited.workspace, audited.actor_label, audited.action, audited.target) == (
        workspace,
        staff.email,
        "billing.grant_credit",
        str(entry.public_id),
    )
    assert audited.data == {"amount_microusd": "1500000", "reason": "For the trial"}


def test_grant_repeated_under_its_key_is_one_grant_and_one_audit_entry(workspace: Workspace) -> None:
    entries = [grant_credit(workspace, actor=SYSTEM, amount_microusd=1_500_000, reason="x", key="k").pk for _ in range(2)]
    assert (len(set(entries)), balance(workspace), AuditEntry.objects.count()) == (1, 11_500_000, 1)


def test_correction_repeated_when_the_credit_is_gone_is_the_one_there_is(workspace: Workspace) -> None:
    entries = [grant_credit(workspace, actor=SYSTEM, amount_microusd=-10_000_000, reason="x", key="k").pk for _ in range(2)]
    assert (len(set(entries)), balance(workspace)) == (1, 0)


def test_key_of_another_grant_is_a_conflict(workspace: Workspace, other_workspace: Workspace) -> None:
    grant_credit(other_workspace, actor=SYSTEM, amount_microusd=1_500_000, reason="x", key="k")
    with pytest.raises(Conflict) as refused:
        grant_credit(workspace, actor=SYSTEM, amount_microusd=1_500_000, reason="x", key="k")
    assert (refused.value.code, balance(workspace), AuditEntry.objects.count()) == ("idempotency_key_reused", 10_000_000, 1)


def test_only_platform_staff_grants(workspace: Workspace, owner: User, member: User, stranger: User) -> None:
    key, _ = make_key(workspace)
    gone = make_user(is_staff=True, is_active=False)
    audited = AuditEntry.objects.count()
    actors: list[Actor] = [*(actor_of_user(user) for user in (owner, member, stranger, gone)), actor_of_key(key)]
    for actor in actors:
        with pytest.raises(Forbidden):
            grant_credit(workspace, actor=actor, amount_microusd=1, reason="x")
    assert (balance(workspace), AuditEntry.objects.count()) == (10_000_000, audited)


@pytest.mark.parametrize(
    ("amount", "reason", "code"),
    [
        (0, "x", "invalid_amount"),
        (MAX_MICROUSD + 1, "x", "invalid_amount"),
        (-MAX_MICROUSD - 1, "x", "invalid_amount"),
        (1, "", "reason_required"),
        (1, " \n", "reason_required"),
    ],
)
def test_unfit_grant_is_refused(workspace: Workspace, amount: int, reason: str, code: str) -> None:
    with pytest.raises(Refused) as refused:
        grant_credit(workspace, actor=SYSTEM, amount_microusd=amount, reason=reason)
    assert (refused.value.code, balance(workspace), AuditEntry.objects.count()) == (code, 10_000_000, 0)


def test_correction_takes_what_is_free_and_not_what_is_held(workspace: Workspace) -> None:
    Wallet.objects.filter(workspace=workspace).update(held_microusd=9_000_000)
    grant_credit(workspace, actor=SYSTEM, amount_microusd=-1_000_000, reason="A mistake")
    with pytest.raises(Conflict) as refused:
        grant_credit(workspace, actor=SYSTEM, amount_microusd=-1, reason="A mistake")
    assert (refused.value.code, refused.value.details) == ("balance_held", {"available_microusd": "0"})
    assert balance(workspace) == 9_000_000


def test_correction_of_more_than_there_is_says_what_there_is(workspace: Workspace) -> None:
    with pytest.raises(Conflict) as refused:
        grant_credit(workspace, actor=SYSTEM, amount_microusd=-10_000_001, reason="A mistake")
    assert (refused.value.code, refused.value.message) == (
        "balance_too_low",
        "The wallet has $10.00; a correction takes no more than that.",
    )
    assert balance(workspace) == 10_000_000


# Welcome credit


@pytest.fixture
def _welcome(settings: Settings) -> None:
    settings.WELCOME_CREDIT_MICROUSD = 5_000_000


@pytest.mark.usefixtures("db", "_welcome")
def test_person_with_two_workspaces_is_welcomed_once() -> None:
    user = make_user()
    first, second = (create_workspace(user, actor=actor_of_user(user), name=name) for name in ("First", "Second"))
    entry = LedgerEntry.objects.get()
    assert (entry.kind, entry.idempotency_key) == ("welcome_credit", f"welcome:{user.public_id}")
    assert (balance(first), balance(second)) == (5_000_000, 0)


@pytest.mark.usefixtures("db", "_welcome")
def test_two_people_of_one_workspace_are_welcomed_each(workspace: Workspace) -> None:
    entries = [grant_welcome_credit(workspace, user=make_user()) for _ in range(2)]
    assert [entry is not None for entry in entries] == [True, True]
    assert balance(workspace) == 20_000_000


@pytest.mark.usefixtures("_welcome")
def test_welcome_in_another_workspace_at_the_same_moment_is_given_once(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have looked before either wrote: the second finds out when it writes, and goes on without credit."""
    user, other = make_user(), make_workspace()
    assert grant_welcome_credit(other, user=user) is not None
    answers = [None, LedgerEntry.objects.get(kind=EntryKind.WELCOME_CREDIT)]
    monkeypatch.setattr("billing.actions.entry_under", lambda _key: answers.pop(0))
    assert grant_welcome_credit(workspace, user=user) is None
    assert (answers, balance(workspace)) == ([], 10_000_000)


@pytest.mark.usefixtures("db")
def test_no_welcome_credit_where_it_is_turned_off(settings: Settings) -> None:
    settings.WELCOME_CREDIT_MICROUSD = 0
    user = make_user()
    workspace = create_workspace(user, actor=actor_of_user(user), name="First")
    assert (balance(workspace), LedgerEntry.objects.count()) == (0, 0)
