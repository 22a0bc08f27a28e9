"""Where a month's charges went: sums of the ledger's very entries, by what they were for."""

from collections.abc import Callable
from datetime import UTC, date, datetime

import pytest
from django.db.models import Sum

from billing.enums import EntryKind
from billing.models import LedgerEntry
from billing.months import InvalidMonth, this_month
from billing.queries import wallet_figures
from billing.statements import CHARGES, Charged, charged_in
from runs.spending import NO_KEY, NO_MEMBER, NO_RUN, Spent, spending_of
from tests import factories
from tests.runs.charging import charge, free_run
from tests.runs.handwork import Hand, answers, end, shards_of
from tests.runs.working import start
from workspaces.actions import roll_api_key
from workspaces.actors import SYSTEM, Actor, actor_of_key, actor_of_user
from workspaces.models import User, Workspace

NOVEMBER, LATER = "2025-11", datetime(2025, 11, 20, 12, tzinfo=UTC)


def rows(spent: list[Spent]) -> list[tuple[str, int, float]]:
    return [(row.name, row.charged.total_microusd, round(row.share, 4)) for row in spent]


def test_charges_are_told_by_benchmark_model_member_and_key(workspace: Workspace, owner: User, member: User) -> None:
    sums, facts = (factories.make_version(factories.make_benchmark(slug, name=slug.title()), tasks=2) for slug in ("sums", "facts"))
    key, _ = factories.make_key(workspace, label="Nightly")
    by_owner = free_run(workspace, actor_of_user(owner), sums.profile_id)
    by_member = free_run(workspace, actor_of_user(member), sums.profile_id)
    by_key = free_run(workspace, actor_of_key(key), facts.profile_id)
    roll_api_key(key, actor=SYSTEM)
    charge(workspace, by_owner.budget_source, "example/large", usage=1_000_001, fee=50_001, at=LATER)
    charge(workspace, by_owner.budget_source, "example/small", usage=100, fee=5, at=LATER)
    charge(workspace, by_member.budget_source, "example/small", usage=300_000, fee=0, at=LATER)
    charge(workspace, by_key.budget_source, "example/large", usage=7, fee=1, at=LATER)
    charge(workspace, "job:1", "Something else", usage=10, fee=0, at=LATER)
    found = spending_of(workspace, NOVEMBER)
    assert found.total == Charged(1_300_118, 50_007)
    assert rows(found.benchmarks) == [("Sums", 1_350_107, 1.0), (NO_RUN, 10, 0.0), ("Facts", 8, 0.0)]
    assert rows(found.models) == [("example/large", 1_050_010, 0.7777), ("example/small", 300_105, 0.2223), (NO_RUN, 10, 0.0)]
    assert rows(found.members) == [
        ("owner@example.org", 1_050_107, 0.7778),
        ("member@example.org", 300_000, 0.2222),
        (NO_RUN, 10, 0.0),
        (NO_MEMBER, 8, 0.0),
    ]
    assert rows(found.keys) == [(NO_KEY, 1_350_107, 1.0), (NO_RUN, 10, 0.0), ("Nightly", 8, 0.0)]
    newest = workspace.api_keys.earliest("-id")
    assert (found.keys[2].id, found.benchmarks[0].id, found.models[0].id) == (str(newest.public_id), "sums", "example/large")
    assert newest.pk != key.pk


