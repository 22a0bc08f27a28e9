"""The catalog over HTTP, for everyone and for members."""

from typing import Any

from catalog.models import BenchmarkVersion, ModelRoute
from tests.api.conftest import ApiClient, assert_stored, error_of, key_client
from tests.factories import make_benchmark, make_rate, make_route, make_version
from workspaces.enums import Scope
from workspaces.models import Workspace


def slugs(answer: Any) -> list[str]:
    return [row["slug"] for row in answer.json()["data"]]


def test_benchmarks_answer_nobody_what_is_public(nobody: ApiClient, workspace: Workspace) -> None:
    make_version(make_benchmark("sums", name="Sums"), tasks=3)
    make_version(workspace=workspace)
    assert_stored("benchmarks", nobody.get("/v1/benchmarks").json())


def test_a_key_adds_its_workspaces_own(api: ApiClient, foreign_api: ApiClient, workspace: Workspace) -> None:
    make_version(make_benchmark("sums"))
    private = make_version(workspace=workspace).benchmark.slug
    assert slugs(api.get("/v1/benchmarks")) == [private, "sums"]
    assert slugs(foreign_api.get("/v1/benchmarks")) == ["sums"]
    assert slugs(key_client(workspace, Scope.BILLING_READ).get("/v1/benchmarks")) == ["sums"]
    assert api.get("/v1/benchmarks")["Cache-Control"] == "no-store"
    assert api.get(f"/v1/benchmarks/{private}").json()["private"] is True
    assert foreign_api.get(f"/v1/benchmarks/{private}").status_code == 404


def test_benchmarks_are_filtered(nobody: ApiClient, db: None) -> None:
    make_version(make_benchmark("sums", name="Sums", category="maths"))
    make_version(make_benchmark("tales", name="Tales", category="reading"), state="retired", license="CC0-1.0")
    for query, expected in {
        "q=TAL": ["tales"],
        "category=maths": ["sums"],
        "status=retired": ["tales"],
        "license=CC0-1.0": ["tales"],
        "capability=chat": ["sums", "tales"],
        "runner=builtin&category=reading": ["tales"],
        "q=nothing": [],
    }.items():
        assert slugs(nobody.get(f"/v1/benchmarks?{query}")) == expected


def test_a_benchmark_has_its_versions(nobody: ApiClient, db: None) -> None:
    benchmark = make_benchmark("sums", name="Sums")
    make_version(benchmark, tasks=3, state="retired")
    make_version(benchmark, tasks=4)
    make_version(benchmark, tasks=5, state="draft")
    assert_stored("benchmark", nobody.get("/v1/benchmarks/sums").json())


def test_evals_are_versions_by_their_reference(api: ApiClient, nobody: ApiClient, workspace: Workspace) -> None:
    make_version(make_benchmark("sums", name="Sums"), tasks=3)
    make_version(workspace=workspace, tasks=2)
    assert_stored("evals", api.get("/v1/evals?include_private=true&catalog_view=true").json())
    assert slugs(nobody.get("/v1/evals")) == ["sums"]
    assert slugs(api.get("/v1/evals?include_private=false")) == ["sums"]
    assert len(slugs(api.get("/v1/evals?private_only=true"))) == 1
    assert slugs(nobody.get("/v1/evals?private_only=true")) == []


def test_tasks_show_neither_prompts_nor_answers(nobody: ApiClient, db: None) -> None:
    rows = [
        {
            "values": {"question": f"secret question {n}"},
            "reference": f"90{n}",
            "group": "odd" if n % 2 else "even",
            "metadata": {"year": 2020 + n},
        }
        for n in range(5)
    ]
    make_version(make_benchmark("sums"), rows=rows)
    answer = nobody.get("/v1/catalog/tasks?source_ref=sums@1&limit=2&offset=1")
    assert_stored("tasks", answer.json())
    assert b"secret" not in answer.content
    found = nobody.get("/v1/catalog/tasks?source_ref=eval://evalrouter/sums/1&q=odd").json()
    assert ([row["task_id"] for row in found["data"]], found["total"]) == (["t1", "t3"], 2)
    assert nobody.get("/v1/catalog/tasks?source_ref=sums@1&offset=1000000000").json() == {"data": [], "total": 5}


