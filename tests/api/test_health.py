"""The health of a benchmark over HTTP."""

import io

from catalog.models import BenchmarkVersion
from imports.actions import import_benchmark
from imports.queries.health import health_of
from tests.api.conftest import ApiClient
from tests.imports.files import CHOICES, json_lines
from workspaces.actors import SYSTEM
from workspaces.models import Workspace


def test_health_over_http(
    api: ApiClient, foreign_api: ApiClient, nobody: ApiClient, version: BenchmarkVersion, workspace: Workspace
) -> None:
    answer = nobody.get(f"/v1/benchmarks/{version.benchmark.slug}/health").json()
    assert answer == {"profile_id": version.profile_id, "health": health_of(version)}
    rows = [{"question": f"Which one, number {number}?", "choices": ["one", "two"], "answer": "A"} for number in range(40)]
    private = import_benchmark(workspace, actor=SYSTEM, file=io.BytesIO(json_lines(*rows)), filename="data.jsonl", manifest=CHOICES)
    path = f"/v1/benchmarks/{private.benchmark.slug}/health"
    assert api.get(path).json()["health"]["findings"][0]["code"] == "constant_answer"
    assert (foreign_api.get(path).status_code, nobody.get(path).status_code) == (404, 404)
    assert api.get(f"{path}?version=1").status_code == 200
    assert (api.get(f"{path}?version=2").status_code, api.get(f"{path}?number=1").status_code) == (404, 422)
