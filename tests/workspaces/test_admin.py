"""Staff's pages of people, workspaces and keys."""

from collections.abc import Callable

import pytest
from django.test import Client

from workspaces.actions import create_api_key
from workspaces.actors import Actor
from workspaces.enums import Scope
from workspaces.models import ApiKey, User, Workspace

SignIn = Callable[[User], Client]


@pytest.mark.parametrize("page", ["user", "workspace", "membership", "apikey", "auditentry"])
def test_list_answers_and_nothing_is_added(staff: User, owner: User, sign_in: SignIn, page: str) -> None:
    client = sign_in(staff)
    assert client.get(f"/admin/workspaces/{page}/", {"q": "o"}).status_code == 200
    assert client.get(f"/admin/workspaces/{page}/add/").status_code == 403


def test_persons_standing_is_changed_and_nothing_else(staff: User, owner: User, sign_in: SignIn) -> None:
    client = sign_in(staff)
    path = f"/admin/workspaces/user/{owner.pk}/change/"
    assert client.get(path).status_code == 200
    management = {f"memberships-{name}": "0" for name in ("TOTAL_FORMS", "INITIAL_FORMS")}
    response = client.post(path, {"name": "Ada", "email": "else@example.org", "is_staff": "on", **management})
    assert (response.status_code, response["Location"]) == (302, "/admin/workspaces/user/")
    owner.refresh_from_db()
    assert (owner.name, owner.email, owner.is_active, owner.is_staff) == ("Ada", "owner@example.org", False, True)


def test_key_shows_no_hash(workspace: Workspace, actor: Actor, staff: User, sign_in: SignIn) -> None:
    create_api_key(workspace, actor=actor, label="CI", scopes=[Scope.EVAL_READ])
    key = ApiKey.objects.get()
    text = sign_in(staff).get(f"/admin/workspaces/apikey/{key.pk}/change/").content.decode()
    assert (key.prefix in text, key.secret_sha256 in text) == (True, False)


def test_workspace_page_answers(workspace: Workspace, owner: User, staff: User, sign_in: SignIn) -> None:
    text = sign_in(staff).get(f"/admin/workspaces/workspace/{workspace.pk}/change/").content.decode()
    assert "owner@example.org" in text


def test_staff_signs_in_where_everyone_does(client: Client, db: None) -> None:
    response = client.get("/admin/login/?next=/admin/")
    assert (response.status_code, response["Location"]) == (302, "/login?next=%2Fadmin%2F")
