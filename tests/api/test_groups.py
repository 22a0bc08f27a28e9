"""Groups of results and comparisons under a policy, over HTTP."""

import csv
import io
from typing import Any
from uuid import uuid4

import pytest

from common.canonical import canonical_json, sha256_text
from runs.models import Run
from runs.models.groups import ResultGroup
from tests.api.conftest import ApiClient, assert_stored, error_of, key_client
from tests.factories import make_benchmark, make_version
from tests.runs.groups.making import run_alone
from tests.runs.working import work
from workspaces.actors import Actor
from workspaces.models import Workspace


@pytest.fixture
def runs(workspace: Workspace, actor: Actor) -> list[str]:
    """IDs of three ended runs on forty sums, 36, 20 and (of half the sums) 20 right."""
    version = make_version(make_benchmark("sums", name="Sums"), tasks=40)
    half = {"mode": "tasks", "task_ids": [f"t{n}" for n in range(20)]}
    made = [
        run_alone(workspace, actor, version, right, route=f"example/{name}", name=name.title(), **more)
        for right, name, more in ((36, "large", {}), (20, "small", {}), (20, "half", {"coverage": half}))
    ]
    return [str(run.public_id) for run in made]


@pytest.fixture
def group(api: ApiClient, runs: list[str]) -> dict[str, Any]:
    answer = api.post("/v1/result-groups", {"name": "Which?", "runs": runs[:2], "baseline": runs[1]})
    assert answer.status_code == 201
    document: dict[str, Any] = answer.json()
    return document


def test_a_group_is_made_of_runs_and_read_again(api: ApiClient, group: dict[str, Any]) -> None:
    assert_stored("result_group", group)
    assert api.get(f"/v1/result-groups/{group['id']}").json() == group
    ranked = api.get(f"/v1/result-groups/{group['id']}?rank=true").json()
    assert [member["index"] for member in ranked["members"]] == [row["member"] for row in group["ranking"]] == [0, 1]
    assert {**ranked, "members": None} == {**group, "members": None}


def test_rank_puts_the_best_first_and_the_unlike_last(api: ApiClient, runs: list[str]) -> None:
    group = api.post("/v1/result-groups", {"runs": [runs[1], runs[2], runs[0]]}).json()
    assert [member["index"] for member in group["members"]] == [0, 1, 2]
    ranked = api.get(f"/v1/result-groups/{group['id']}?rank=true").json()
    assert [(member["index"], member["rank_label"]) for member in ranked["members"]] == [(2, "1"), (0, "2"), (1, None)]
    assert [(row["member"], [each["code"] for each in row["differences"]]) for row in group["unlike"]] == [(1, ["task_selection_differs"])]


def test_an_exact_result_is_named_by_version_model_and_benchmark(api: ApiClient, runs: list[str]) -> None:
    exact = {"run_id": runs[0], "version": 1, "subject_index": 0, "profile_id": "sums@1"}
    group = api.post("/v1/result-groups", {"runs": [exact, {"run_id": runs[1]}], "baseline": 1}).json()
    assert (group["baseline"], group["members"][0]["run_id"], group["members"][0]["version"]) == (1, runs[0], 1)


def test_a_run_of_several_models_is_a_group_by_its_own_id(api: ApiClient, db: None) -> None:
    make_version(make_benchmark("sums"), tasks=6)
    body = {"subjects": ["random-choice", "most-frequent-answer"], "benchmark": "sums", "coverage": {"mode": "full"}}
    run_id = api.post("/v1/runs", body, idempotency_key="a").json()["id"]
    alone = api.post(
        "/v1/runs", {"model": "random-choice", "benchmark": "sums"} | {"coverage": {"mode": "full"}}, idempotency_key="b"
    ).json()
    waiting = api.get(f"/v1/result-groups/{run_id}").json()
    assert (waiting["status"], waiting["ranking"], [member["state"] for member in waiting["members"]]) == ("pending", [], ["pending"] * 2)
    work(Run.objects.get(public_id=run_id))
    started = api.get(f"/v1/result-groups/{run_id}").json()
    assert_stored("result_group_started", started)
    compared = api.get(f"/v1/runs/{run_id}/compare").json()
    assert [{key: row[key] for key in compared["ranking"][0] if key != "cheapest_within_one_stderr"} for row in started["ranking"]] == [
        {key: row[key] for key in row if key != "cheapest_within_one_stderr"} for row in compared["ranking"]
    ]
    assert started["pairs"] == compared["pairs"]
    assert api.get(f"/v1/result-groups/{alone['id']}").status_code == 404


