"""The workspace's own endpoints over HTTP."""

from pytest_django.fixtures import Settings

from gateway.models import Connection
from tests.api.conftest import ApiClient, assert_stored, error_of, key_client
from tests.factories import make_connection
from tests.standins.chat import ChatServer
from workspaces.enums import Scope
from workspaces.models import Workspace

BODY = {
    "name": "ours",
    "endpoint": "https://models.example.org/v1",
    "model": "small",
    "api_key": "sk-testtesttesttesttest",
    "protocol": "openai",
}


def test_a_connection_is_made_without_showing_its_key(api: ApiClient, workspace: Workspace) -> None:
    made = api.post("/v1/connections", BODY)
    assert made.status_code == 201
    assert_stored("connection_created", made.json())
    assert b"sk-test" not in made.content + api.get("/v1/connections").content
    assert b"sk-test" not in workspace.connections.get().secret.encode()
    assert api.get(f"/v1/connections/{made.json()['id']}").json() == made.json()


def test_an_address_that_is_private_is_refused(api: ApiClient, workspace: Workspace) -> None:
    for endpoint in ("http://169.254.169.254/v1", "http://2130706433/", "http://[::ffff:127.0.0.1]/", "http://localhost:1/v1"):
        answer = api.post("/v1/connections", {**BODY, "endpoint": endpoint})
        assert (answer.status_code, error_of(answer)["code"]) == (422, "blocked_address")
    for endpoint in ("ftp://example.org", "nonsense", "https://a:b@example.org/v1"):
        assert api.post("/v1/connections", {**BODY, "endpoint": endpoint}).status_code == 422
    assert workspace.connections.count() == 0


def test_a_connection_is_checked_by_a_real_call(api: ApiClient, workspace: Workspace, settings: Settings) -> None:
    settings.ALLOW_PRIVATE_ENDPOINTS = True
    with ChatServer(lambda messages: "OK") as server:
        connection = make_connection(workspace, endpoint=server.url, checked=False)
        answer = api.post(f"/v1/connections/{connection.public_id}/check")
        assert answer.json()["ok"] is True
        assert answer.json()["error"] is None
    assert api.get(f"/v1/connections/{connection.public_id}").json()["checked_at"] is not None
    failed = api.post(f"/v1/connections/{connection.public_id}/check", idempotency_key="a")
    assert (failed.status_code, failed.json()["ok"], bool(failed.json()["error"])) == (200, False, True)
    assert api.get(f"/v1/connections/{connection.public_id}").json()["checked_at"] is None


def test_a_change_of_what_is_called_is_a_new_revision(api: ApiClient, workspace: Workspace) -> None:
    connection = make_connection(workspace, name="old")
    path = f"/v1/connections/{connection.public_id}"
    renamed = api.patch(path, {"name": "new"}).json()
    assert (renamed["name"], renamed["revision"], renamed["checked_at"] is None) == ("new", 1, False)
    changed = api.patch(path, {"model": "other"}).json()
    assert (changed["revision"], changed["checked_at"]) == (2, None)
    refused = api.patch(path, {"endpoint": "http://10.0.0.1/v1"})
    assert error_of(refused)["code"] == "blocked_address"


def test_a_deleted_connection_is_gone_with_its_key(api: ApiClient, workspace: Workspace) -> None:
    connection = make_connection(workspace, api_key="sk-testtesttesttesttest")
    path = f"/v1/connections/{connection.public_id}"
    assert api.delete(path).status_code == 204
    assert [api.get(path).status_code, api.delete(path).status_code] == [404, 404]
    assert Connection.objects.get().secret == ""


def test_scopes_of_connections(workspace: Workspace, other_workspace: Workspace) -> None:
    connection = make_connection(workspace)
    path = f"/v1/connections/{connection.public_id}"
    reader, runner = key_client(workspace, Scope.EVAL_READ), key_client(workspace, Scope.EVAL_WRITE)
    assert reader.get(path).status_code == 200
    assert [reader.post("/v1/connections", BODY).status_code, reader.delete(path).status_code] == [403, 403]
    assert [reader.post(f"{path}/check").status_code, runner.patch(path, {"name": "x"}).status_code] == [403, 403]
    stranger = key_client(other_workspace)
    answers = [stranger.get(path), stranger.patch(path, {"name": "x"}), stranger.delete(path), stranger.post(f"{path}/check")]
    assert [answer.status_code for answer in answers] == [404] * 4