def test_tasks_of_a_version_that_is_not_there(nobody: ApiClient, api: ApiClient, workspace: Workspace, other_workspace: Workspace) -> None:
    theirs = make_version(workspace=other_workspace).profile_id
    for ref in ("sums@1", "sums@99999999999", "eval://a/b/c", "%2F%2F", theirs, "é", "sums@0", "@1"):
        assert nobody.get(f"/v1/catalog/tasks?source_ref={ref}").status_code == 404
        assert api.get(f"/v1/catalog/tasks?source_ref={ref}").status_code == 404
    assert error_of(nobody.get("/v1/catalog/tasks"))["details"] == {"source_ref": ["This field is required."]}


def test_tasks_of_an_ambiguous_name(nobody: ApiClient, db: None) -> None:
    for slug in ("sums", "more-sums"):
        make_version(make_benchmark(slug, name="The Sums"))
    answer = nobody.get("/v1/catalog/tasks?source_ref=The%20Sums")
    assert (answer.status_code, error_of(answer)["code"]) == (422, "ambiguous_benchmark")
    assert error_of(answer)["details"] == {"candidates": ["more-sums@1", "sums@1"]}


def test_private_benchmarks_are_listed_read_and_archived(
    api: ApiClient, foreign_api: ApiClient, workspace: Workspace, other_workspace: Workspace
) -> None:
    make_version(make_benchmark("sums"))
    mine = make_version(workspace=workspace, tasks=2)
    make_version(workspace=other_workspace)
    assert_stored("private_benchmarks", api.get("/v1/private-benchmarks").json())
    for name in (mine.benchmark.slug, mine.profile_id):
        assert api.get(f"/v1/private-benchmarks/{name}").json()["id"] == mine.profile_id
        assert foreign_api.get(f"/v1/private-benchmarks/{name}").status_code == 404
        assert foreign_api.post(f"/v1/private-benchmarks/{name}/archive").status_code == 404
    assert api.get(f"/v1/private-benchmarks/{mine.benchmark.slug}@2").status_code == 404
    archived = api.post(f"/v1/private-benchmarks/{mine.profile_id}/archive").json()
    assert archived["versions"][0]["quote_availability"] == {"status": "archived"}
    assert api.get("/v1/private-benchmarks").json()["data"] == []
    assert api.get(f"/v1/private-benchmarks/{mine.profile_id}").json()["archived_at"] is not None


def test_a_reader_archives_nothing(workspace: Workspace) -> None:
    mine = make_version(workspace=workspace)
    assert key_client(workspace, Scope.EVAL_READ).post(f"/v1/private-benchmarks/{mine.profile_id}/archive").status_code == 403


def test_models_with_their_rates(nobody: ApiClient, route: ModelRoute) -> None:
    make_route("example/paused", state="paused")
    make_route("example/retired", state="retired")
    answer = nobody.get("/v1/models")
    assert_stored("models", answer.json())
    assert b"endpoint" not in answer.content


def test_the_newest_rate_is_shown(nobody: ApiClient, route: ModelRoute) -> None:
    make_rate(route, input_rate=1, output_rate=2)
    assert nobody.get("/v1/models").json()["data"][0]["pricing"]["output_microusd_per_mtok"] == "2"


def test_models_say_what_they_cannot_run(nobody: ApiClient, version: BenchmarkVersion) -> None:
    make_route("example/fits")
    make_route("example/narrow", context_limit=100)
    make_route("example/paused", state="paused")
    make_route("example/short", max_output_tokens=10)
    rows = nobody.get(f"/v1/models?benchmark={version.profile_id}").json()["data"]
    assert [(row["id"], row["compatible"], (row["refusal"] or {}).get("code")) for row in rows] == [
        ("example/fits", True, None),
        ("example/narrow", False, "context_too_small"),
        ("example/paused", False, "route_unavailable"),
        ("example/short", False, "output_limit_too_large"),
    ]
    assert nobody.get("/v1/models?benchmark=nothing@1").status_code == 404
