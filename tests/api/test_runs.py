"""Quotes and runs over HTTP: quote, start, watch, cancel, continue."""

import uuid
from base64 import urlsafe_b64decode
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from catalog.models import BenchmarkVersion, ModelRoute
from runs.models import Quote, Run
from tests.api.conftest import ApiClient, assert_stored, error_of, key_client
from tests.factories import make_benchmark, make_connection, make_route, make_version, make_workspace
from tests.runs.working import work
from workspaces.enums import Scope
from workspaces.models import User, Workspace

BASELINES = [{"kind": "baseline", "name": "random-choice", "seed": 1}, {"kind": "baseline", "name": "most-frequent-answer"}]


@pytest.fixture
def sums(db: None) -> BenchmarkVersion:
    return make_version(make_benchmark("sums", name="Sums"), tasks=10)


def quote(api: ApiClient, **more: Any) -> Any:
    return api.post("/v1/quotes", {"subjects": BASELINES, "benchmark": "sums", "coverage": {"mode": "full"}, **more})


def start(api: ApiClient, **more: Any) -> Any:
    return api.post("/v1/runs", {"quote_id": quote(api, **more).json()["id"]})


def test_runs_are_found_by_a_models_id_where_its_label_says_more(api: ApiClient, workspace: Workspace, sums: BenchmarkVersion) -> None:
    make_route("example/thinker", reasoning_efforts=["low", "high"], input_rate=0, output_rate=0)
    connection = make_connection(workspace, name="ours")
    efforts = [{"kind": "managed", "route_id": "example/thinker", "reasoning": {"effort": effort}} for effort in ("low", "high")]
    seeds = [{"kind": "baseline", "name": "random-choice", "seed": seed} for seed in (1, 2)]
    run_id = start(api, subjects=[*efforts, *seeds, "connection:ours"]).json()["id"]
    start(api)

    names = ("example/thinker", "example/thinker (low)", "connection:" + str(connection.public_id), str(connection.public_id), "ours")
    for name in names:
        assert [row["id"] for row in api.get(f"/v1/runs?model={name}").json()["data"]] == [run_id]
    assert api.get("/v1/runs?model=example/other").json()["data"] == []


def test_a_quote_of_a_managed_model(api: ApiClient, sums: BenchmarkVersion) -> None:
    make_route("example/small")
    body = {
        "model": {"kind": "managed", "route_id": "example/small"},
        "selection": {"profile_ids": ["sums@1"], "output_format": "default"},
        "coverage": {"mode": "sample", "sample_count": 5, "seed": 42},
        "max_charge_microusd": "1000000",
    }
    made = api.post("/v1/quotes", body)
    assert made.status_code == 201
    assert_stored("quote", made.json())
    assert api.get(f"/v1/quotes/{made.json()['id']}").json() == made.json()
    assert api.get("/v1/quotes").json()["data"] == [made.json()]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"benchmark": "summs"}, "benchmark_not_found"),
        ({"model": "exampel/small"}, "model_not_found"),
        ({"model": "connection:nothing"}, "model_not_found"),
        ({"model": {"kind": "connection", "connection_id": "unchecked"}}, "connection_unchecked"),
        ({"model": "example/tiny"}, "incompatible_model"),
        ({"coverage": {"mode": "tasks", "task_ids": ["t1", "nothing"]}}, "task_not_found"),
        ({"coverage": {"mode": "sample", "sample_count": 11}}, "sample_too_large"),
        ({"max_charge_microusd": "1"}, "cap_below_minimum"),
        ({"benchmark": None, "selection": {"profile_ids": ["sums@1", "sums"]}}, "benchmark_named_twice"),
        ({"coverage": {"mode": "sample", "sample_count": 0}}, "validation_error"),
        ({"coverage": {"mode": "sample", "seed": -1}}, "validation_error"),
        ({"colour": "red"}, "validation_error"),
        ({"model": None}, "validation_error"),
        ({"max_charge_microusd": 1.5}, "validation_error"),
        ({"concurrency": 10**30}, "validation_error"),
        ({"metadata": {"deep": {}}}, "validation_error"),
        ({"name": "x" * 161}, "validation_error"),
    ],
)
def test_a_quote_that_is_refused_says_why(
    api: ApiClient, sums: BenchmarkVersion, workspace: Workspace, change: dict[str, Any], code: str
) -> None:
    make_route("example/small")
    make_route("example/tiny", max_output_tokens=10)
    make_connection(workspace, name="unchecked", checked=False)
    body = {"model": "example/small", "benchmark": "sums", "coverage": {"mode": "full"}, **change}
    answer = api.post("/v1/quotes", {name: value for name, value in body.items() if value is not None})
    assert (answer.status_code, error_of(answer)["code"]) == (422, code)
    assert Quote.objects.count() == 0


def test_a_miss_lists_the_closest_names(api: ApiClient, sums: BenchmarkVersion) -> None:
    assert error_of(quote(api, benchmark="summs"))["details"] == {"closest": ["sums"]}