def test_every_list_adds_up_to_what_the_ledger_entered_in_the_month(workspace: Workspace, actor: Actor) -> None:
    """A run that ends as the month turns has entries in both months, and each month has its own of them."""
    version = factories.make_version(tasks=2)
    runs = [free_run(workspace, actor, version.profile_id) for _ in range(3)]
    moments = [
        datetime(2025, 10, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(2025, 11, 1, tzinfo=UTC),
        datetime(2025, 11, 30, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(2025, 12, 1, tzinfo=UTC),
    ]
    for number, at in enumerate(moments):
        for place, run in enumerate(runs):
            charge(workspace, run.budget_source, f"model {number}", usage=10**number * 1_001 + place, fee=10**number * 51, at=at)
    for month, models in (("2025-10", [0]), (NOVEMBER, [1, 2]), ("2025-12", [3])):
        year, number = map(int, month.split("-"))
        entered = LedgerEntry.objects.filter(
            wallet__workspace=workspace, kind__in=CHARGES, created_at__year=year, created_at__month=number
        ).aggregate(total=Sum("amount_microusd"))
        found = spending_of(workspace, month)
        assert found.total.total_microusd == -entered["total"] == charged_in(workspace, month).total_microusd
        assert {row.name for row in found.models} == {f"model {number}" for number in models}
        for spent in (found.benchmarks, found.models, found.members, found.keys):
            assert sum((row.charged for row in spent), Charged()) == found.total
        assert sum(found.days.values(), Charged()) == found.total
    days = spending_of(workspace, NOVEMBER).days
    assert (len(days), days[date(2025, 11, 1)].usage_microusd, days[date(2025, 11, 30)].fee_microusd) == (30, 30_033, 15_300)
    assert days[date(2025, 11, 2)] == Charged()


def test_a_worked_run_is_found_to_the_microusd(workspace: Workspace, actor: Actor) -> None:
    version, route = factories.make_version(tasks=5), factories.make_route(input_rate=333_333, output_rate=777_777)
    run = start(workspace, actor, subjects=[route.route_id], selection={"profile_ids": [version.profile_id]}, coverage={"mode": "full"})
    hand = Hand()
    for shard in shards_of(run):
        grant = hand.take(shard)
        hand.reserve(grant, 5)
        hand.hand_in(grant, answers(grant, 5))
        hand.hand_in(grant, release=True)
    end(run)
    figures, found = wallet_figures(workspace), spending_of(workspace, this_month())
    assert found.total == Charged(figures["settled_usage_microusd"], figures["settled_platform_fees_microusd"])
    assert found.total.fee_microusd > 0
    assert [(row.id, row.charged) for row in found.benchmarks] == [(version.benchmark.slug, found.total)]
    assert [row.id for row in found.members] == [str(actor.user.public_id) if actor.user else None]


def test_nothing_of_another_workspace_is_counted(workspace: Workspace, other_workspace: Workspace, actor: Actor) -> None:
    """Also where an entry of ours names a run of theirs: it is ours to pay and theirs to see."""
    version = factories.make_version(tasks=2)
    theirs = free_run(other_workspace, SYSTEM, version.profile_id)
    charge(other_workspace, theirs.budget_source, "theirs", usage=500, fee=5, at=LATER)
    charge(workspace, theirs.budget_source, "ours", usage=3, fee=0, at=LATER)
    found = spending_of(workspace, NOVEMBER)
    assert (found.total, rows(found.benchmarks)) == (Charged(3, 0), [(NO_RUN, 3, 1.0)])


def test_what_only_looks_like_a_run_is_other_work(workspace: Workspace, actor: Actor) -> None:
    run = free_run(workspace, actor, factories.make_version(tasks=2).profile_id)
    charge(workspace, f"job:{run.public_id}", "m", usage=3, fee=0, at=LATER)
    assert rows(spending_of(workspace, NOVEMBER).benchmarks) == [(NO_RUN, 3, 1.0)]


@pytest.mark.parametrize(
    "source", ["", "run:", "run:x", "run:0198c0de-zzzz-7000-8000-000000000000", "run:0198c0de-0000-7000-8000-000000000000"]
)
def test_entries_of_no_run_are_other_work(workspace: Workspace, source: str) -> None:
    charge(workspace, source, "m", usage=5, fee=1, at=LATER)
    assert rows(spending_of(workspace, NOVEMBER).members) == [(NO_RUN, 6, 1.0)]


def test_a_workspace_without_a_wallet_has_spent_nothing(db: None) -> None:
    workspace = Workspace.objects.create(name="Bare")
    found = spending_of(workspace, NOVEMBER)
    assert (found.total, found.models, len(found.days)) == (Charged(), [], 30)


@pytest.mark.parametrize("month", ["", "2025-13", "2025-00", "2025-1", "25-11", "2025-11 ", "٢٠٢٥-11", "9999-12", "1999-12"])
def test_what_is_no_month_is_refused(workspace: Workspace, month: str) -> None:
    with pytest.raises(InvalidMonth):
        spending_of(workspace, month)


@pytest.mark.parametrize("count", [1, 4])
def test_six_queries_whatever_the_number_of_entries(
    workspace: Workspace, actor: Actor, django_assert_num_queries: Callable[..., object], count: int
) -> None:
    key, _ = factories.make_key(workspace)
    for number in range(count):
        version = factories.make_version(tasks=2)
        for who in (actor, actor_of_key(key)):
            charge(workspace, free_run(workspace, who, version.profile_id).budget_source, f"m{number}", usage=5, fee=1, at=LATER)
    with django_assert_num_queries(6):  # type: ignore[attr-defined]
        found = spending_of(workspace, NOVEMBER)
    assert (len(found.benchmarks), found.total) == (count, Charged(10 * count, 2 * count))


def test_fee_credits_and_purchases_are_no_charges(workspace: Workspace) -> None:
    charge(workspace, "job:1", "m", usage=5, fee=1, at=LATER)
    wallet = workspace.wallet
    for kind in (EntryKind.FEE_CREDIT, EntryKind.CREDIT_PURCHASE, EntryKind.ADJUSTMENT):
        LedgerEntry.objects.create(
            wallet=wallet, kind=kind, amount_microusd=99, balance_after_microusd=99, idempotency_key=kind, created_at=LATER
        )
    assert spending_of(workspace, NOVEMBER).total == Charged(5, 1)
