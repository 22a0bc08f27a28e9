"""Links to results, and leaderboards, over HTTP."""

from typing import Any

import pytest
from django.test import Client

from runs.models import Run
from runs.queries import get_result, get_run
from runs.sharing.candidates import candidates_of
from runs.sharing.publishing import publish_result
from tests.api.conftest import ApiClient, assert_stored, error_of, key_client
from tests.api.test_results import ended
from workspaces.actors import Actor
from workspaces.models import User, Workspace

LATER = "2999-01-31T12:00:00Z"


@pytest.fixture
def run_id(api: ApiClient) -> str:
    return ended(api)


def steady(share: dict[str, Any]) -> dict[str, Any]:
    """The link with its token, which is another each time, left out."""
    return {**share, "url": share["url"] and share["url"].rpartition("/")[0]}


def test_link_is_made_listed_opened_and_revoked(api: ApiClient, run_id: str) -> None:
    path = f"/v1/runs/{run_id}/shares"
    made = api.post(path, {"title": "For the paper", "shows_samples": True, "expires_at": LATER})
    assert made.status_code == 201
    assert_stored("share_created", steady(made.json()))
    page = "/" + made.json()["url"].split("/", 3)[3]
    assert (Client().get(page).status_code, Client().get(f"{page}/samples/0").status_code) == (200, 200)
    listed = api.get(path).json()
    assert_stored("shares", {**listed, "data": [steady(each) for each in listed["data"]]})
    assert (listed["data"][0]["url"], listed["data"][0]["opened"]) == (made.json()["url"], 1)
    assert api.delete(f"{path}/{made.json()['id']}").status_code == 204
    assert api.delete(f"{path}/{made.json()['id']}").status_code == 204
    gone = api.get(path).json()["data"][0]
    assert (gone["state"], gone["url"], Client().get(page).status_code) == ("revoked", None, 404)


def test_link_pins_the_version_that_is_asked_for(api: ApiClient, run_id: str) -> None:
    path = f"/v1/runs/{run_id}/shares"
    result = api.get(f"/v1/runs/{run_id}/results").json()
    assert api.post(path, {"version": 1}).json()["result"] == {"version": 1, "sha256": result["sha256"]}
    assert api.post(path, {"version": 2}).status_code == 404


def test_address_is_told_to_those_who_may_share_alone(api: ApiClient, workspace: Workspace, run_id: str) -> None:
    path = f"/v1/runs/{run_id}/shares"
    api.post(path, {})
    reader = key_client(workspace, "eval:read")
    assert reader.get(path).json()["data"][0]["url"] is None
    assert [reader.post(path, {}).status_code, key_client(workspace, "billing:read").get(path).status_code] == [403, 403]


def test_kept_answers_hold_no_address(api: ApiClient, run_id: str) -> None:
    path = f"/v1/runs/{run_id}/shares"
    made = api.post(path, {}, idempotency_key="once")
    again = api.post(path, {}, idempotency_key="once")
    assert (made.status_code, again.status_code, error_of(again)["code"]) == (201, 409, "secret_already_shown")
    assert len(api.get(path).json()["data"]) == 1


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"shows_everything": True}, "validation_error"),
        ({"title": "x" * 161}, "validation_error"),
        ({"shows_cost": "yes"}, "validation_error"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "invalid_expiry"),
        ({"labels": [{"subject_index": 0, "label": "Another"}]}, "invalid_labels"),
        ({"labels": [{"subject_index": 0, "label": "a"}, {"subject_index": 0, "label": "b"}]}, "validation_error"),
    ],
)
def test_what_is_not_understood_is_refused(api: ApiClient, run_id: str, body: dict[str, Any], code: str) -> None:
    refused = api.post(f"/v1/runs/{run_id}/shares", body)
    assert (refused.status_code, error_of(refused)["code"]) == (422, code)


def test_rights_refuse_samples_and_a_run_that_goes_on(api: ApiClient) -> None:
    run_id = ended(api, export_policy="aggregate")
    refused = api.post(f"/v1/runs/{run_id}/shares", {"shows_samples": True})
    assert (refused.status_code, error_of(refused)["code"]) == (422, "samples_not_permitted")
    assert api.post(f"/v1/runs/{run_id}/shares", {}).status_code == 201
    going = api.post("/v1/runs", {"subjects": ["random-choice"], "benchmark": "sums", "coverage": {"mode": "full"}}, idempotency_key="b")
    early = api.post(f"/v1/runs/{going.json()['id']}/shares", {})
    assert (early.status_code, error_of(early)["code"]) == (409, "result_not_ready")


def test_strangers_find_no_link(api: ApiClient, foreign_api: ApiClient, run_id: str) -> None:
    path = f"/v1/runs/{run_id}/shares"
    share = api.post(path, {}).json()
    answers = [foreign_api.get(path), foreign_api.post(path, {}), foreign_api.delete(f"{path}/{share['id']}")]
    assert [answer.status_code for answer in answers] == [404] * 3


def test_leaderboard_is_everyones(api: ApiClient, nobody: ApiClient, workspace: Workspace, owner: User, actor: Actor, run_id: str) -> None:
    empty = nobody.get("/v1/benchmarks/sums/leaderboard").json()
    assert empty == {"schema": "evalrouter.leaderboard.v1", "profile_id": "sums@1", "tables": []}
    run: Run = get_run(workspace, run_id)
    result = get_result(run)
    keys = [each.key for each in candidates_of(run, result)]
    publish_result(run, result, actor=actor, keys=keys, agreed_name=workspace.name)
    found = nobody.get("/v1/benchmarks/sums/leaderboard?version=1").json()
    assert_stored("leaderboard", found)
    assert [run_id in str(found), owner.email in str(found)] == [False, False]
    assert nobody.get("/v1/benchmarks/sums/leaderboard?version=2").status_code == 404
    assert nobody.get("/v1/benchmarks/nothing/leaderboard").status_code == 404
