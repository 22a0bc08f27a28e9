"""Starting a quote: once, everything checked again, and nothing half-made where it is refused."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from billing.limits import set_key_ceiling, set_workspace_limit
from billing.models import Allowance, Budget, Hold, Wallet
from catalog.actions import archive_benchmark, retire_version
from catalog.enums import RouteState
from catalog.models import BenchmarkVersion, ModelRoute
from common.errors import Forbidden, PaymentRequired, Refused
from gateway.actions import change_connection, delete_connection
from gateway.models import Connection
from runs.actions import create_quote, quote_and_start, start_run
from runs.models import Event, Quote, Run, RunBenchmark, Shard, Subject
from tests import factories
from tests.runs.handwork import assert_books
from workspaces.actors import SYSTEM, Actor, actor_of_key, actor_of_user
from workspaces.models import User, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def asked(version: BenchmarkVersion, route: ModelRoute) -> dict[str, Any]:
    return {"model": route.route_id, "benchmark": version.profile_id, "coverage": {"mode": "full"}}


@pytest.fixture
def quote(workspace: Workspace, actor: Actor, asked: dict[str, Any]) -> Quote:
    return create_quote(workspace, actor=actor, request=asked | {"max_charge_microusd": "1000"})


def assert_nothing_made(quote: Quote) -> None:
    """The quote is open, and neither a run nor a hold nor a reservation is there."""
    quote.refresh_from_db()
    assert quote.status == "open"
    assert [model.objects.count() for model in (Run, RunBenchmark, Subject, Shard, Event, Budget, Hold)] == [0] * 7
    assert not Wallet.objects.exclude(held_microusd=0).exists()
    assert not Allowance.objects.exclude(reserved_microusd=0).exists()


def refusal(quote: Quote, actor: Actor, **options: Any) -> Refused:
    with pytest.raises(Refused) as caught:
        start_run(quote, actor=actor, **options)
    assert_nothing_made(quote)
    return caught.value


def test_started_run_has_its_subjects_shards_hold_and_first_event(workspace: Workspace, actor: Actor) -> None:
    version = factories.make_version(tasks=1_200)
    routes = [factories.make_route() for _ in range(2)]
    quote = create_quote(
        workspace,
        actor=actor,
        request={
            "subjects": [*(route.route_id for route in routes), "random-choice"],
            "benchmark": version.profile_id,
            "coverage": {"mode": "full"},
            "max_charge_microusd": "50000",
            "concurrency": 7,
            "name": "A run",
            "metadata": {"ticket": "17"},
        },
    )
    run, created = start_run(quote, actor=actor)
    assert (created, run.status, run.phase, run.planned, run.name, run.metadata) == (
        True, "queued", "queued", 3_600, "A run", {"ticket": "17"},
    )  # fmt: skip
    assert [(subject.label, subject.planned, subject.concurrency) for subject in run.subjects.all()] == [
        (routes[0].route_id, 1_200, 7), (routes[1].route_id, 1_200, 7), ("random-choice", 1_200, 7),
    ]  # fmt: skip
    ranges = [(shard.start, shard.stop, shard.sent_through, shard.is_done) for shard in Shard.objects.filter(subject__index=1, run=run)]
    assert ranges == [(0, 500, 0, False), (500, 1_000, 500, False), (1_000, 1_200, 1_000, False)]
    hold = Hold.objects.get(source=run.budget_source)
    assert (hold.amount_microusd, Wallet.objects.get(workspace=workspace).held_microusd) == (50_000, 50_000)
    assert [event.type for event in Event.objects.filter(run=run)] == ["run.queued"]
    assert_books(run)


def test_tasks_with_long_prompts_are_worked_in_smaller_shards(workspace: Workspace, actor: Actor, route: ModelRoute) -> None:
    rows = [{"values": {"question": "x" * 300_000 if n == 0 else "x"}, "reference": "1"} for n in range(120)]
    version = factories.make_version(rows=rows)
    request = {"model": route.route_id, "benchmark": version.profile_id, "coverage": {"mode": "full"}, "max_charge_microusd": "200000"}
    run, _ = quote_and_start(workspace, actor=actor, request=request)
    assert [(shard.start, shard.stop) for shard in Shard.objects.filter(run=run)] == [(0, 55), (55, 110), (110, 120)]


def test_hold_is_the_ceiling_where_the_cap_is_above_it(workspace: Workspace, actor: Actor, asked: dict[str, Any]) -> None:
    quote = create_quote(workspace, actor=actor, request=asked | {"max_charge_microusd": "9000000"})
    run, _ = start_run(quote, actor=actor)
    budget = Budget.objects.get(source=run.budget_source)
    assert (budget.bound_microusd, budget.bound_by) == (quote.ceiling_microusd, "ceiling")
    assert_books(run)


def test_run_without_a_cap_holds_nothing_yet(workspace: Workspace, actor: Actor, asked: dict[str, Any]) -> None:
    run, _ = quote_and_start(workspace, actor=actor, request=asked)
    assert Wallet.objects.get(workspace=workspace).held_microusd == 0
    assert_books(run)


def test_second_start_gives_the_same_run(quote: Quote, actor: Actor, member: User) -> None:
    run, _ = start_run(quote, actor=actor)
    again, created = start_run(Quote.objects.get(pk=quote.pk), actor=actor_of_user(member))
    assert (again.pk, created, Run.objects.count(), Hold.objects.count()) == (run.pk, False, 1, 1)


def test_stale_copy_of_the_quote_gives_the_same_run(quote: Quote, actor: Actor) -> None:
    """Two requests that read the quote while it was open."""
    stale = Quote.objects.get(pk=quote.pk)
    run, _ = start_run(quote, actor=actor)
    assert (stale.status, start_run(stale, actor=actor)) == ("open", (run, False))


def test_second_start_after_expiry_or_with_less_money_stated_gives_the_same_run(quote: Quote, actor: Actor) -> None:
    run, _ = start_run(quote, actor=actor)
    Quote.objects.filter(pk=quote.pk).update(expires_at=timezone.now() - timedelta(days=1))
    quote.refresh_from_db()
    assert start_run(quote, actor=actor, stated_max_microusd=1) == (run, False)


def test_expired_quote_is_refused(quote: Quote, actor: Actor) -> None:
    Quote.objects.filter(pk=quote.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    quote.refresh_from_db()
    assert refusal(quote, actor).code == "quote_expired"


@pytest.mark.parametrize("stated", [1_000, 1_001, 10**9])
def test_stated_maximum_at_or_above_the_cap_is_fine_and_the_cap_holds(quote: Quote, actor: Actor, stated: int) -> None:
    run, _ = start_run(quote, actor=actor, stated_max_microusd=stated)
    assert Budget.objects.get(source=run.budget_source).cap_microusd == 1_000


def test_stated_maximum_below_the_cap_is_refused(quote: Quote, actor: Actor) -> None:
    found = refusal(quote, actor, stated_max_microusd=999)
    assert (found.code, found.status, found.details) == ("quote_exceeds_cap", 409, {"quote_maximum_microusd": "1000"})


def test_stated_maximum_below_the_ceiling_of_a_quote_without_a_cap_is_refused(
    workspace: Workspace, actor: Actor, asked: dict[str, Any]
) -> None:
    quote = create_quote(workspace, actor=actor, request=asked)
    found = refusal(quote, actor, stated_max_microusd=quote.ceiling_microusd - 1)
    assert found.details == {"quote_maximum_microusd": str(quote.ceiling_microusd)}


def test_viewer_and_stranger_may_not_start(quote: Quote, viewer: User, stranger: User) -> None:
    for person in (viewer, stranger):
        with pytest.raises(Forbidden):
            start_run(quote, actor=actor_of_user(person))
        assert_nothing_made(quote)


def retire(version: BenchmarkVersion, **_: Any) -> None:
    retire_version(version, actor=SYSTEM)


def pause(route: ModelRoute, **_: Any) -> None:
    ModelRoute.objects.filter(pk=route.pk).update(state=RouteState.PAUSED)


def shrink(route: ModelRoute, **_: Any) -> None:
    ModelRoute.objects.filter(pk=route.pk).update(max_output_tokens=10)


def rename(route: ModelRoute, **_: Any) -> None:
    ModelRoute.objects.filter(pk=route.pk).update(route_id="example/renamed")


def move(connection: Connection, actor: Actor, **_: Any) -> None:
    change_connection(connection, actor=actor, model="another")


def fail_check(connection: Connection, **_: Any) -> None:
    Connection.objects.filter(pk=connection.pk).update(checked_at=None)


def delete(connection: Connection, actor: Actor, **_: Any) -> None:
    delete_connection(connection, actor=actor)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (retire, "benchmark_retired"),
        (pause, "route_unavailable"),
        (rename, "route_unavailable"),
        (shrink, "output_limit_too_large"),
        (move, "connection_changed"),
        (fail_check, "connection_unchecked"),
        (delete, "connection_gone"),
    ],
)
def test_what_changed_since_the_quote_is_named(
    workspace: Workspace, actor: Actor, version: BenchmarkVersion, route: ModelRoute, change: Callable[..., None], reason: str
) -> None:
    connection = factories.make_connection(workspace, name="ours")
    request = {"subjects": [route.route_id, "connection:ours"], "benchmark": version.profile_id, "coverage": {"mode": "full"}}
    quote = create_quote(workspace, actor=actor, request=request)
    change(version=version, route=route, connection=connection, actor=actor)
    found = refusal(quote, actor)
    assert (found.code, found.status, found.details) == ("incompatible_now", 409, {"reason": reason})


def test_archived_private_benchmark_is_named(workspace: Workspace, actor: Actor, route: ModelRoute) -> None:
    version = factories.make_version(workspace=workspace)
    quote = create_quote(
        workspace, actor=actor, request={"model": route.route_id, "benchmark": version.profile_id, "coverage": {"mode": "full"}}
    )
    archive_benchmark(version.benchmark, actor=actor)
    assert refusal(quote, actor).details == {"reason": "benchmark_retired"}


def test_price_that_changed_since_the_quote_is_still_the_quoted_one(quote: Quote, actor: Actor, route: ModelRoute) -> None:
    before = route.rates.get()
    factories.make_rate(route, input_rate=9_000_000, output_rate=9_000_000)
    run, _ = start_run(quote, actor=actor)
    assert Subject.objects.get(run=run).rate_id == before.pk


def test_new_version_does_not_disturb_an_open_quote_of_the_one_before(quote: Quote, actor: Actor, version: BenchmarkVersion) -> None:
    factories.make_version(version.benchmark, tasks=3)
    run, _ = start_run(quote, actor=actor)
    assert RunBenchmark.objects.get(run=run).version_id == version.pk


def test_credit_that_does_not_cover_the_cap_is_said_with_both_amounts(actor: Actor, asked: dict[str, Any]) -> None:
    poor = factories.make_workspace("Poor", credit=999)
    quote = create_quote(poor, actor=SYSTEM, request=asked | {"max_charge_microusd": "1000"})
    found = refusal(quote, SYSTEM)
    assert (found.code, found.status, found.details) == (
        "insufficient_credit", 402, {"needed_microusd": "1000", "left_microusd": "999"},
    )  # fmt: skip
    assert isinstance(found, PaymentRequired)


def test_run_without_a_cap_needs_the_worst_case_of_one_task(asked: dict[str, Any]) -> None:
    probe = create_quote(factories.make_workspace("Probe"), actor=SYSTEM, request=asked).minimum_cap_microusd
    Quote.objects.all().delete()
    short = create_quote(factories.make_workspace("Short", credit=probe - 1), actor=SYSTEM, request=asked)
    assert refusal(short, SYSTEM).code == "insufficient_credit"
    run, _ = quote_and_start(factories.make_workspace("Just", credit=probe), actor=SYSTEM, request=asked)
    budget = Budget.objects.get(source=run.budget_source)
    assert (budget.bound_microusd, budget.bound_by) == (probe, "credit")


def test_ceiling_of_the_key_is_checked_and_named(workspace: Workspace, actor: Actor, asked: dict[str, Any]) -> None:
    key, _ = factories.make_key(workspace)
    set_key_ceiling(key, actor=actor, ceiling_microusd=999)
    quote = create_quote(workspace, actor=actor_of_key(key), request=asked | {"max_charge_microusd": "1000"})
    assert refusal(quote, actor_of_key(key)).code == "key_ceiling_reached"
    _, created = start_run(quote, actor=actor)
    assert (created, Allowance.objects.get(kind="key_ceiling").reserved_microusd) == (True, 0)


def test_budget_of_the_workspace_is_checked_and_named(workspace: Workspace, actor: Actor, quote: Quote) -> None:
    set_workspace_limit(workspace, actor=actor, monthly_microusd=999)
    assert refusal(quote, actor).code == "workspace_budget_reached"


def test_run_that_can_cost_nothing_starts_without_credit(asked: dict[str, Any]) -> None:
    poor = factories.make_workspace("Poor")
    run, _ = quote_and_start(poor, actor=SYSTEM, request=asked | {"model": "random-choice"})
    assert Budget.objects.get(source=run.budget_source).hold_id is None
    assert_books(run)


def test_what_a_start_in_one_step_is_refused_leaves_an_open_quote(asked: dict[str, Any]) -> None:
    poor = factories.make_workspace("Poor")
    with pytest.raises(PaymentRequired):
        quote_and_start(poor, actor=SYSTEM, request=asked)
    assert_nothing_made(Quote.objects.get())


def test_two_starts_that_together_exceed_the_credit_are_not_both_started(asked: dict[str, Any]) -> None:
    poor = factories.make_workspace("Poor", credit=1_500)
    quotes = [create_quote(poor, actor=SYSTEM, request=asked | {"max_charge_microusd": "1000"}) for _ in range(2)]
    run, _ = start_run(quotes[0], actor=SYSTEM)
    with pytest.raises(PaymentRequired):
        start_run(quotes[1], actor=SYSTEM)
    assert Run.objects.count() == 1
    assert_books(run)
