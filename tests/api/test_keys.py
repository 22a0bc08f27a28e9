"""API keys over HTTP."""

from datetime import timedelta

from django.test import Client
from django.utils import timezone

from billing.limits import set_key_ceiling
from tests.api.conftest import ApiClient, assert_stored, error_of, key_client
from workspaces.actions import create_api_key
from workspaces.actors import SYSTEM
from workspaces.enums import Scope
from workspaces.models import Workspace


def test_a_key_is_made_and_its_secret_shown_once(api: ApiClient, workspace: Workspace) -> None:
    made = api.post("/v1/api-keys", {"label": "ci", "scopes": ["eval:write", "eval:read"], "spend_ceiling_microusd": "20000000"})
    assert made.status_code == 201
    assert_stored("api_key_created", made.json())
    key = workspace.api_keys.get(label="ci")
    shown = api.get(f"/v1/api-keys/{key.public_id}").json()
    assert shown == {name: value for name, value in made.json().items() if name != "secret"}
    assert made.json()["secret"].startswith(shown["prefix"])
    works = ApiClient(Client(), authorization=f"Bearer {made.json()['secret']}").get("/v1/account").json()
    assert works["scopes"] == ["eval:read", "eval:write"]


def test_keys_are_listed_without_secrets(api: ApiClient, workspace: Workspace) -> None:
    create_api_key(workspace, actor=SYSTEM, label="second", scopes=[Scope.EVAL_READ], expires_at=timezone.now() + timedelta(days=1))
    assert_stored("api_keys", api.get("/v1/api-keys").json())


def test_a_key_is_changed_where_it_says(api: ApiClient, workspace: Workspace) -> None:
    key, _ = create_api_key(workspace, actor=SYSTEM, label="old", scopes=[Scope.EVAL_READ], spend_ceiling_microusd=5)
    path = f"/v1/api-keys/{key.public_id}"
    assert api.patch(path, {"label": "new"}).json()["label"] == "new"
    assert api.get(path).json()["spend_ceiling_microusd"] == "5"
    assert api.patch(path, {"spend_ceiling_microusd": None}).json()["spend_ceiling_microusd"] is None
    assert api.patch(path, {}).json()["label"] == "new"
    refused = api.patch(path, {"prefix": "x"})
    assert error_of(refused)["details"] == {"prefix": ["Unknown field."]}


def test_a_key_is_rolled_and_shares_its_ceiling(api: ApiClient, workspace: Workspace) -> None:
    old, old_text = create_api_key(workspace, actor=SYSTEM, label="ci", scopes=[Scope.EVAL_READ], spend_ceiling_microusd=7)
    new = api.post(f"/v1/api-keys/{old.public_id}/roll")
    assert (new.status_code, new.json()["spend_ceiling_microusd"]) == (201, "7")
    for text in (old_text, new.json()["secret"]):
        assert ApiClient(Client(), authorization=f"Bearer {text}").get("/v1/account").status_code == 200


def test_a_deleted_key_stops_at_once(api: ApiClient, workspace: Workspace) -> None:
    key, text = create_api_key(workspace, actor=SYSTEM, label="old", scopes=[Scope.EVAL_READ])
    gone = api.delete(f"/v1/api-keys/{key.public_id}")
    assert (gone.status_code, gone.content) == (204, b"")
    assert ApiClient(Client(), authorization=f"Bearer {text}").get("/v1/account").status_code == 401
    assert api.get(f"/v1/api-keys/{key.public_id}").json()["status"] == "revoked"


def test_a_key_gives_no_more_than_it_has(workspace: Workspace) -> None:
    narrow = key_client(workspace, Scope.KEYS_MANAGE)
    own = workspace.api_keys.get()
    set_key_ceiling(own, actor=SYSTEM, ceiling_microusd=100)
    wider = narrow.post("/v1/api-keys", {"label": "k", "scopes": ["eval:write"]})
    assert (wider.status_code, error_of(wider)["code"]) == (403, "forbidden")
    body = {"label": "k", "scopes": ["keys:manage"], "spend_ceiling_microusd": "101"}
    assert error_of(narrow.post("/v1/api-keys", body))["code"] == "ceiling_exceeded"
    assert narrow.post("/v1/api-keys", {**body, "spend_ceiling_microusd": "100"}).status_code == 201
    raised = narrow.patch(f"/v1/api-keys/{own.public_id}", {"spend_ceiling_microusd": "1000"})
    assert error_of(raised)["code"] == "ceiling_exceeded"
    assert workspace.api_keys.count() == 2


def test_a_strangers_key_is_not_found(api: ApiClient, other_workspace: Workspace) -> None:
    key, _ = create_api_key(other_workspace, actor=SYSTEM, label="theirs", scopes=[Scope.EVAL_READ])
    path = f"/v1/api-keys/{key.public_id}"
    answers = [api.get(path), api.patch(path, {"label": "x"}), api.delete(path), api.post(f"{path}/roll")]
    assert [answer.status_code for answer in answers] == [404] * 4
    key.refresh_from_db()
    assert (key.label, key.revoked_at) == ("theirs", None)
