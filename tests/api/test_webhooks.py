"""Webhooks over HTTP: endpoints, tests, deliveries."""

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from runs.models.notices import WebhookDelivery, WebhookEndpoint
from runs.notices.delivering import deliver_due
from runs.notices.receiving import is_genuine
from tests.api.conftest import ApiClient, assert_stored, error_of, key_client
from tests.runs.noticing import add_endpoint, tell
from tests.standins.http import Reply
from tests.standins.webhooks import Receiver
from workspaces.actors import Actor
from workspaces.enums import Scope
from workspaces.models import Workspace

BODY = {"url": "https://hooks.example.org/t/1", "events": ["run.interrupted", "run.ended"], "description": "Our chat"}
PATH = "/v1/webhook-endpoints"


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    settings.ALLOW_PRIVATE_ENDPOINTS = True
    with Receiver() as found:
        yield found


def test_an_endpoint_is_made_and_its_secret_shown_once(api: ApiClient, workspace: Workspace) -> None:
    made = api.post(PATH, BODY, idempotency_key="a")
    assert made.status_code == 201
    shown = made.json()
    secret = shown.pop("secret")
    assert_stored("webhook_endpoint_created", shown)
    assert secret.startswith("whsec_")
    assert api.get(f"{PATH}/{shown['id']}").json() == shown
    assert api.get(PATH).json() == {"data": [shown], "next_cursor": None}
    again = api.post(PATH, BODY, idempotency_key="a")
    assert (again.status_code, error_of(again)["code"], WebhookEndpoint.objects.count()) == (409, "secret_already_shown", 1)


def test_what_an_endpoint_cannot_be(api: ApiClient) -> None:
    wrong = {
        "http://hooks.example.org/": "https_required",
        "https://169.254.169.254/": "blocked_address",
        "https://a:b@hooks.example.org/": "invalid_endpoint",
    }
    assert {url: error_of(api.post(PATH, {**BODY, "url": url}))["code"] for url in wrong} == wrong
    for changed in ({"events": []}, {"events": ["webhook.test"]}, {"events": "run.ended"}, {"secret": "mine"}, {"url": 1}):
        assert api.post(PATH, {**BODY, **changed}).status_code == 422
    assert WebhookEndpoint.objects.count() == 0


def test_an_endpoint_is_changed_where_it_says(api: ApiClient, workspace: Workspace) -> None:
    endpoint, _ = add_endpoint(workspace, "https://hooks.example.org/")
    path = f"{PATH}/{endpoint.public_id}"
    changed = api.patch(path, {"enabled": False, "events": ["run.waiting"]}).json()
    assert (changed["enabled"], changed["off_reason"], changed["events"], changed["url"]) == (
        False, "person", ["run.waiting"], "https://hooks.example.org/"
    )  # fmt: skip
    assert api.patch(path, {}).json() == changed
    assert api.patch(path, {"enabled": True}).json()["off_reason"] is None
    assert error_of(api.patch(path, {"url": "https://10.0.0.1/"}))["code"] == "blocked_address"
    assert [api.delete(path).status_code, api.get(path).status_code] == [204, 404]


def test_a_secret_is_replaced(api: ApiClient, workspace: Workspace, actor: Actor, receiver: Receiver) -> None:
    endpoint, old = add_endpoint(workspace, receiver.url)
    path = f"{PATH}/{endpoint.public_id}/secret"
    first = api.post(path)
    assert (first.status_code, first.json()["old_secret_until"] is not None) == (201, True)
    second = api.post(path, {"overlap_hours": 0}, idempotency_key="b")
    assert second.json()["old_secret_until"] is None
    assert error_of(api.post(path, {"overlap_hours": 0}, idempotency_key="b"))["code"] == "secret_already_shown"
    assert api.post(path, {"overlap_hours": 169}).status_code == 422
    tell(workspace, actor)
    deliver_due()
    (request,) = receiver.received
    secrets = (old, first.json()["secret"], second.json()["secret"])
    assert [is_genuine(secret, request.headers, request.body) for secret in secrets] == [False, False, True]


