"""Runs that come to the end of their money: within every limit, named for what bound, nothing left reserved, and finished by continuing."""

from collections.abc import Callable

import pytest

from billing.actions import grant_credit
from billing.limits import set_key_ceiling, set_workspace_limit
from billing.models import Allowance, Budget, Wallet
from runs.actions import continue_run, create_quote, start_run
from runs.documents import result_document
from runs.engine import executor
from runs.engine.store import exchange
from runs.models import Event, Run, Sample, Shard
from runs.queries import get_result
from tests import factories
from tests.runs.handwork import Hand, answers, assert_books, end, execute, positions, shards_of, subject_of, verdicts, work_out
from tests.runs.working import sums
from tests.standins.chat import ChatServer
from workspaces.actors import SYSTEM, Actor, actor_of_key
from workspaces.models import Workspace

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("quick")]

type Start = Callable[..., Run]


def test_cap_for_a_third_ends_partial_within_it_and_continuing_makes_the_uninterrupted_result(start_sums: Start, actor: Actor) -> None:
    with ChatServer(sums) as server:
        whole = work_out(start_sums(tasks=90, endpoint=server.url))
        request = whole.quote.request_document
        cap = whole.spend_microusd // 3 + 180
        quote = create_quote(whole.workspace, actor=actor, request=request | {"max_charge_microusd": str(cap)})
        run = work_out(start_run(quote, actor=actor)[0])
        done = positions(run)
        assert (run.status, run.interruption["reason"], run.interruption["unfinished"]) == ("partial", "cap_reached", 90 - len(done))
        assert 20 < len(done) < 60
        assert cap - quote.minimum_cap_microusd < run.spend_microusd <= cap
        offer = continue_run(run, actor=actor)
        assert offer.ceiling_microusd < whole.quote.ceiling_microusd
        asked = server.stats.requests
        again = work_out(start_run(offer, actor=actor)[0])
        assert server.stats.requests - asked == 90 - len(done)
    assert (again.status, again.processed) == ("completed", 90)
    assert again.spend_microusd + run.spend_microusd == whole.spend_microusd
    assert verdicts(again) == verdicts(whole)
    results = [result_document(get_result(each))["subjects"][0] for each in (again, whole)]
    for name in ("headline", "counts", "groups", "usage"):
        assert results[0][name] == results[1][name]


def test_cap_of_one_task_answers_as_many_as_it_pays_for(start_sums: Start) -> None:
    with ChatServer(sums) as server:
        quote = start_sums(endpoint=server.url).quote
        run = work_out(start_sums(endpoint=server.url, max_charge_microusd=str(quote.minimum_cap_microusd)))
    assert (run.status, run.interruption["reason"], run.processed) == ("partial", "cap_reached", 1)


def test_two_subjects_share_one_cap(start_sums: Start) -> None:
    with ChatServer(sums) as server:
        run = work_out(start_sums(tasks=60, routes=2, endpoint=server.url, max_charge_microusd="900"), rounds=8)
    assert (run.status, run.interruption["reason"]) == ("partial", "cap_reached")
    assert 900 - 176 < run.spend_microusd <= 900
    assert all(subject.processed > 0 for subject in run.subjects.all())


def test_baseline_and_stopped_subject_do_not_keep_a_run_out_of_money_alive(start_sums: Start) -> None:
    with ChatServer(models={"m1": sums}) as server:
        version = factories.make_version(tasks=40)
        routes = [factories.make_route(endpoint=server.url, model=model) for model in ("m0", "m1")]
        run = work_out(
            start_sums(
                routes=0,
                selection={"profile_ids": [version.profile_id]},
                subjects=[*(route.route_id for route in routes), "random-choice"],
                max_charge_microusd="500",
            ),
            rounds=8,
        )
    assert [subject.status for subject in run.subjects.all()] == ["stopped", "done", "done"]
    assert (run.status, run.interruption["reason"]) == ("partial", "cap_reached")
    assert (subject_of(run, 2).processed, 0 < subject_of(run, 1).processed < 40) == (40, True)


