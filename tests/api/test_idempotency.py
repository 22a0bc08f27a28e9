"""`Idempotency-Key`: sent twice, done once."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import Client
from django.utils import timezone

from common import idempotency
from common.models import IdempotentAnswer
from runs.models import Quote, Run
from tests.api.conftest import ApiClient, error_of, key_client
from tests.factories import make_version
from workspaces.actions import create_api_key
from workspaces.actors import SYSTEM
from workspaces.enums import Scope
from workspaces.models import User, Workspace

KEY = {"label": "made", "scopes": ["eval:read"]}


def quote_of(profile_id: str, **more: Any) -> dict[str, Any]:
    return {
        "model": {"kind": "baseline", "name": "random-choice"},
        "selection": {"profile_ids": [profile_id]},
        "coverage": {"mode": "full"},
        **more,
    }


def test_the_same_request_gets_the_same_answer(api: ApiClient, version: Any) -> None:
    first = api.post("/v1/quotes", quote_of(version.profile_id), idempotency_key="a")
    again = api.post("/v1/quotes", quote_of(version.profile_id), idempotency_key="a")
    assert (first.status_code, again.status_code) == (201, 201)
    assert (again.content, again["Idempotent-Replayed"], again["Cache-Control"]) == (first.content, "true", "no-store")
    assert Quote.objects.count() == 1


def test_the_same_request_without_a_key_is_done_again(api: ApiClient, version: Any) -> None:
    ids = {api.post("/v1/quotes", quote_of(version.profile_id)).json()["id"] for _ in range(2)}
    assert len(ids) == 2


def test_the_order_of_fields_is_no_other_body(api: ApiClient, version: Any) -> None:
    body = quote_of(version.profile_id)
    first = api.post("/v1/quotes", body, idempotency_key="a")
    assert api.post("/v1/quotes", dict(reversed(body.items())), idempotency_key="a").content == first.content


def test_another_body_under_the_same_key_is_a_conflict(api: ApiClient, version: Any) -> None:
    api.post("/v1/quotes", quote_of(version.profile_id), idempotency_key="a")
    answer = api.post("/v1/quotes", quote_of(version.profile_id, name="other"), idempotency_key="a")
    assert (answer.status_code, error_of(answer)["code"]) == (409, "idempotency_key_reused")


def test_a_key_belongs_to_one_route_and_one_workspace(
    api: ApiClient, foreign_api: ApiClient, version: Any, workspace: Workspace, other_workspace: Workspace
) -> None:
    body = quote_of(version.profile_id)
    mine = api.post("/v1/quotes", body, idempotency_key="a").json()["id"]
    theirs = foreign_api.post("/v1/quotes", body, idempotency_key="a").json()["id"]
    assert mine != theirs
    assert api.post("/v1/runs", {"quote_id": mine}, idempotency_key="a").status_code == 201
    assert [workspace.quotes.count(), other_workspace.quotes.count()] == [1, 1]


def test_another_key_of_the_workspace_gets_the_same_answer(api: ApiClient, version: Any, workspace: Workspace) -> None:
    first = api.post("/v1/quotes", quote_of(version.profile_id), idempotency_key="a")
    assert key_client(workspace).post("/v1/quotes", quote_of(version.profile_id), idempotency_key="a").content == first.content


def test_it_is_looked_up_after_permission(api: ApiClient, version: Any, workspace: Workspace) -> None:
    api.post("/v1/quotes", quote_of(version.profile_id), idempotency_key="a")
    reader = key_client(workspace, Scope.EVAL_READ)
    assert reader.post("/v1/quotes", quote_of(version.profile_id), idempotency_key="a").status_code == 403


def test_a_refusal_is_not_kept(api: ApiClient, version: Any) -> None:
    refused = api.post("/v1/quotes", quote_of("nothing@1"), idempotency_key="a")
    assert (refused.status_code, error_of(refused)["code"]) == (422, "benchmark_not_found")
    assert IdempotentAnswer.objects.count() == 0
    assert api.post("/v1/quotes", quote_of(version.profile_id), idempotency_key="a").status_code == 201


def test_a_failure_is_not_kept_and_leaves_nothing(api: ApiClient, version: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr("runs.api.runs.quote_document", fail)
    api.client.raise_request_exception = False
    assert api.post("/v1/quotes", quote_of(version.profile_id), idempotency_key="a").status_code == 500
    assert (Quote.objects.count(), IdempotentAnswer.objects.count()) == (0, 0)


def test_an_answer_that_bore_a_secret_is_not_shown_again(api: ApiClient, workspace: Workspace) -> None:
    secret = api.post("/v1/api-keys", KEY, idempotency_key="a").json()["secret"]
    again = api.post("/v1/api-keys", KEY, idempotency_key="a")
    assert (again.status_code, error_of(again)["code"]) == (409, "secret_already_shown")
    assert [secret in row.body for row in IdempotentAnswer.objects.all()] == [False]
    assert workspace.api_keys.filter(label="made").count() == 1


def test_a_deletion_under_a_key_is_answered_again(api: ApiClient, workspace: Workspace) -> None:
    key, _ = create_api_key(workspace, actor=SYSTEM, label="old", scopes=["eval:read"])
    answers = [api.delete(f"/v1/api-keys/{key.public_id}", idempotency_key="a") for _ in range(2)]
    assert [(answer.status_code, answer.content) for answer in answers] == [(204, b"")] * 2


@pytest.mark.parametrize("key", ["", "x" * 201, "a\tb"])
def test_a_key_that_is_none_is_refused(api: ApiClient, key: str) -> None:
    answer = api.post("/v1/api-keys", KEY, idempotency_key=key)
    assert (answer.status_code, list(error_of(answer)["details"])) == (422, ["Idempotency-Key"])


def test_after_a_day_the_key_is_free(api: ApiClient, version: Any) -> None:
    first = api.post("/v1/quotes", quote_of(version.profile_id), idempotency_key="a").json()
    long_ago = timezone.now() - timedelta(hours=24, seconds=1)
    IdempotentAnswer.objects.update(claimed_at=long_ago)
    assert api.post("/v1/quotes", quote_of(version.profile_id, name="other"), idempotency_key="a").json()["id"] != first["id"]
    IdempotentAnswer.objects.update(claimed_at=long_ago)
    assert (idempotency.forget_expired(), IdempotentAnswer.objects.count()) == (1, 0)


def test_a_claim_whose_holder_died_is_taken_over(db: None) -> None:
    dead = idempotency.claim("scope", "a", body_sha256="b")
    assert isinstance(dead, idempotency.Claim)
    IdempotentAnswer.objects.update(claimed_at=dead.at - idempotency.CLAIMED - timedelta(seconds=1))
    taken = idempotency.claim("scope", "a", body_sha256="b")
    assert isinstance(taken, idempotency.Claim)
    with pytest.raises(idempotency.ClaimLost):
        idempotency.keep(dead, status=201, body="{}", bore_secret=False)
    idempotency.release(dead)
    idempotency.keep(taken, status=201, body="{}", bore_secret=False)
    assert idempotency.claim("scope", "a", body_sha256="b") == idempotency.Kept(201, "{}")


def test_one_step_needs_a_key_and_starts_once(api: ApiClient, version: Any) -> None:
    body = quote_of(version.profile_id)
    without = api.post("/v1/runs", body)
    assert (without.status_code, error_of(without)["code"]) == (422, "idempotency_key_required")
    first = api.post("/v1/runs", body, idempotency_key="a")
    again = api.post("/v1/runs", body, idempotency_key="a")
    assert (first.status_code, again.json()["id"], Run.objects.count()) == (201, first.json()["id"], 1)


@pytest.mark.django_db(transaction=True)
def test_a_twin_in_flight_waits(monkeypatch: pytest.MonkeyPatch, workspace: Workspace, owner: User) -> None:
    """The first stands between its claim and its work until the second has been seen to wait."""
    version = make_version(tasks=3)
    _, text = create_api_key(workspace, actor=SYSTEM, label="twins", scopes=list(Scope))
    claimed, waiting = threading.Event(), threading.Event()
    real_sleep, real_claim = idempotency.time.sleep, idempotency.claim

    def claim_and_wait(*args: Any, **kwargs: Any) -> Any:
        found = real_claim(*args, **kwargs)
        if isinstance(found, idempotency.Claim):
            claimed.set()
            waiting.wait(10)
        return found

    monkeypatch.setattr(idempotency.time, "sleep", lambda seconds: (waiting.set(), real_sleep(seconds)))
    monkeypatch.setattr(idempotency, "claim", claim_and_wait)
    answers: list[Any] = []

    def ask() -> None:
        client = ApiClient(Client(), authorization=f"Bearer {text}")
        answers.append(client.post("/v1/quotes", quote_of(version.profile_id), idempotency_key="a"))
        BaseDatabaseWrapper.close(connections["default"])  # a database in memory keeps its connection open otherwise

    threads = [threading.Thread(target=ask) for _ in range(2)]
    threads[0].start()
    assert claimed.wait(10)
    threads[1].start()
    for thread in threads:
        thread.join(20)
    assert waiting.is_set()
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].content == answers[1].content
    assert Quote.objects.count() == 1
