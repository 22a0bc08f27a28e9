"""The pages of a workspace's own endpoints."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from gateway.models import Connection
from gateway.targets import target_of_connection
from tests.factories import make_connection
from tests.paging import HTMX, cost
from tests.standins.chat import ChatServer
from workspaces.models import AuditEntry, User, Workspace

SignIn = Callable[[User], Client]
PATH = "/connections"
SECRET = "a-very-secret-key-of-the-provider"


@pytest.fixture(autouse=True)
def _loopback_is_allowed(settings: Any) -> None:
    settings.ALLOW_PRIVATE_ENDPOINTS = True


def form(workspace: Workspace, **changed: str) -> dict[str, str]:
    return {
        "workspace": str(workspace.public_id),
        "name": "Ours",
        "endpoint": "https://models.example.org/v1",
        "model": "our-model",
        "api_key": SECRET,
    } | changed


def test_list_shows_this_workspaces_connections_alone(
    workspace: Workspace, other_workspace: Workspace, viewer: User, sign_in: SignIn
) -> None:
    make_connection(workspace, name="ours")
    make_connection(other_workspace, name="theirs")
    response = sign_in(viewer).get(PATH)
    assert [connection.name for connection in response.context["connections"]] == ["ours"]
    assert "theirs" not in response.content.decode()


def test_viewer_sees_no_button_member_checks_and_admin_adds(
    workspace: Workspace, viewer: User, member: User, owner: User, sign_in: SignIn
) -> None:
    connection = make_connection(workspace)
    seen = {}
    for person in (viewer, member, owner):
        text = sign_in(person).get(PATH).content.decode() + sign_in(person).get(f"{PATH}/{connection.public_id}").content.decode()
        seen[person] = [word in text for word in ("/check", "/connections/new", "/key", "/deletion", 'name="endpoint"')]
    assert seen == {
        viewer: [False] * 5,
        member: [True, False, False, False, False],
        owner: [True] * 5,
    }


def test_list_costs_the_same_with_one_connection_and_with_three(workspace: Workspace, owner: User, sign_in: SignIn) -> None:
    client = sign_in(owner)
    make_connection(workspace)
    one = cost(client, PATH)
    make_connection(workspace)
    make_connection(workspace)
    assert cost(client, PATH) == one


def test_adding_keeps_the_key_encrypted_and_never_shows_it(workspace: Workspace, owner: User, sign_in: SignIn) -> None:
    client = sign_in(owner)
    response = client.post(f"{PATH}/new", form(workspace))
    made = Connection.objects.get()
    assert (response.status_code, response["Location"]) == (302, f"{PATH}/{made.public_id}")
    assert (made.workspace, made.name, made.model, made.checked_at) == (workspace, "Ours", "our-model", None)
    assert (SECRET in made.secret, target_of_connection(made).api_key) == (False, SECRET)
    pages = client.get(PATH).content.decode() + client.get(f"{PATH}/{made.public_id}").content.decode()
    assert SECRET not in pages
    assert AuditEntry.objects.filter(action="connection.created", workspace=workspace).count() == 1


def test_refused_address_is_said_at_its_field_and_the_key_is_not_sent_back(
    workspace: Workspace, owner: User, sign_in: SignIn, settings: Any
) -> None:
    settings.ALLOW_PRIVATE_ENDPOINTS = False
    response = sign_in(owner).post(f"{PATH}/new", form(workspace, endpoint="http://169.254.169.254/v1"))
    assert (response.status_code, list(response.context["form"].errors), Connection.objects.count()) == (422, ["endpoint"], 0)
    assert SECRET not in response.content.decode()


def test_invalid_form_comes_back_alone_for_htmx(workspace: Workspace, owner: User, sign_in: SignIn) -> None:
    response = sign_in(owner).post(f"{PATH}/new", form(workspace, model=""), headers=HTMX)
    text = response.content.decode()
    assert (response.status_code, text.strip().startswith("<form"), "<html" in text) == (422, True, False)


def test_valid_form_of_htmx_moves_the_whole_page(workspace: Workspace, owner: User, sign_in: SignIn) -> None:
    response = sign_in(owner).post(f"{PATH}/new", form(workspace), headers=HTMX)
    assert (response.status_code, response["HX-Redirect"]) == (200, f"{PATH}/{Connection.objects.get().public_id}")


def test_form_of_another_workspace_is_404(workspace: Workspace, stranger: User, sign_in: SignIn) -> None:
    assert sign_in(stranger).post(f"{PATH}/new", form(workspace)).status_code == 404
    assert Connection.objects.count() == 0


def test_name_in_use_is_said_at_the_name(workspace: Workspace, owner: User, sign_in: SignIn) -> None:
    make_connection(workspace, name="Ours")
    response = sign_in(owner).post(f"{PATH}/new", form(workspace))
    assert (response.status_code, list(response.context["form"].errors)) == (422, ["name"])


def test_changing_the_model_makes_it_unchecked_and_changing_the_name_does_not(workspace: Workspace, owner: User, sign_in: SignIn) -> None:
    connection = make_connection(workspace, name="ours")
    client = sign_in(owner)
    address = f"{PATH}/{connection.public_id}"
    same = {"name": "renamed", "endpoint": connection.endpoint, "model": connection.model}
    assert client.post(address, same).status_code == 302
    connection.refresh_from_db()
    assert (connection.name, connection.revision, connection.checked_at is None) == ("renamed", 1, False)
    assert client.post(address, same | {"model": "other"}).status_code == 302
    connection.refresh_from_db()
    assert (connection.model, connection.revision, connection.checked_at) == ("other", 2, None)


def test_key_is_replaced_and_an_empty_one_is_422(workspace: Workspace, owner: User, sign_in: SignIn) -> None:
    connection = make_connection(workspace, api_key="old-key")
    client = sign_in(owner)
    address = f"{PATH}/{connection.public_id}/key"
    assert client.post(address, {"api_key": ""}).status_code == 422
    assert client.post(address, {"api_key": SECRET}).status_code == 302
    connection.refresh_from_db()
    assert (target_of_connection(connection).api_key, connection.revision) == (SECRET, 2)


def test_deleting_asks_first_and_erases_the_key(workspace: Workspace, owner: User, sign_in: SignIn) -> None:
    connection = make_connection(workspace, api_key=SECRET)
    client = sign_in(owner)
    address = f"{PATH}/{connection.public_id}/deletion"
    assert (client.get(address).status_code, Connection.objects.filter(deleted_at=None).count()) == (200, 1)
    assert client.post(address)["Location"] == PATH
    connection.refresh_from_db()
    assert (connection.deleted_at is None, connection.secret) == (False, "")
    assert client.get(f"{PATH}/{connection.public_id}").status_code == 404


def test_check_calls_the_endpoint_and_says_what_answered(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    with ChatServer("OK") as server:
        connection = make_connection(workspace, endpoint=server.url, checked=False)
        response = sign_in(member).post(f"{PATH}/{connection.public_id}/check", follow=True)
    connection.refresh_from_db()
    assert (connection.checked_at is None, "Answers" in response.content.decode()) == (False, True)


def test_failed_check_says_why_without_the_key(workspace: Workspace, member: User, sign_in: SignIn) -> None:
    connection = make_connection(workspace, endpoint="http://127.0.0.1:9/v1", api_key=SECRET, checked=False)
    response = sign_in(member).post(f"{PATH}/{connection.public_id}/check", follow=True)
    text = response.content.decode()
    assert ("Does not answer" in text, "did not answer" in text, SECRET in text) == (True, True, False)


def test_viewer_cannot_check(workspace: Workspace, viewer: User, sign_in: SignIn) -> None:
    connection = make_connection(workspace, checked=False)
    assert sign_in(viewer).post(f"{PATH}/{connection.public_id}/check").status_code == 403