def test_groups_are_listed_newest_first_in_pages(api: ApiClient, foreign_api: ApiClient, runs: list[str], group: dict[str, Any]) -> None:
    body = {"subjects": ["random-choice", "most-frequent-answer"], "benchmark": "sums", "coverage": {"mode": "full"}}
    started = api.post("/v1/runs", body, idempotency_key="a").json()["id"]
    last = api.post("/v1/result-groups", {"runs": runs[1:]}).json()["id"]
    api.post("/v1/comparisons", {"baseline": runs[0], "candidates": [runs[1]], "policy": {"max_drop": 0.5}})
    page = api.get("/v1/result-groups").json()
    assert [row["id"] for row in page["data"]] == [last, started, group["id"]]
    assert_stored("result_groups", page)
    seen, cursor = [], ""
    while cursor is not None:
        part = api.get("/v1/result-groups?limit=1" + (f"&cursor={cursor}" if cursor else "")).json()
        seen += part["data"]
        cursor = part["next_cursor"]
    assert seen == page["data"]
    assert [row["id"] for row in api.get("/v1/result-groups?kind=started_together").json()["data"]] == [started]
    assert [row["id"] for row in api.get("/v1/result-groups?kind=from_results").json()["data"]] == [last, group["id"]]
    assert foreign_api.get("/v1/result-groups").json()["data"] == []
    for query in ("kind=comparison", "cursor=x", "limit=0"):
        assert api.get(f"/v1/result-groups?{query}").status_code == 422