def test_a_test_answers_what_came_of_it(api: ApiClient, workspace: Workspace, receiver: Receiver) -> None:
    receiver.fault = lambda asked, number: Reply(500, b"broken") if number == 2 else None
    endpoint, _ = add_endpoint(workspace, receiver.url)
    path = f"{PATH}/{endpoint.public_id}/test"
    good = api.post(path, idempotency_key="a")
    assert_stored("webhook_test", good.json())
    assert api.post(path, idempotency_key="a").json() == good.json()
    assert len(receiver.received) == 1
    bad = api.post(path).json()
    assert [bad[name] for name in ("state", "last_status", "last_error", "last_excerpt")] == ["failed", 500, "It answered 500.", "broken"]
    assert error_of(api.post(f"/v1/webhook-deliveries/{bad['id']}/redeliver"))["code"] == "is_a_test"
    for _ in range(3):
        api.post(path)
    assert error_of(api.post(path))["code"] == "too_many_tests"


def test_deliveries_are_listed_shown_and_repeated(api: ApiClient, workspace: Workspace, actor: Actor, receiver: Receiver) -> None:
    receiver.fault = lambda asked, number: Reply(500) if number == 1 else None
    endpoint, _ = add_endpoint(workspace, receiver.url)
    tell(workspace, actor)
    deliver_due()
    tell(workspace, actor)
    deliver_due()
    listed = api.get("/v1/webhook-deliveries").json()
    assert [each["state"] for each in listed["data"]] == ["delivered", "pending"]
    first = api.get("/v1/webhook-deliveries?limit=1").json()
    second = api.get(f"/v1/webhook-deliveries?limit=1&cursor={first['next_cursor']}").json()
    assert first["data"] + second["data"] == listed["data"]
    for query in ("state=delivered", f"endpoint_id={endpoint.public_id}&state=delivered"):
        assert api.get(f"/v1/webhook-deliveries?{query}").json()["data"] == listed["data"][:1]
    delivered, pending = (f"/v1/webhook-deliveries/{each['id']}" for each in listed["data"])
    assert_stored("webhook_delivery", api.get(delivered).json())
    assert error_of(api.post(f"{pending}/redeliver"))["code"] == "still_pending"
    again = api.post(f"{delivered}/redeliver").json()
    assert (again["state"], again["delivered_at"], again["tries"]) == ("pending", None, 1)
    deliver_due()
    assert (api.get(delivered).json()["tries"], len(receiver.received)) == (2, 3)


def test_scopes_and_strangers_of_webhooks(workspace: Workspace, other_workspace: Workspace, actor: Actor) -> None:
    endpoint, _ = add_endpoint(workspace, "https://hooks.example.org/")
    tell(workspace, actor)
    one, delivery = f"{PATH}/{endpoint.public_id}", f"/v1/webhook-deliveries/{WebhookDelivery.objects.get().public_id}"
    asked = [
        ("GET", PATH), ("POST", PATH), ("GET", one), ("PATCH", one), ("DELETE", one), ("POST", f"{one}/secret"), ("POST", f"{one}/test"),
        ("GET", "/v1/webhook-deliveries"), ("GET", delivery), ("POST", f"{delivery}/redeliver"),
    ]  # fmt: skip
    narrow = key_client(workspace, *(scope for scope in Scope if scope != Scope.KEYS_MANAGE))
    assert {narrow.ask(verb, path).status_code for verb, path in asked} == {403}
    stranger = key_client(other_workspace)
    found = [stranger.ask(verb, path).status_code for verb, path in asked]
    assert found == [200, 422, 404, 404, 404, 404, 404, 200, 404, 404]
    assert (stranger.get(PATH).json()["data"], stranger.get("/v1/webhook-deliveries").json()["data"]) == ([], [])
    assert stranger.get(f"/v1/webhook-deliveries?endpoint_id={endpoint.public_id}").status_code == 404
    manager = key_client(workspace, Scope.KEYS_MANAGE)
    assert manager.get(one).status_code == 200
