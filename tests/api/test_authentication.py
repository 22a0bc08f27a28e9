"""Who may ask, in which workspace."""

import uuid
from collections.abc import Callable

from django.test import Client

from tests.api.conftest import ApiClient, error_of, key_client
from tests.factories import make_user, make_workspace
from workspaces.actions import authenticate_key, create_api_key, revoke_api_key
from workspaces.actors import SYSTEM
from workspaces.enums import Role, Scope
from workspaces.models import User, Workspace

WALLET = "/v1/billing/wallet"


def test_no_credentials_are_challenged(nobody: ApiClient) -> None:
    answer = nobody.get(WALLET)
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"] == 'Bearer realm="EvalRouter"'
    assert error_of(answer)["code"] == "unauthenticated"


def test_an_error_names_its_request_and_where_to_report_it(nobody: ApiClient) -> None:
    answer = nobody.get(WALLET)
    request_id = answer["X-Request-Id"]
    assert error_of(answer) == {
        "code": "unauthenticated",
        "message": "Authentication credentials were not provided.",
        "details": {},
        "request_id": request_id,
        "feedback": {
            "url": "/v1/feedback",
            "method": "POST",
            "request_id": request_id,
            "docs": "http://testserver/developers/docs/feedback",
        },
    }


def test_a_key_that_does_not_work_is_refused_also_where_none_is_needed(workspace: Workspace) -> None:
    key, text = create_api_key(workspace, actor=SYSTEM, label="old", scopes=[Scope.EVAL_READ])
    revoke_api_key(key, actor=SYSTEM)
    for header in (f"Bearer {text}", f"Bearer {text[:-1]}x", "Bearer ", "Basic YTpi", "Bearer é", "Bearer " + "x" * 5000, text):
        for path in (WALLET, "/v1/benchmarks"):
            answer = ApiClient(Client(), authorization=header).get(path)
            assert (answer.status_code, error_of(answer)["code"]) == (401, "unauthenticated")
            assert answer["Cache-Control"] == "no-store"


def test_a_key_asks_in_its_own_workspace(api: ApiClient, workspace: Workspace) -> None:
    answer = api.get("/v1/account")
    assert answer.json()["workspace"] == {"id": str(workspace.public_id), "name": "Ours"}
    assert answer["Cache-Control"] == "no-store"
    assert api.get("/v1/account", x_workspace_id=str(workspace.public_id)).json() == answer.json()


def test_a_key_with_another_workspaces_id_finds_nothing(api: ApiClient, other_workspace: Workspace) -> None:
    for named in (str(other_workspace.public_id), str(uuid.uuid4()), "nonsense", ""):
        for path in ("/v1/account", WALLET, "/v1/benchmarks"):
            answer = api.get(path, x_workspace_id=named)
            assert (answer.status_code, error_of(answer)["code"]) == (404, "not_found")


def test_a_key_without_the_scope_is_forbidden(workspace: Workspace) -> None:
    answer = key_client(workspace, Scope.EVAL_READ).get(WALLET)
    assert (answer.status_code, error_of(answer)["code"]) == (403, "forbidden")


def test_a_session_asks_in_the_workspace_it_names(session_api: Callable[[User], ApiClient], owner: User, workspace: Workspace) -> None:
    second = make_workspace("Second", owner=owner)
    client = session_api(owner)
    assert client.get("/v1/account").json()["workspace"]["id"] == str(workspace.public_id)
    assert client.get("/v1/account", x_workspace_id=str(second.public_id)).json()["workspace"]["id"] == str(second.public_id)


def test_a_session_of_a_stranger_finds_nothing(session_api: Callable[[User], ApiClient], stranger: User, workspace: Workspace) -> None:
    answer = session_api(stranger).get(WALLET, x_workspace_id=str(workspace.public_id))
    assert (answer.status_code, error_of(answer)["code"]) == (404, "not_found")