def test_cheap_tasks_are_worked_when_the_dear_ones_do_not_fit_any_more(workspace: Workspace, actor: Actor) -> None:
    rows = [{"values": {"question": "x" * (2_000 if n % 2 == 0 else 20)}, "reference": "1"} for n in range(20)]
    version = factories.make_version(rows=rows)
    with ChatServer("The answer is 1.") as server:
        route = factories.make_route(endpoint=server.url, input_rate=1_000_000, output_rate=1_000_000)
        request = {"model": route.route_id, "benchmark": version.profile_id, "coverage": {"mode": "full"}}
        least = create_quote(workspace, actor=actor, request=request).minimum_cap_microusd
        quote = create_quote(workspace, actor=actor, request=request | {"max_charge_microusd": str(least)})
        run = work_out(start_run(quote, actor=actor)[0], rounds=8)
    assert run.interruption["reason"] == "cap_reached"
    assert len([position for position in positions(run) if position % 2]) == 10
    assert len([position for position in positions(run) if position % 2 == 0]) <= 1


def test_run_without_a_cap_is_bound_by_the_credit_at_its_start(start_sums: Start, actor: Actor) -> None:
    poor = factories.make_workspace("Poor", credit=600)
    version = factories.make_version(tasks=120)
    with ChatServer(sums) as server:
        route = factories.make_route(endpoint=server.url)
        request = {"model": route.route_id, "benchmark": version.profile_id, "coverage": {"mode": "full"}}
        run = work_out(start_run(create_quote(poor, actor=SYSTEM, request=request), actor=SYSTEM)[0], rounds=8)
        wallet = Wallet.objects.get(workspace=poor)
        assert (run.status, run.interruption["reason"], run.interruption["limit"]) == ("partial", "credit_exhausted", None)
        assert (wallet.held_microusd, wallet.balance_microusd) == (0, 600 - run.spend_microusd)
        assert 600 - 176 < run.spend_microusd <= 600
        grant_credit(poor, actor=SYSTEM, amount_microusd=5_000_000, reason="for the rest")
        again = work_out(start_run(continue_run(run, actor=SYSTEM), actor=SYSTEM)[0])
    assert (again.status, subject_of(again).correct) == ("completed", 120)


def test_ceiling_of_the_key_ends_a_run_without_a_cap_and_is_named(start_sums: Start, workspace: Workspace, actor: Actor) -> None:
    key, _ = factories.make_key(workspace)
    set_key_ceiling(key, actor=actor, ceiling_microusd=500)
    version = factories.make_version(tasks=120)
    with ChatServer(sums) as server:
        route = factories.make_route(endpoint=server.url)
        request = {"model": route.route_id, "benchmark": version.profile_id, "coverage": {"mode": "full"}}
        by_key = actor_of_key(key)
        run = work_out(start_run(create_quote(workspace, actor=by_key, request=request), actor=by_key)[0], rounds=8)
    assert (run.status, run.interruption["reason"], run.interruption["limit"]) == ("partial", "limit_reached", "key_ceiling")
    allowance = Allowance.objects.get(kind="key_ceiling")
    assert (allowance.reserved_microusd, allowance.spent_microusd) == (0, run.spend_microusd)
    assert 500 - 176 < run.spend_microusd <= 500


def test_budget_of_the_month_ends_a_run_without_a_cap_and_is_named(start_sums: Start, workspace: Workspace, actor: Actor) -> None:
    set_workspace_limit(workspace, actor=actor, monthly_microusd=500)
    with ChatServer(sums) as server:
        run = work_out(start_sums(tasks=120, endpoint=server.url), rounds=8)
    assert (run.interruption["reason"], run.interruption["limit"]) == ("limit_reached", "workspace_budget")


def test_credit_that_another_run_took_meanwhile_is_what_ends_the_run(workspace: Workspace, actor: Actor, start_sums: Start) -> None:
    first = start_sums(tasks=100)
    hand = Hand()
    grant = hand.take(shards_of(first)[0])
    hand.reserve(grant, 1)
    grant_credit(workspace, actor=SYSTEM, amount_microusd=-Wallet.objects.get(workspace=workspace).available_microusd, reason="gone")
    ack = hand.hand_in(grant, answers(grant, 1), wanted=9_000_000, least=9_000_000)
    assert ack.granted == 0
    hand.hand_in(grant, release=True, is_done=False, parked_need=9_000_000)
    end(first)
    assert (first.status, first.interruption["reason"], first.processed) == ("partial", "credit_exhausted", 1)
    assert_books(first)


