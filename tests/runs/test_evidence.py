"""What a task cost before: a record of this workspace's own runs of the same version and model, absent where there is none."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from catalog.models import BenchmarkVersion, ModelRoute
from common.ids import new_id
from gateway.models import Connection
from gateway.pricing import price_of
from runs import evidence
from runs.actions import create_quote
from runs.enums import Phase, RunStatus, SampleStatus, SubjectKind
from runs.models import Quote, Run, RunBenchmark, Sample, Subject
from runs.resolving import ResolvedSubject
from tests import factories
from workspaces.actors import SYSTEM
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db
LONG_AGO = timezone.now() - timedelta(days=30)


@pytest.fixture
def version() -> BenchmarkVersion:
    return factories.make_version(tasks=12)


@pytest.fixture
def route() -> ModelRoute:
    return factories.make_route("example/small")


def ended(
    workspace: Workspace,
    version: BenchmarkVersion,
    owner: ModelRoute | Connection,
    charges: list[int],
    *,
    phase: Phase = Phase.DONE,
    reused: int = 0,
    errors: int = 0,
    planned: int | None = None,
    **fields: Any,
) -> Subject:
    """A run of one model whose tasks were charged so much; the last ones were taken over from elsewhere, or ended in errors."""
    quote = Quote.objects.create(
        workspace=workspace, request="{}", plan="{}", sha256="", terms="{}", ceiling_microusd=0, minimum_cap_microusd=0, price_version="",
        retention_days=1, expires_at=LONG_AGO,
    )  # fmt: skip
    planned = planned or len(charges)
    run = Run.objects.create(
        workspace=workspace, quote=quote, status=RunStatus.COMPLETED, phase=phase, planned=planned, processed=len(charges),
        deadline_at=LONG_AGO,
    )  # fmt: skip
    benchmark = RunBenchmark.objects.create(
        run=run, version=version, coverage={}, task_count=planned, task_list_sha256="", output_limit=version.max_output_tokens
    )
    managed = isinstance(owner, ModelRoute)
    kind: dict[str, Any] = (
        {"kind": "managed", "route": owner, "rate": owner.rates.latest("id"), "fee_percent": 5}
        if isinstance(owner, ModelRoute)
        else {"kind": "connection", "connection": owner, "connection_revision": owner.revision}
    )
    subject = Subject.objects.create(
        **({"run": run, "index": 0, "label": "model", "concurrency": 1, "planned": planned,
            "processed": len(charges), "graded": len(charges) - errors} | kind | fields)
    )  # fmt: skip
    tasks = list(version.tasks.order_by("ordinal"))
    samples = [
        Sample(
            public_id=new_id(), run_benchmark=benchmark, subject=subject, task=tasks[position], position=position,
            status=SampleStatus.GRADED, usage_microusd=charge - charge // 20 if managed else 0, fee_microusd=charge // 20 if managed else 0,
            input_tokens=100 + position, output_tokens=10 * charge,
        )
        for position, charge in enumerate(charges)
    ]  # fmt: skip
    for sample in samples[len(samples) - errors :]:
        sample.status, sample.usage_microusd, sample.fee_microusd = SampleStatus.ERROR, 0, 0
    Sample.objects.bulk_create(samples)
    for sample in samples[len(samples) - reused :] if reused else []:
        Sample.objects.filter(pk=sample.pk).update(origin=samples[0], usage_microusd=0, fee_microusd=0)
    return subject


def told(workspace: Workspace, version: BenchmarkVersion, *subjects: Any, **request: Any) -> Any:
    request = {"subjects": list(subjects), "benchmark": version.profile_id, "coverage": {"mode": "full"}} | request
    return create_quote(workspace, actor=SYSTEM, request=request).plan_document["evidence"]


def test_evidence_is_what_tasks_really_cost(workspace: Workspace, version: BenchmarkVersion, route: ModelRoute) -> None:
    ended(workspace, version, route, [100, 200, 300])
    ended(workspace, version, route, [40, 999, 0, 0], reused=1, errors=1)
    assert told(workspace, version, "example/small") == [
        {
            "subject_index": 0,
            "count": 5,
            "runs": 2,
            "least_microusd_per_task": "40",
            "median_microusd_per_task": "200",
            "most_microusd_per_task": "999",
            "mean_microusd_per_task": "328",
            "tasks_asked": 12,
            # 1,639 micro-USD for 5 tasks is 3,933.6 for 12.
            "tasks_asked_at_mean_microusd": "3934",
            "same_price": True,
            "median_input_tokens_per_task": 101,
            "median_output_tokens_per_task": 2_000,
        }
    ]
    part = told(workspace, version, "example/small", coverage={"mode": "sample", "sample_count": 3, "seed": 1})
    assert (part[0]["tasks_asked"], part[0]["tasks_asked_at_mean_microusd"]) == (3, "984")


def test_nothing_is_said_where_nothing_is_known(
    workspace: Workspace, other_workspace: Workspace, version: BenchmarkVersion, route: ModelRoute
) -> None:
    ended(other_workspace, version, route, [100, 200])
    ended(workspace, factories.make_version(version.benchmark, tasks=3), route, [100, 200])
    ended(workspace, version, factories.make_route("example/other"), [100, 200])
    ended(workspace, version, route, [100, 200], phase=Phase.RUNNING)
    ended(workspace, version, route, [100, 200], reasoning={"effort": "high"})
    ended(workspace, version, route, [0, 0])
    assert told(workspace, version, "example/small", "random-choice") is None


def test_the_same_model_at_two_settings_has_the_evidence_of_each(workspace: Workspace, version: BenchmarkVersion) -> None:
    route = factories.make_route("example/thinker", reasoning_efforts=["low", "high"])
    ended(workspace, version, route, [100])
    ended(workspace, version, route, [900], reasoning={"effort": "high"})
    high = {"kind": "managed", "route_id": route.route_id, "reasoning": {"effort": "high"}}
    low = {"kind": "managed", "route_id": route.route_id, "reasoning": {"effort": "low"}}
    found = told(workspace, version, high, low, "example/thinker")
    assert [(each["subject_index"], each["median_microusd_per_task"]) for each in found] == [(0, "900"), (2, "100")]


def test_a_connection_has_tokens_and_no_money(workspace: Workspace, version: BenchmarkVersion) -> None:
    connection = factories.make_connection(workspace, name="ours")
    ended(workspace, version, connection, [1, 2, 3])
    known = {"subject_index": 0, "count": 3, "runs": 1, "median_input_tokens_per_task": 101, "median_output_tokens_per_task": 20}
    assert told(workspace, version, "connection:ours") == [known]
    Connection.objects.update(revision=2)
    assert told(workspace, version, "connection:ours") is None


def test_another_price_since_is_said(workspace: Workspace, version: BenchmarkVersion, route: ModelRoute) -> None:
    ended(workspace, version, route, [100])
    factories.make_rate(route, input_rate=1, output_rate=1)
    assert told(workspace, version, "example/small")[0]["same_price"] is False


def test_newest_runs_come_first_and_the_rest_is_not_read(
    workspace: Workspace, version: BenchmarkVersion, route: ModelRoute, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "MOST_SAMPLES", 8)
    ended(workspace, version, route, [1])
    ended(workspace, version, route, list(range(100, 112)))
    newest = ended(workspace, version, route, [50, 60])
    found = told(workspace, version, "example/small")[0]
    # Two of the newest run, and six of the twelve before it: every second.
    assert (found["count"], found["runs"]) == (8, 2)
    assert (found["least_microusd_per_task"], found["most_microusd_per_task"]) == ("50", "110")
    newest.delete()
    Run.objects.filter(subjects=None).delete()
    monkeypatch.setattr(evidence, "MOST_RUNS", 1)
    assert told(workspace, version, "example/small")[0]["runs"] == 1


def test_queries_do_not_grow_with_the_runs(
    workspace: Workspace, version: BenchmarkVersion, route: ModelRoute, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    request = {"subjects": ["example/small"], "benchmark": version.profile_id, "coverage": {"mode": "full"}}
    ended(workspace, version, route, [100])
    asked = [_resolved(route)]
    with django_assert_num_queries(3):
        one = evidence.cost_evidence(workspace, version, asked, [12])
    for charge in range(6):
        ended(workspace, version, route, [charge + 1] * 3)
    with django_assert_num_queries(3):
        many = evidence.cost_evidence(workspace, version, asked, [12])
    assert one is not None and many is not None
    assert (one[0]["runs"], many[0]["runs"], many[0]["most_microusd_per_task"]) == (1, 5, "6")
    assert create_quote(workspace, actor=SYSTEM, request=request).plan_document["evidence"][0]["runs"] == 5


def _resolved(route: ModelRoute) -> Any:
    rate = route.rates.get()
    return ResolvedSubject(SubjectKind.MANAGED, "m", route=route, rate=rate, price=price_of(rate, Decimal(5)))