def test_a_person_in_no_workspace_is_told_so(session_api: Callable[[User], ApiClient], db: None) -> None:
    answer = session_api(make_user()).get("/v1/account")
    assert (answer.status_code, error_of(answer)["code"]) == (409, "no_workspace")


def test_a_session_needs_a_csrf_token_to_change_something(owner: User, workspace: Workspace) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(owner)
    body = {"label": "mine", "scopes": ["eval:read"]}
    refused = ApiClient(browser).post("/v1/api-keys", body)
    assert (refused.status_code, error_of(refused)["code"]) == (403, "forbidden")
    browser.cookies["csrftoken"] = "t" * 32
    assert ApiClient(browser, x_csrftoken="t" * 32).post("/v1/api-keys", body).status_code == 201
    assert workspace.api_keys.count() == 1


def test_a_key_needs_no_csrf_token(workspace: Workspace) -> None:
    _, text = create_api_key(workspace, actor=SYSTEM, label="tests", scopes=[Scope.KEYS_MANAGE])
    client = ApiClient(Client(enforce_csrf_checks=True), authorization=f"Bearer {text}")
    assert client.post("/v1/api-keys", {"label": "made", "scopes": ["keys:manage"]}).status_code == 201


def test_roles_decide_what_a_session_may(
    session_api: Callable[[User], ApiClient], owner: User, member: User, viewer: User, workspace: Workspace
) -> None:
    body = {"label": "k", "scopes": ["eval:read"]}
    assert [session_api(person).post("/v1/api-keys", body).status_code for person in (viewer, member, owner)] == [403, 403, 201]
    assert [session_api(person).get(WALLET).status_code for person in (viewer, member, owner)] == [200, 200, 200]


def test_account_of_each(session_api: Callable[[User], ApiClient], viewer: User, api: ApiClient, workspace: Workspace) -> None:
    person = session_api(viewer).get("/v1/account").json()
    assert person == {
        "user": {"id": str(viewer.public_id), "email": "viewer@example.org", "name": ""},
        "api_key": None,
        "workspace": {"id": str(workspace.public_id), "name": "Ours"},
        "role": Role.VIEWER,
        "scopes": ["eval:read", "billing:read"],
    }
    key = workspace.api_keys.get()
    assert api.get("/v1/account").json() == {
        "user": None,
        "api_key": {"id": str(key.public_id), "label": "tests"},
        "workspace": {"id": str(workspace.public_id), "name": "Ours"},
        "role": None,
        "scopes": ["eval:read", "eval:write", "benchmarks:submit", "billing:read", "keys:manage"],
    }


def test_a_key_outlives_its_makers_membership(owner: User, workspace: Workspace) -> None:
    from workspaces.actors import actor_of_user

    _, text = create_api_key(workspace, actor=actor_of_user(owner), label="tests", scopes=[Scope.BILLING_READ])
    owner.memberships.all().delete()
    assert authenticate_key(text) is not None
    assert ApiClient(Client(), authorization=f"Bearer {text}").get(WALLET).status_code == 200


def test_workspaces_of_each(session_api: Callable[[User], ApiClient], owner: User, workspace: Workspace, api: ApiClient) -> None:
    second = make_workspace("Second", owner=owner)
    listed = session_api(owner).get("/v1/workspaces?limit=1").json()
    assert [row["name"] for row in listed["data"]] == ["Ours"]
    rest = session_api(owner).get(f"/v1/workspaces?limit=1&cursor={listed['next_cursor']}").json()
    assert ([row["name"] for row in rest["data"]], rest["next_cursor"]) == (["Second"], None)
    assert [row["name"] for row in api.get("/v1/workspaces").json()["data"]] == ["Ours"]
    assert api.get(f"/v1/workspaces/{workspace.public_id}").json()["name"] == "Ours"
    assert api.get(f"/v1/workspaces/{second.public_id}").status_code == 404
    assert session_api(owner).get(f"/v1/workspaces/{second.public_id}").json()["role"] == "owner"
