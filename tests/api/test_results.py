"""Results, comparisons, samples, exports and receipts over HTTP."""

import csv
import io
import json
from typing import Any

import pytest

from common.canonical import canonical_json, sha256_text
from runs.models import Run
from tests.api.conftest import ApiClient, assert_stored, error_of
from tests.factories import make_benchmark, make_route, make_version
from tests.runs.working import sums, work
from tests.standins.chat import ChatServer, last_user_message
from workspaces.models import Workspace

ROWS = [
    {
        "values": {"question": f"What is {n} + {n}?"},
        "reference": str(2 * n),
        "group": "odd" if n % 2 else "even",
        "task_id": f"=t{n}" if n == 3 else f"t{n}",
    }
    for n in range(8)
]


def answer(messages: list[dict[str, Any]]) -> str:
    """Right, but for 0 (wrong), 3 (a formula) and 5 (nothing to read)."""
    text = last_user_message(messages)
    return {"What is 0 + 0?": "7", "What is 3 + 3?": "=cmd|'/c calc'!A0 6", "What is 5 + 5?": "I do not know"}.get(text) or sums(messages)


def ended(api: ApiClient, *, export_policy: str = "full", **more: Any) -> str:
    """The ID of an ended run of a managed model and a baseline on eight sums."""
    benchmark = make_benchmark("sums", name="Sums")
    make_version(benchmark, rows=ROWS, export_policy=export_policy)
    with ChatServer(answer) as server:
        make_route("example/small", endpoint=server.url)
        body = {"subjects": ["example/small", "most-frequent-answer"], "benchmark": "sums", "coverage": {"mode": "full"}, **more}
        run_id = api.post("/v1/runs", body, idempotency_key="a").json()["id"]
        run = work(Run.objects.get(public_id=run_id))
    assert run.status == "completed"
    return run_id


@pytest.fixture
def run_id(api: ApiClient) -> str:
    return ended(api)


def test_a_result_is_frozen_and_its_hash_can_be_checked(api: ApiClient, run_id: str) -> None:
    result = api.get(f"/v1/runs/{run_id}/results").json()
    assert_stored("results", result)
    unsigned = {name: value for name, value in result.items() if name != "sha256"}
    assert sha256_text(canonical_json(unsigned)) == result["sha256"]
    assert api.get(f"/v1/runs/{run_id}/results?version=1").json() == result
    assert api.get(f"/v1/runs/{run_id}/results?include_resumed=true").json() == result
    assert api.get(f"/v1/runs/{run_id}/results?version=2").status_code == 404
    assert api.get(f"/v1/runs/{run_id}").json()["result_version"] == 1


def test_a_comparison_of_its_models(api: ApiClient, run_id: str) -> None:
    compared = api.get(f"/v1/runs/{run_id}/compare").json()
    assert_stored("compare", compared)
    assert api.get(f"/v1/runs/{run_id}/compare?profile_id=sums@1").json() == compared
    assert api.get(f"/v1/runs/{run_id}/compare?profile_id=other@1").status_code == 404


def test_before_the_end_there_is_no_result(api: ApiClient, db: None) -> None:
    make_version(make_benchmark("sums"), tasks=3)
    run_id = api.post(
        "/v1/runs", {"model": "random-choice", "benchmark": "sums", "coverage": {"mode": "full"}}, idempotency_key="a"
    ).json()["id"]
    for path in ("results", "compare", "export", "export?format=csv", "results?diff=previous"):
        refused = api.get(f"/v1/runs/{run_id}/{path}")
        assert (refused.status_code, error_of(refused)["code"]) == (409, "result_not_ready")
    assert api.get(f"/v1/runs/{run_id}/samples").json() == {"data": [], "next_cursor": None}
    assert api.get(f"/v1/runs/{run_id}/receipt").json()["state"] == "running"


def test_one_model_alone_is_ranked_alone(api: ApiClient) -> None:
    run_id = ended(api, subjects=["most-frequent-answer"])
    compared = api.get(f"/v1/runs/{run_id}/compare").json()
    assert ([row["label"] for row in compared["ranking"]], compared["pairs"]) == (["most-frequent-answer"], [])


