"""A run worked to its end against a real endpoint: verdicts, charges, ledger, events."""

import pytest

from billing.actions import grant_credit
from billing.checking import ledger_differences
from billing.models import LedgerEntry
from gateway.models import Call
from runs.actions import continue_run, start_run
from runs.documents import result_document
from runs.models import Event, Sample
from runs.queries import get_result
from tests import factories
from tests.runs.working import start, sums, work
from tests.standins.chat import ChatServer, Faults
from workspaces.actors import SYSTEM

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def rich(workspace):
    grant_credit(workspace, actor=SYSTEM, amount_microusd=50_000_000, reason="for the test")
    return workspace


def test_full_run_ends_completed_with_every_sample_graded(rich, actor):
    version = factories.make_version(tasks=120)
    with ChatServer(sums, latency=0.01) as server:
        route = factories.make_route(endpoint=server.url)
        run = start(
            rich,
            actor,
            subjects=[{"kind": "managed", "route_id": route.route_id}, {"kind": "baseline", "name": "random-choice"}],
            selection={"profile_ids": [version.profile_id]},
            coverage={"mode": "full"},
            concurrency=32,
        )
        work(run)
    assert (run.status, run.phase, run.interruption) == ("completed", "done", None)
    assert Sample.objects.filter(subject__run=run, status="graded").count() == 240
    document = result_document(get_result(run))
    assert document["subjects"][0]["headline"]["value"] == 1.0
    assert document["subjects"][0]["counts"]["correct"] == 120
    calls = Call.objects.filter(rate__isnull=False)
    spent = sum(call.charge_microusd for call in calls)
    assert run.spend_microusd == spent > 0
    assert -sum(entry.amount_microusd for entry in LedgerEntry.objects.filter(source=run.budget_source)) == spent
    assert ledger_differences() == []
    sequences = list(Event.objects.filter(run=run).values_list("sequence", flat=True))
    assert sequences == list(range(1, len(sequences) + 1))


def test_faults_of_every_kind_leave_every_cell_graded(rich, actor):
    version = factories.make_version(tasks=150)
    with ChatServer(sums, latency=0.002, faults=Faults(rate_429=0.05, rate_500=0.02, rate_drop=0.01, retry_after="0.05")) as server:
        route = factories.make_route(endpoint=server.url)
        run = start(
            rich, actor, model={"kind": "managed", "route_id": route.route_id}, selection={"profile_ids": [version.profile_id]},
            coverage={"mode": "full"}, concurrency=64,
        )  # fmt: skip
        work(run)
    subject = run.subjects.get()
    assert (run.status, subject.graded, subject.errors, subject.correct) == ("completed", 150, 0, 150)


def test_cap_for_a_third_ends_partial_within_the_cap_and_continues(rich, actor):
    version = factories.make_version(tasks=90)
    with ChatServer(sums, latency=0.002) as server:
        route = factories.make_route(endpoint=server.url)
        request = {
            "model": {"kind": "managed", "route_id": route.route_id},
            "selection": {"profile_ids": [version.profile_id]},
            "coverage": {"mode": "full"},
        }
        whole = work(start(rich, actor, **request))
        cap = whole.spend_microusd // 3 + 200
        run = work(start(rich, actor, **request, max_charge_microusd=str(cap)))
        assert (run.status, run.interruption["reason"]) == ("partial", "cap_reached")
        assert 0 < run.spend_microusd <= cap
        done = Sample.objects.filter(subject__run=run).count()
        assert 15 < done < 90
        quote = continue_run(run, actor=actor)
        assert quote.plan_document["continuation"]["reused"] == done
        again = work(start_run(quote, actor=actor)[0])
    assert (again.status, again.processed) == ("completed", 90)
    assert again.spend_microusd + run.spend_microusd == whole.spend_microusd
    assert result_document(get_result(again))["subjects"][0]["headline"] == result_document(get_result(whole))["subjects"][0]["headline"]
    assert ledger_differences() == []
