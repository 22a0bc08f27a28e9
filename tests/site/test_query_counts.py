"""What lists cost: the same number of queries with three rows and with very many."""

import time

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from catalog.models import BenchmarkVersion
from runs.models import Run, Sample
from tests.site.growing import add_calls, add_listed, add_runs, add_samples, add_tasks, share_samples
from tests.site.world import World
from workspaces.enums import Role

LISTS = (
    "/catalog",
    "/catalog/{slug}",
    "/catalog/{slug}/leaderboard",
    "/catalog/import",
    "/models",
    "/connections",
    "/evaluations",
    "/evaluations?status=completed&benchmark={slug}&model=random",
    "/evaluations/benchmarks/{slug}",
    "/evaluations/benchmarks/{slug}/health",
    "/evaluations/new",
    "/evaluations/new?benchmark={slug}@1",
    "/evaluations/groups",
    "/evaluations/groups/new",
    "/evaluations/groups/new?results={run_id}",
    "/evaluations/groups/{group_id}",
    "/evaluations/groups/{group_id}/comparison",
    "/evaluations/groups/{run_id}/comparison",
    "/evaluations/{run_id}",
    "/evaluations/{run_id}/exports",
    "/evaluations/{run_id}/comparison",
    "/evaluations/{run_id}/disagreements",
    "/evaluations/{run_id}/disagreements?show=a_only&q=t",
    "/evaluations/{run_id}/difference",
    "/evaluations/{run_id}/samples",
    "/evaluations/{run_id}/samples?verdict=correct&subject=0",
    "/evaluations/{run_id}/samples/0",
    "/evaluations/{run_id}/sharing",
    "/evaluations/{run_id}/publishing",
    "/shared/{token}/samples",
    "/shared/{token}/samples?show=failures&subject=0",
    "/command",
    "/command?q=a",
    "/settings/account",
    "/settings/members",
    "/settings/api-keys",
    "/settings/notices",
    "/settings/notices/webhooks/{endpoint_id}",
    "/settings/notices/deliveries",
    "/settings/billing",
    "/settings/billing?kind=adjustment&start=2025-01-01",
    "/settings/billing/spending",
    "/v1/benchmarks?limit=100",
    "/v1/benchmarks?q=sum&category=reasoning",
    "/v1/evals?limit=100",
    "/v1/catalog/tasks?source_ref={slug}@1",
    "/v1/models?limit=100",
    "/v1/models?limit=100&benchmark={slug}@1",
    "/v1/connections?limit=100",
    "/v1/private-benchmarks?limit=100",
    "/v1/api-keys?limit=100",
    "/v1/workspaces",
    "/v1/billing/entries?limit=100",
    "/v1/billing/usage",
    "/v1/billing/payments",
    "/v1/billing/limits",
    "/v1/webhook-endpoints?limit=100",
    "/v1/webhook-deliveries?limit=100",
    "/v1/quotes?limit=100",
    "/v1/runs?limit=100",
    "/v1/runs?limit=100&status=completed&benchmark={slug}&model=random",
    "/v1/result-groups?limit=100",
    "/v1/result-groups/{group_id}",
    "/v1/result-groups/{run_id}",
    "/v1/comparisons?limit=100",
    "/v1/runs/{run_id}/disagreements?limit=100",
    "/v1/runs/{run_id}/samples?limit=100",
    "/v1/runs/{run_id}/samples?limit=100&verdict=correct&q=What",
    "/v1/runs/{run_id}/shares?limit=100",
    "/v1/benchmarks/{slug}/leaderboard",
    "/v1/runs/{run_id}/events?limit=100",
    "/v1/runs/{run_id}/attempts?limit=100",
)
RUNS, SAMPLES, OTHERS = 1_000, 100_000, 30
SLOWEST_SECONDS = 3.0


def ask_all(client: Client, world: World) -> dict[str, tuple[int, int, float]]:
    """Of each list: the status, the number of queries, and the seconds it took. Asked twice, for what is counted once an hour."""
    answers = {}
    for template in LISTS:
        address = template.format(**world.ids)
        client.get(address)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            started = time.monotonic()
            status = client.get(address).status_code
            answers[template] = (status, len(queries), time.monotonic() - started)
    return answers


def test_lists_cost_the_same_queries_with_a_thousand_runs(world: World) -> None:
    run = Run.objects.get(public_id=world.ids["run_id"])
    version = BenchmarkVersion.objects.get(benchmark__slug=world.ids["slug"])
    client = world.client(world.people[Role.OWNER])
    add_runs(run, 2)
    add_listed(world.workspace, world.people[Role.OWNER], 3)
    few = ask_all(client, world)

    add_listed(world.workspace, world.people[Role.OWNER], OTHERS)
    add_tasks(version, 5_000)
    add_samples(run, version, SAMPLES // 2)
    share_samples(run, add_runs(run, RUNS - 3), SAMPLES // 2 // RUNS + 1)
    add_calls(run)
    assert Run.objects.filter(workspace=world.workspace).count() == RUNS
    many = ask_all(client, world)

    grown = [f"{name}: {few[name][1]} queries with three rows, {many[name][1]} with many" for name in LISTS if few[name][1] < many[name][1]]
    failed = [f"{name}: status {many[name][0]}" for name in LISTS if many[name][0] != 200 or few[name][0] != 200]
    slow = [f"{name}: {many[name][2]:.1f} s" for name in LISTS if many[name][2] > SLOWEST_SECONDS]
    assert Sample.objects.count() > SAMPLES
    if grown or failed or slow:
        pytest.fail("\n".join(failed + grown + slow), pytrace=False)
    print(*(f"{counted} queries, {seconds * 1000:4.0f} ms  {name}" for name, (_, counted, seconds) in many.items()), sep="\n")