def test_an_export_holds_what_was_frozen_and_its_hash(api: ApiClient, group: dict[str, Any]) -> None:
    path = f"/v1/result-groups/{group['id']}/export"
    answer = api.get(path)
    assert answer["Content-Disposition"] == f'attachment; filename="evalrouter-group-{group["id"]}.json"'
    exported = answer.json()
    assert sha256_text(canonical_json(exported["frozen"])) == exported["sha256"] == group["sha256"]
    assert exported["frozen"]["pairs"] == group["pairs"]
    text = api.get(f"{path}?format=csv")
    assert text["Content-Type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(text.content.decode())))
    assert [(row["rank"], row["baseline"], row["label"], row["score"], row["difference_to_baseline"]) for row in rows] == [
        ("1", "false", "example/large", "0.9", "0.4"),
        ("2", "true", "example/small", "0.5", ""),
    ]
    refused = api.get(f"{path}?format=pdf")
    assert (refused.status_code, error_of(refused)["code"]) == (422, "format_unsupported")


def test_a_comparison_decides_with_reasons(api: ApiClient, runs: list[str]) -> None:
    large, small, half = runs
    worse = api.post("/v1/comparisons", {"baseline": large, "candidates": [small], "policy": {"max_drop": 0.1}}).json()
    assert_stored("comparison", worse)
    assert (worse["decision"], [reason["code"] for reason in worse["reasons"]]) == ("fail", ["drop_exceeds_limit"])
    assert api.get(f"/v1/comparisons/{worse['id']}").json() == worse
    policy = {"max_drop": 0.1, "min_score": 0.6, "min_coverage": 1}
    better = api.post("/v1/comparisons", {"baseline": small, "candidates": [large], "policy": policy}).json()
    assert (better["decision"], better["policy"]) == ("pass", {"max_drop": 0.1, "min_score": 0.6, "min_coverage": 1.0})
    apart = api.post("/v1/comparisons", {"baseline": large, "candidates": [half], "policy": {"max_drop": 0.1}}).json()
    assert (apart["decision"], [reason["code"] for reason in apart["reasons"]]) == ("inconclusive", ["task_selection_differs"])
    without = api.post("/v1/comparisons", {"baseline": large, "candidates": [small]}).json()
    assert (without["decision"], without["policy"], without["checks"], len(without["pairs"])) == (None, None, [], 1)
    page = api.get("/v1/comparisons").json()
    assert [(row["id"], row["decision"]) for row in page["data"]] == [
        (each["id"], each["decision"]) for each in (without, apart, better, worse)
    ]
    assert api.get(f"/v1/result-groups/{worse['id']}").status_code == 404


def test_under_a_key_one_comparison_is_made(api: ApiClient, runs: list[str]) -> None:
    body = {"baseline": runs[0], "candidates": [runs[1]], "policy": {"max_drop": 0.1}}
    first = api.post("/v1/comparisons", body, idempotency_key="release-7")
    again = api.post("/v1/comparisons", body, idempotency_key="release-7")
    assert (first.status_code, again.status_code, again.json()) == (201, 201, first.json())
    assert again["Idempotent-Replayed"] == "true"
    other = api.post("/v1/comparisons", {**body, "name": "other"}, idempotency_key="release-7")
    assert other.status_code == 409
    group = api.post("/v1/result-groups", {"runs": runs}, idempotency_key="g").json()
    assert api.post("/v1/result-groups", {"runs": runs}, idempotency_key="g").json() == group
    assert ResultGroup.objects.count() == 2


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("result-groups", {}, "runs"),
        ("result-groups", {"runs": []}, "runs"),
        ("result-groups", {"runs": ["x", "y"]}, "runs"),
        ("result-groups", {"runs": [1]}, "runs"),
        ("result-groups", {"runs": [{"version": 1}]}, "runs"),
        ("result-groups", {"runs": [{"run_id": str(uuid4()), "model": 1}]}, "runs"),
        ("result-groups", {"runs": [str(uuid4())], "baseline": True}, "baseline"),
        ("result-groups", {"runs": [str(uuid4())], "colour": "red"}, "colour"),
        ("comparisons", {"baseline": str(uuid4())}, "candidates"),
        ("comparisons", {"baseline": str(uuid4()), "candidates": [str(uuid4())], "policy": {"max_drop": 1.5}}, "policy"),
        ("comparisons", {"baseline": str(uuid4()), "candidates": [str(uuid4())], "policy": {"max_drop": "0.1"}}, "policy"),
        ("comparisons", {"baseline": str(uuid4()), "candidates": [str(uuid4())], "policy": {"least": 0.1}}, "policy"),
        ("comparisons", {"baseline": 0, "candidates": [str(uuid4())]}, "baseline"),
    ],
)
def test_a_body_that_is_none_is_refused(api: ApiClient, path: str, body: dict[str, Any], field: str) -> None:
    refused = api.post(f"/v1/{path}", body)
    assert (refused.status_code, error_of(refused)["code"], {name.partition(".")[0] for name in error_of(refused)["details"]}) == (
        422,
        "validation_error",
        {field},
    )


def test_refusals_say_what_to_do(api: ApiClient, foreign_api: ApiClient, runs: list[str]) -> None:
    def code(client: ApiClient, body: dict[str, Any]) -> tuple[int, str]:
        refused = client.post("/v1/comparisons", body)
        return refused.status_code, error_of(refused)["code"]

    assert code(api, {"baseline": runs[0], "candidates": [runs[0]]}) == (422, "group_size")
    assert code(api, {"baseline": runs[0], "candidates": [str(uuid4())]}) == (422, "result_not_found")
    assert code(foreign_api, {"baseline": runs[0], "candidates": [runs[1]]}) == (422, "result_not_found")
    body = {"model": "random-choice", "benchmark": "sums", "coverage": {"mode": "full"}}
    queued = api.post("/v1/runs", body, idempotency_key="a").json()["id"]
    assert code(api, {"baseline": runs[0], "candidates": [queued]}) == (409, "result_not_ready")


def test_scopes_decide(workspace: Workspace, runs: list[str]) -> None:
    reader, writer = key_client(workspace, "eval:read"), key_client(workspace, "eval:write")
    body = {"baseline": runs[0], "candidates": [runs[1]]}
    assert (reader.post("/v1/comparisons", body).status_code, reader.post("/v1/result-groups", {"runs": runs}).status_code) == (403, 403)
    made = writer.post("/v1/comparisons", body).json()["id"]
    assert reader.get(f"/v1/comparisons/{made}").status_code == 200
    assert writer.get("/v1/comparisons").status_code == 403
