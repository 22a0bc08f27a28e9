"""The workspace's settings page."""

from collections.abc import Callable

import pytest
from django.test import Client

from workspaces import audit
from workspaces.actors import SYSTEM
from workspaces.models import User, Workspace

SignIn = Callable[[User], Client]
PATH = "/settings/workspace"


def test_page_shows_name_id_and_changes(workspace: Workspace, owner: User, sign_in: SignIn) -> None:
    audit.record(SYSTEM, "member.add", owner.public_id, workspace=workspace, email="someone@example.org")
    response = sign_in(owner).get(PATH)
    text = response.content.decode()
    assert response.context["form"].initial == {"name": "Ours"}
    assert f'<pre id="workspace-id" tabindex="0">{workspace.public_id}</pre>' in text
    assert 'Member added <span class="muted">someone@example.org</span>' in text


def test_viewer_reads_and_is_offered_no_form(viewer: User, sign_in: SignIn) -> None:
    response = sign_in(viewer).get(PATH)
    assert response.status_code == 200
    assert f'action="{PATH}"' not in response.content.decode()


def test_name_is_changed(workspace: Workspace, owner: User, sign_in: SignIn) -> None:
    response = sign_in(owner).post(PATH, {"workspace": str(workspace.public_id), "name": "Renamed"})
    assert (response.status_code, response["Location"]) == (302, PATH)
    workspace.refresh_from_db()
    assert workspace.name == "Renamed"


def test_empty_name_is_422_at_its_field(workspace: Workspace, owner: User, sign_in: SignIn) -> None:
    response = sign_in(owner).post(PATH, {"workspace": str(workspace.public_id), "name": ""})
    assert (response.status_code, list(response.context["form"].errors)) == (422, ["name"])


def test_form_changes_the_workspace_it_names_not_the_one_worked_in(
    workspace: Workspace, other_workspace: Workspace, owner: User, sign_in: SignIn
) -> None:
    assert sign_in(owner).post(PATH, {"workspace": str(other_workspace.public_id), "name": "Mine"}).status_code == 404
    other_workspace.refresh_from_db()
    assert other_workspace.name == "Theirs"


def test_changes_come_in_pages(workspace: Workspace, owner: User, sign_in: SignIn) -> None:
    for number in range(25):
        audit.record(SYSTEM, "member.add", number, workspace=workspace)
    client = sign_in(owner)
    first = client.get(PATH).context["changes"]
    second = client.get(PATH, {"cursor": first.next_cursor}).context["changes"]
    assert [int(entry.target) for entry in (*first.rows, *second.rows)] == list(range(24, -1, -1))
    assert second.next_cursor is None


def test_made_up_cursor_is_422(workspace: Workspace, owner: User, sign_in: SignIn) -> None:
    assert sign_in(owner).get(PATH, {"cursor": "made-up"}).status_code == 422


@pytest.mark.parametrize("rows", [1, 3])
def test_page_costs_the_same_with_one_change_and_with_three(
    workspace: Workspace, owner: User, sign_in: SignIn, django_assert_num_queries: Callable[..., object], rows: int
) -> None:
    for number in range(rows):
        audit.record(SYSTEM, "member.add", number, workspace=workspace)
    client = sign_in(owner)
    with django_assert_num_queries(6):  # type: ignore[attr-defined]
        client.get(PATH)