def test_a_run_is_started_once(api: ApiClient, sums: BenchmarkVersion) -> None:
    quote_id = quote(api, name="first", metadata={"team": "a"}).json()["id"]
    started = api.post("/v1/runs", {"quote_id": quote_id})
    assert started.status_code == 201
    assert_stored("run_queued", started.json())
    again = api.post("/v1/runs", {"quote_id": quote_id})
    assert (again.status_code, again.json()["id"], Run.objects.count()) == (200, started.json()["id"], 1)
    assert api.get(f"/v1/quotes/{quote_id}").json()["status"] == "started"


def test_what_is_stated_bounds_what_is_started(api: ApiClient, sums: BenchmarkVersion, route: ModelRoute) -> None:
    body = {"model": route.route_id, "benchmark": "sums", "coverage": {"mode": "full"}, "max_charge_microusd": "50000"}
    quote_id = api.post("/v1/quotes", body).json()["id"]
    below = api.post("/v1/runs", {"quote_id": quote_id, "max_charge_microusd": "49999"})
    assert (below.status_code, error_of(below)["code"]) == (409, "quote_exceeds_cap")
    assert api.get(f"/v1/quotes/{quote_id}").json()["status"] == "open"
    started = api.post("/v1/runs", {"quote_id": quote_id, "max_charge_microusd": "60000"})
    assert (started.status_code, started.json()["budget"]["max_charge_microusd"]) == (201, "50000")


def test_an_expired_quote_is_refused(api: ApiClient, sums: BenchmarkVersion) -> None:
    quote_id = quote(api).json()["id"]
    Quote.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    answer = api.post("/v1/runs", {"quote_id": quote_id})
    assert (answer.status_code, error_of(answer)["code"]) == (409, "quote_expired")
    assert api.get(f"/v1/quotes/{quote_id}").json()["status"] == "expired"


def test_no_credit_is_a_payment_matter(sums: BenchmarkVersion, route: ModelRoute) -> None:
    api = key_client(make_workspace("Poor"))
    quote_id = api.post("/v1/quotes", {"model": route.route_id, "benchmark": "sums"} | {"coverage": {"mode": "full"}}).json()["id"]
    answer = api.post("/v1/runs", {"quote_id": quote_id})
    assert (answer.status_code, error_of(answer)["code"]) == (402, "insufficient_credit")
    assert api.get(f"/v1/quotes/{quote_id}").json()["status"] == "open"


@pytest.mark.parametrize("quote_id", ["nonsense", 5, None, "", "\u0661", ["x"]])
def test_a_quotes_id_that_is_none_is_refused(api: ApiClient, quote_id: Any) -> None:
    assert api.post("/v1/runs", {"quote_id": quote_id}).status_code == 422


def test_a_quote_that_is_not_there_is_not_found(api: ApiClient, foreign_api: ApiClient, sums: BenchmarkVersion) -> None:
    theirs = quote(foreign_api).json()["id"]
    for quote_id in (str(uuid.uuid4()), theirs):
        assert api.post("/v1/runs", {"quote_id": quote_id}).status_code == 404
        assert api.get(f"/v1/quotes/{quote_id}").status_code == 404


def test_runs_are_filtered(api: ApiClient, sums: BenchmarkVersion) -> None:
    make_version(make_benchmark("tales"), tasks=10)
    first = start(api).json()["id"]
    second = start(api, subjects=[{"kind": "baseline", "name": "random-choice"}], benchmark="tales").json()["id"]
    work(Run.objects.get(public_id=first))
    api.post(f"/v1/runs/{second}/cancel")

    def found(query: str) -> list[str]:
        return [row["id"] for row in api.get(f"/v1/runs?{query}").json()["data"]]

    assert found("") == [second, first]
    assert found("status=completed") == [first]
    assert found("benchmark=tales") == [second]
    assert found("benchmark=sums@1") == [first]
    assert found("model=most-frequent-answer") == [first]
    assert found(f"id_prefix={first[:8]}") == [first]
    assert found("id_prefix=ffffffff") == []
    assert found("benchmark=sums@9") == []


def test_lists_are_read_in_pages(api: ApiClient, sums: BenchmarkVersion) -> None:
    ids = [start(api).json()["id"] for _ in range(5)]
    first = api.get("/v1/runs?limit=2").json()
    second = api.get(f"/v1/runs?limit=2&cursor={first['next_cursor']}").json()
    start(api)  # a row that comes meanwhile moves nothing
    third = api.get(f"/v1/runs?limit=2&cursor={second['next_cursor']}").json()
    assert [row["id"] for page in (first, second, third) for row in page["data"]] == ids[::-1]
    assert third["next_cursor"] is None
    told = urlsafe_b64decode(first["next_cursor"] + "==")
    keys = Run.objects.values_list("pk", flat=True)
    assert told not in {
        spelled for key in keys for spelled in (str(key).encode(), key.to_bytes(len(told)), key.to_bytes(len(told), "little"))
    }


