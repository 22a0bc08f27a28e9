"""How many queries each list costs: a number that does not depend on how many rows there are."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from billing.actions import grant_credit
from billing.models import Payment
from runs.models import Run
from tests.api.conftest import ApiClient
from tests.factories import make_benchmark, make_connection, make_route, make_version
from tests.runs.working import work
from workspaces.actions import create_api_key
from workspaces.actors import SYSTEM
from workspaces.models import Workspace

KEY = 1
"""Finding the key. Its workspace comes with it."""

COUNTS = {
    "/v1/account": KEY,
    "/v1/workspaces": KEY,
    "/v1/api-keys": KEY + 2,
    "/v1/billing/wallet": KEY + 2,
    "/v1/billing/entries": KEY + 1,
    "/v1/billing/entries?kind=adjustment&source=test": KEY + 1,
    "/v1/billing/usage": KEY + 3,
    "/v1/billing/payments": KEY + 3,
    "/v1/billing/limits": KEY + 5,
    "/v1/billing/alerts": KEY + 1,
    "/v1/benchmarks": KEY + 2,
    "/v1/evals": KEY + 1,
    "/v1/catalog/tasks?source_ref=sums@1": KEY + 3,
    "/v1/private-benchmarks": KEY + 2,
    "/v1/models": KEY + 3,
    "/v1/models?benchmark=sums@1": KEY + 4,
    "/v1/connections": KEY + 1,
    "/v1/quotes": KEY + 1,
    "/v1/runs": KEY + 5,
    "/v1/runs?status=completed&model=random-choice&benchmark=sums": KEY + 5,
    "/v1/runs/{run}": KEY + 5,
    "/v1/runs/{run}/events": KEY + 5,
    "/v1/runs/{run}/attempts": KEY + 6,
    "/v1/runs/{run}/samples": KEY + 7,
    "/v1/runs/{run}/results": KEY + 6,
    "/v1/runs/{run}/compare": KEY + 7,
}


def furnish(workspace: Workspace, api: ApiClient, *, rows: int) -> str:
    """So many of everything; returns the ID of a run over as many tasks."""
    make_version(make_benchmark("sums"), tasks=rows)
    for number in range(rows):
        if number:
            make_version(make_benchmark(f"sums-of-{number}"), tasks=1)
        make_version(workspace=workspace, tasks=1)
        make_route(f"example/model-{number}")
        make_connection(workspace)
        create_api_key(workspace, actor=SYSTEM, label=f"k{number}", scopes=["eval:read"], spend_ceiling_microusd=5)
        grant_credit(workspace, actor=SYSTEM, amount_microusd=1, reason="More")
        Payment.objects.create(wallet=workspace.wallet, credit_microusd=5_000_000, fee_microusd=0)
        body = {"subjects": ["random-choice", "most-frequent-answer"], "benchmark": "sums", "coverage": {"mode": "full"}}
        run_id: str = api.post("/v1/runs", body, idempotency_key=str(number)).json()["id"]
        work(Run.objects.get(public_id=run_id))
    return run_id


@pytest.mark.parametrize("rows", [1, 3])
def test_every_list_costs_what_it_did(api: ApiClient, workspace: Workspace, rows: int) -> None:
    run = furnish(workspace, api, rows=rows)
    api.get("/v1/account")  # notes that the key was used

    def cost(path: str) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert api.get(path.format(run=run)).status_code == 200
        return len(queries)

    assert {path: cost(path) for path in COUNTS} == COUNTS