def test_the_difference_to_the_run_before(api: ApiClient, run_id: str) -> None:
    assert api.get(f"/v1/runs/{run_id}/results?diff=previous").json()["diff"] == []
    body = {"subjects": ["most-frequent-answer"], "benchmark": "sums", "coverage": {"mode": "full"}}
    again = api.post("/v1/runs", body, idempotency_key="b").json()["id"]
    work(Run.objects.get(public_id=again))
    (same,) = api.get(f"/v1/runs/{again}/results?diff=previous").json()["diff"]
    assert (same["run_id"], same["same_tasks"], same["difference"]) == (run_id, True, 0.0)
    part = api.post("/v1/runs", {**body, "coverage": {"mode": "sample", "sample_count": 4}}, idempotency_key="c").json()["id"]
    work(Run.objects.get(public_id=part))
    (other,) = api.get(f"/v1/runs/{part}/results?diff=previous").json()["diff"]
    assert (other["run_id"], other["same_tasks"], other["tasks_compared"], other["difference"]) == (again, False, 4, 0.0)


def test_samples_are_listed_and_filtered(api: ApiClient, run_id: str) -> None:
    path = f"/v1/runs/{run_id}/samples"
    every = api.get(f"{path}?limit=100").json()
    assert (len(every["data"]), every["next_cursor"]) == (16, None)
    assert_stored("samples", api.get(f"{path}?subject=0&q=t0").json())

    def found(query: str) -> list[tuple[int, str]]:
        return sorted((row["subject_index"], row["task_id"]) for row in api.get(f"{path}?limit=100&{query}").json()["data"])

    assert found("subject=0&verdict=incorrect") == [(0, "t0"), (0, "t5")]
    assert found("subject=0&flag=unreadable") == [(0, "t5")]
    assert found("subject=0&status=error") == []
    assert found("subject=0&group=odd") == [(0, "=t3"), (0, "t1"), (0, "t5"), (0, "t7")]
    assert found("q=t7") == [(0, "t7"), (1, "t7")]
    assert found("subject=7") == []
    pages, cursor = [], ""
    while cursor is not None:
        page = api.get(f"{path}?limit=5" + (f"&cursor={cursor}" if cursor else "")).json()
        pages += page["data"]
        cursor = page["next_cursor"]
    assert pages == every["data"]
    for query in ("subject=8", "flag=odd", "verdict=maybe", "status=done"):
        assert api.get(f"{path}?{query}").status_code == 422


def test_one_sample_tells_everything(api: ApiClient, foreign_api: ApiClient, run_id: str) -> None:
    (row,) = api.get(f"/v1/runs/{run_id}/samples?subject=0&q=t1").json()["data"]
    path = f"/v1/runs/{run_id}/samples/{row['id']}"
    assert_stored("sample", api.get(path).json())
    assert foreign_api.get(path).status_code == 404


def test_a_sample_of_another_run_is_not_found(api: ApiClient, run_id: str) -> None:
    sample_id = api.get(f"/v1/runs/{run_id}/samples?limit=1").json()["data"][0]["id"]
    other = api.post(
        "/v1/runs", {"model": "random-choice", "benchmark": "sums"} | {"coverage": {"mode": "full"}}, idempotency_key="b"
    ).json()["id"]
    assert api.get(f"/v1/runs/{other}/samples/{sample_id}").status_code == 404


@pytest.mark.parametrize("policy", ["no_answers", "aggregate"])
def test_the_export_policy_decides_what_leaves(api: ApiClient, policy: str) -> None:
    run_id = ended(api, export_policy=policy)
    sample_id = api.get(f"/v1/runs/{run_id}/samples?subject=0&q=t1").json()["data"][0]["id"]
    sample = api.get(f"/v1/runs/{run_id}/samples/{sample_id}").json()
    exported = read(api.get(f"/v1/runs/{run_id}/export"))
    assert sample["reference"] is None
    if policy == "no_answers":
        assert sample["response"] == "The answer is 2."
        assert {row["reference"] for row in exported["samples"]} == {None}
    else:
        assert (sample["response"], sample["messages"], exported["samples"]) == (None, None, None)
        refused = api.get(f"/v1/runs/{run_id}/export?format=csv")
        assert (refused.status_code, error_of(refused)["code"]) == (422, "export_not_permitted")


def read(response: Any) -> Any:
    return json.loads(b"".join(response.streaming_content) if response.streaming else response.content)