def test_a_run_is_cancelled_once_it_runs_and_not_after(api: ApiClient, sums: BenchmarkVersion) -> None:
    run_id = start(api).json()["id"]
    answers = [api.post(f"/v1/runs/{run_id}/cancel") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [202, 202]
    run = work(Run.objects.get(public_id=run_id))
    assert api.get(f"/v1/runs/{run_id}").json()["status"] == "cancelled" == run.status
    ended = api.post(f"/v1/runs/{run_id}/cancel")
    assert (ended.status_code, error_of(ended)["code"]) == (409, "run_ended")
    assert api.post(f"/v1/runs/{run_id}/cancel", {"force": True}).status_code == 422


def test_a_cancelled_run_is_continued_by_a_quote(api: ApiClient, sums: BenchmarkVersion) -> None:
    run_id = start(api).json()["id"]
    early = api.post(f"/v1/runs/{run_id}/continue")
    assert (early.status_code, error_of(early)["code"]) == (409, "run_not_ended")
    api.post(f"/v1/runs/{run_id}/cancel")
    work(Run.objects.get(public_id=run_id))
    unasked = api.post(f"/v1/runs/{run_id}/continue", {})
    assert (unasked.status_code, error_of(unasked)["code"]) == (422, "cancelled_run")
    dry = api.post(f"/v1/runs/{run_id}/continue", {"include_cancelled": True, "dry_run": True})
    assert (dry.status_code, Quote.objects.count()) == (200, 1)
    made = api.post(f"/v1/runs/{run_id}/continue", {"include_cancelled": True, "max_charge_microusd": "0"})
    assert made.status_code == 201
    assert_stored("continuation_quote", made.json())
    started = api.post("/v1/runs", {"quote_id": made.json()["id"]})
    assert (started.status_code, started.json()["continued_from"]) == (201, run_id)
    assert api.get(f"/v1/runs/{run_id}").json()["continued_by"] == started.json()["id"]
    other = api.post(f"/v1/runs/{run_id}/continue", {"include_cancelled": True})
    assert (other.status_code, error_of(other)["code"]) == (409, "continuation_exists")
    assert error_of(other)["details"] == {"run_id": started.json()["id"]}


def test_events_are_without_gaps(api: ApiClient, sums: BenchmarkVersion) -> None:
    run_id = start(api).json()["id"]
    work(Run.objects.get(public_id=run_id))
    path = f"/v1/runs/{run_id}/events"
    every = api.get(path).json()
    assert [row["sequence"] for row in every["data"]] == list(range(1, len(every["data"]) + 1))
    assert every["data"][0]["type"] == "run.queued"
    assert every["data"][-1]["type"] == "run.completed"
    assert api.get(f"{path}?after=2&limit=2").json()["data"] == every["data"][2:4]
    assert api.get(f"{path}?after=2&limit=2").json()["next_cursor"] == "4"
    assert api.get(f"{path}?cursor=4").json()["data"] == every["data"][4:]
    assert api.get(f"{path}?tail=1").json() == {"data": every["data"][-1:], "next_cursor": None}
    assert {row["type"].partition(".")[0] for row in api.get(f"{path}?type=run.*").json()["data"]} == {"run"}
    assert api.get(f"{path}?after=999999999999999").json() == {"data": [], "next_cursor": None}
    for query in ("after=-1", "after=x", "tail=0", "tail=1&after=1", "type=%25", "limit=101"):
        assert api.get(f"{path}?{query}").status_code == 422


def test_attempts_name_their_samples(api: ApiClient, sums: BenchmarkVersion) -> None:
    run_id = start(api).json()["id"]
    work(Run.objects.get(public_id=run_id))
    attempts = api.get(f"/v1/runs/{run_id}/attempts?limit=100").json()["data"]
    samples = api.get(f"/v1/runs/{run_id}/samples?limit=100").json()["data"]
    assert [row["sample_id"] for row in attempts] == [row["id"] for row in samples]
    assert {row["charged"] for row in attempts} == {False}


def test_a_readers_scope_starts_nothing(workspace: Workspace, sums: BenchmarkVersion, api: ApiClient) -> None:
    reader = key_client(workspace, Scope.EVAL_READ)
    run_id = start(api).json()["id"]
    answers = [
        quote(reader),
        reader.post("/v1/runs", {}),
        reader.post(f"/v1/runs/{run_id}/cancel"),
        reader.post(f"/v1/runs/{run_id}/continue"),
    ]
    assert [answer.status_code for answer in answers] == [403] * 4
    writer = key_client(workspace, Scope.EVAL_WRITE)
    assert [writer.get("/v1/runs").status_code, writer.get(f"/v1/runs/{run_id}/results").status_code] == [403, 403]


def test_a_viewer_reads_and_starts_nothing(
    session_api: Callable[[User], ApiClient], viewer: User, api: ApiClient, sums: BenchmarkVersion
) -> None:
    run_id = start(api).json()["id"]
    browser = session_api(viewer)
    assert browser.get(f"/v1/runs/{run_id}").status_code == 200
    assert [quote(browser).status_code, browser.post(f"/v1/runs/{run_id}/cancel").status_code] == [403, 403]