def test_shard_that_is_parked_while_another_gives_money_back_in_the_same_write_goes_on(start_sums: Start) -> None:
    """All are parked, and yet the money of the last is there: the run must not end."""
    run, hand = start_sums(tasks=1_000, max_charge_microusd="1000", concurrency=8), Hand()
    rich = hand.take(shards_of(run)[0], slots=4)
    poor = hand.take(shards_of(run)[1], slots=4)
    hand.hand_in(rich, wanted=1_000, least=1_000)
    assert hand.hand_in(poor, wanted=176, least=176).granted == 0
    batches = [hand.batch(each, release=True, is_done=False, parked_need=176) for each in (rich, poor)]
    exchange("first", run.pk, batches)
    run.refresh_from_db()
    assert (run.phase, Shard.objects.filter(run=run, parked_need_microusd__isnull=False).count()) == ("running", 0)
    assert_books(run)


@pytest.mark.django_db(transaction=True)
def test_credit_that_comes_wakes_parked_shards_of_a_live_run(start_sums: Start, workspace: Workspace) -> None:
    run, hand = start_sums(tasks=1_000, concurrency=8), Hand()
    working, parked = (hand.take(shard, slots=4) for shard in shards_of(run))
    hand.reserve(working, 2)
    hand.hand_in(parked, release=True, is_done=False, parked_need=176)
    grant_credit(workspace, actor=SYSTEM, amount_microusd=1_000, reason="more")
    assert Shard.objects.get(pk=parked.shard_id).parked_need_microusd is None


def test_parked_shards_are_worked_when_the_money_comes_back(start_sums: Start) -> None:
    """Two subjects at a cap: what one reserved and did not need, the other spends."""
    with ChatServer(sums, latency=0.002) as server:
        run = work_out(start_sums(tasks=30, routes=2, endpoint=server.url, max_charge_microusd="1100", concurrency=4), rounds=8)
    assert (run.status, run.processed, run.errors) == ("completed", 60, 0)


def test_books_add_up_at_every_write_of_a_run_that_runs_out(start_sums: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    original, writes = executor.exchange, 0

    def checked(owner: str, run_id: int, batches: object) -> object:
        nonlocal writes
        acks = original(owner, run_id, batches)  # type: ignore[arg-type]
        writes += 1
        assert_books(Run.objects.get(pk=run_id))
        return acks

    monkeypatch.setattr(executor, "exchange", checked)
    with ChatServer(sums) as server:
        run = work_out(start_sums(tasks=40, routes=2, endpoint=server.url, max_charge_microusd="500"), rounds=8)
    assert (run.interruption["reason"], writes > 10) == ("cap_reached", True)
    assert Budget.objects.get(source=run.budget_source).reserved_microusd == 0
    assert Event.objects.filter(run=run, type="budget.settled").get().data == {"spend_microusd": str(run.spend_microusd)}
    assert Sample.objects.filter(subject__run=run).count() == run.processed


def test_last_attempt_that_is_half_covered_is_still_started(start_sums: Start, workspace: Workspace, actor: Actor) -> None:
    """Slices come in quarters of what is free, so what is left of one may be more than half of the next worst case, and less than it."""
    rows = [{"values": {"question": "x" * (10 + 40 * n)}, "reference": "1"} for n in range(12)]
    version = factories.make_version(rows=rows)
    with ChatServer("The answer is 1.") as server:
        route = factories.make_route(endpoint=server.url, input_rate=1_000_000, output_rate=1_000_000)
        request = {"model": route.route_id, "benchmark": version.profile_id, "coverage": {"mode": "full"}, "concurrency": 2}
        for cap in range(700, 1_500, 160):
            quote = create_quote(workspace, actor=actor, request=request | {"max_charge_microusd": str(cap)})
            run = start_run(quote, actor=actor)[0]
            work_out(run, rounds=12)
            assert run.status in {"completed", "partial"}
    assert execute() == 0
