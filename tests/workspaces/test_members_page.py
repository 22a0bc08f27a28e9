"""The members' page."""

from collections.abc import Callable

import pytest
from django.test import Client

from tests.factories import make_user
from workspaces.enums import Role
from workspaces.models import Membership, User, Workspace

SignIn = Callable[[User], Client]
PATH = "/settings/members"


def form(workspace: Workspace, **fields: str) -> dict[str, str]:
    return {"workspace": str(workspace.public_id), **fields}


def test_page_lists_members_and_no_strangers(owner: User, member: User, viewer: User, stranger: User, sign_in: SignIn) -> None:
    response = sign_in(viewer).get(PATH)
    rows = [(row["membership"].user.email, row["can_change"], row["is_self"]) for row in response.context["rows"]]
    assert rows == [("owner@example.org", False, False), ("member@example.org", False, False), ("viewer@example.org", False, True)]
    assert stranger.email not in response.content.decode()


def test_admin_is_offered_no_owners(workspace: Workspace, owner: User, member: User, sign_in: SignIn) -> None:
    admin = make_user("admin@example.org", workspace=workspace, role=Role.ADMIN)
    response = sign_in(admin).get(PATH)
    assert [row["can_change"] for row in response.context["rows"]] == [False, True, True]
    assert [value for value, _ in response.context["form"].fields["role"].choices] == ["viewer", "member", "admin"]


def test_member_is_added(workspace: Workspace, owner: User, sign_in: SignIn) -> None:
    newcomer = make_user("newcomer@example.org")
    response = sign_in(owner).post(PATH, form(workspace, email="newcomer@example.org", role="viewer"))
    assert (response.status_code, response["Location"]) == (302, PATH)
    assert Membership.objects.get(user=newcomer).role == Role.VIEWER


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        (
            {"email": "nobody@example.org", "role": "member"},
            {"email": ["There is no account of nobody@example.org. Ask the person to sign up first."]},
        ),
        (
            {"email": "owner@example.org", "role": "member"},
            {"email": ["owner@example.org is a member already; change the role in the list."]},
        ),
        ({"email": "no address", "role": "member"}, {"email": ["Enter a valid email address."]}),
        ({"email": "owner@example.org", "role": "king"}, {"role": ["Select a valid choice. king is not one of the available choices."]}),
    ],
)
def test_unfit_member_is_422_at_its_field(
    workspace: Workspace, owner: User, sign_in: SignIn, fields: dict[str, str], errors: object
) -> None:
    response = sign_in(owner).post(PATH, form(workspace, **fields))
    assert (response.status_code, response.context["form"].errors) == (422, errors)


def test_admin_who_asks_for_an_owner_is_forbidden(workspace: Workspace, owner: User, sign_in: SignIn) -> None:
    admin = make_user(workspace=workspace, role=Role.ADMIN)
    make_user("newcomer@example.org")
    client = sign_in(admin)
    assert client.post(PATH, form(workspace, email="newcomer@example.org", role="owner")).status_code == 403
    assert client.post(f"{PATH}/{owner.public_id}/role", form(workspace, role="viewer")).status_code == 403
    assert client.post(f"{PATH}/{owner.public_id}/removal", form(workspace)).status_code == 403
    assert Membership.objects.filter(role=Role.OWNER).count() == 1


def test_role_is_changed(workspace: Workspace, owner: User, member: User, sign_in: SignIn) -> None:
    response = sign_in(owner).post(f"{PATH}/{member.public_id}/role", form(workspace, role="admin"))
    assert (response.status_code, response["Location"]) == (302, PATH)
    assert Membership.objects.get(user=member).role == Role.ADMIN


def test_last_owner_is_kept_and_the_page_says_why(workspace: Workspace, owner: User, sign_in: SignIn) -> None:
    client = sign_in(owner)
    for path, fields in ((f"{PATH}/{owner.public_id}/role", {"role": "viewer"}), (f"{PATH}/{owner.public_id}/removal", {})):
        response = client.post(path, form(workspace, **fields))
        assert (response.status_code, response.context["refusal"]) == (409, "A workspace needs an owner. Make someone else an owner first.")


def test_member_is_removed_and_loses_access_at_once(workspace: Workspace, owner: User, member: User, sign_in: SignIn) -> None:
    theirs = sign_in(member)
    assert theirs.get(PATH).status_code == 200
    assert sign_in(owner).post(f"{PATH}/{member.public_id}/removal", form(workspace))["Location"] == PATH
    assert theirs.get(PATH).status_code == 409


def test_member_leaves(workspace: Workspace, owner: User, member: User, sign_in: SignIn) -> None:
    response = sign_in(member).post(f"{PATH}/{member.public_id}/removal", form(workspace))
    assert (response.status_code, response["Location"]) == (302, "/settings/account")
    assert not Membership.objects.filter(user=member).exists()


def test_member_removes_nobody_else(workspace: Workspace, viewer: User, member: User, sign_in: SignIn) -> None:
    assert sign_in(member).post(f"{PATH}/{viewer.public_id}/removal", form(workspace)).status_code == 403


def test_someone_who_is_no_member_is_not_found(workspace: Workspace, owner: User, stranger: User, sign_in: SignIn) -> None:
    client = sign_in(owner)
    assert client.post(f"{PATH}/{stranger.public_id}/removal", form(workspace)).status_code == 404
    assert client.post(f"{PATH}/{stranger.public_id}/role", form(workspace, role="viewer")).status_code == 404


@pytest.mark.parametrize("others", [0, 3])
def test_page_costs_the_same_with_one_member_and_with_more(
    workspace: Workspace, owner: User, sign_in: SignIn, django_assert_num_queries: Callable[..., object], others: int
) -> None:
    for _ in range(others):
        make_user(workspace=workspace)
    client = sign_in(owner)
    with django_assert_num_queries(7):  # type: ignore[attr-defined]
        client.get(PATH)