def test_an_export_as_json_holds_every_sample(api: ApiClient, run_id: str) -> None:
    answer = api.get(f"/v1/runs/{run_id}/export?format=json")
    assert answer["Content-Disposition"] == f'attachment; filename="evalrouter-{run_id}-v1.json"'
    exported = read(answer)
    assert exported["result"] == api.get(f"/v1/runs/{run_id}/results").json()
    assert len(exported["samples"]) == 16
    formula = next(row for row in exported["samples"] if row["task_id"] == "=t3" and row["subject_index"] == 0)
    assert (formula["response"], formula["reference"], formula["correct"]) == ("=cmd|'/c calc'!A0 6", "6", True)
    assert_stored("export", {**exported, "samples": [row for row in exported["samples"] if row["task_id"] == "t1"]})


def test_an_export_as_summary_holds_no_samples(api: ApiClient, run_id: str) -> None:
    summary = read(api.get(f"/v1/runs/{run_id}/export?format=summary&version=1"))
    exported = read(api.get(f"/v1/runs/{run_id}/export"))
    assert summary == {name: value for name, value in exported.items() if name not in {"samples", "answers_expired"}}


def test_an_export_as_csv_runs_nothing_in_a_spreadsheet(api: ApiClient, run_id: str) -> None:
    answer = api.get(f"/v1/runs/{run_id}/export?format=csv")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))
    assert len(rows) == 16
    formula = next(row for row in rows if row["task_id"] == "'=t3" and row["subject_index"] == "0")
    assert formula["response"] == "'=cmd|'/c calc'!A0 6"
    assert (formula["subject"], formula["correct"], formula["score"], formula["extracted"]) == ("example/small", "true", "1.0", "6")
    assert [cell for row in rows for cell in row.values() if cell.startswith(("=", "+", "-", "@"))] == []


@pytest.mark.parametrize("wanted", ["pdf", "JSON"])
def test_a_format_that_is_not_there_names_those_that_are(api: ApiClient, run_id: str, wanted: str) -> None:
    refused = api.get(f"/v1/runs/{run_id}/export?format={wanted}")
    assert (refused.status_code, error_of(refused)["code"]) == (422, "format_unsupported")
    assert error_of(refused)["details"] == {"supported": ["html", "bundle", "json", "csv", "figures", "summary", "inspect", "lm-eval"]}


def test_a_receipt_adds_up(api: ApiClient, run_id: str, workspace: Workspace) -> None:
    receipt = api.get(f"/v1/runs/{run_id}/receipt").json()
    assert_stored("receipt", receipt)
    assert sum(int(entry["amount_microusd"]) for entry in receipt["ledger_entries"]) == -int(receipt["total_microusd"])
    result = api.get(f"/v1/runs/{run_id}/results").json()
    assert (
        receipt["total_microusd"]
        == result["billing"]["total_microusd"]
        == api.get(f"/v1/runs/{run_id}").json()["progress"]["spend_microusd"]
    )
    wallet = api.get("/v1/billing/wallet").json()
    assert (wallet["held_microusd"], wallet["settled_charges_microusd"]) == ("0", receipt["total_microusd"])
    assert int(wallet["balance_microusd"]) == 10_000_000 - int(receipt["total_microusd"])


def test_a_continued_runs_result_is_followed(api: ApiClient, db: None) -> None:
    make_version(make_benchmark("sums"), tasks=6)
    body = {"subjects": ["random-choice", "most-frequent-answer"], "benchmark": "sums", "coverage": {"mode": "full"}}
    first = api.post("/v1/runs", body, idempotency_key="a").json()["id"]
    api.post(f"/v1/runs/{first}/cancel")
    work(Run.objects.get(public_id=first))
    quote_id = api.post(f"/v1/runs/{first}/continue", {"include_cancelled": True}).json()["id"]
    second = api.post("/v1/runs", {"quote_id": quote_id}).json()["id"]
    assert error_of(api.get(f"/v1/runs/{first}/results?include_resumed=true"))["code"] == "result_not_ready"
    assert error_of(api.get(f"/v1/runs/{first}/compare"))["code"] == "result_not_ready"
    work(Run.objects.get(public_id=second))
    assert api.get(f"/v1/runs/{first}/results").json()["run_id"] == first
    assert api.get(f"/v1/runs/{first}/results?include_resumed=true").json()["run_id"] == second
    assert api.get(f"/v1/runs/{first}/compare").json()["run_id"] == second
    assert read(api.get(f"/v1/runs/{first}/export?include_resumed=true"))["run_id"] == second
