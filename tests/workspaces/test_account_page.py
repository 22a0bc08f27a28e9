"""The person's own page, and the workspace one works in."""

from collections.abc import Callable

from django.test import Client

from tests.factories import make_user, make_workspace
from workspaces.enums import Role
from workspaces.models import Membership, User, Workspace

SignIn = Callable[[User], Client]


def test_page_lists_the_persons_workspaces_and_no_others(owner: User, stranger: User, sign_in: SignIn) -> None:
    response = sign_in(owner).get("/settings/account")
    assert [membership.workspace.name for membership in response.context["memberships"]] == ["Ours"]
    assert "Theirs" not in response.content.decode()


def test_name_is_saved(owner: User, sign_in: SignIn) -> None:
    client = sign_in(owner)
    response = client.post("/settings/account", {"name": "  Ada   L "})
    assert (response.status_code, response["Location"]) == (302, "/settings/account")
    owner.refresh_from_db()
    assert owner.name == "Ada L"
    assert [str(message) for message in client.get("/settings/account").context["messages"]] == ["Your name is saved."]


def test_name_that_is_too_long_is_422(owner: User, sign_in: SignIn) -> None:
    response = sign_in(owner).post("/settings/account", {"name": "x" * 121})
    assert (response.status_code, list(response.context["form"].errors)) == (422, ["name"])


def test_density_of_tables_is_remembered_for_the_person(owner: User, stranger: User, sign_in: SignIn) -> None:
    client = sign_in(owner)
    response = client.post("/settings/account/density", {"density": "compact", "next": "/evaluations?status=failed"})
    assert (response.status_code, response["Location"]) == (302, "/evaluations?status=failed")
    elsewhere = sign_in(owner)
    for address in ("/catalog", "/models"):
        assert 'value="compact" aria-pressed="true"' in elsewhere.get(address).content.decode()
    assert 'value="comfortable" aria-pressed="true"' in sign_in(stranger).get("/models").content.decode()
    assert "density-choice" not in Client().get("/catalog").content.decode()


def test_density_is_only_the_control_for_htmx(owner: User, sign_in: SignIn) -> None:
    answer = sign_in(owner).post("/settings/account/density", {"density": "compact", "next": "/models"}, headers={"HX-Request": "true"})
    text = answer.content.decode()
    assert (answer.status_code, "<html" in text, 'name="next" value="/models"' in text) == (200, False, True)
    assert 'value="compact" aria-pressed="true"' in text


def test_density_that_is_none_changes_nothing_and_leads_nowhere_else(owner: User, sign_in: SignIn) -> None:
    client = sign_in(owner)
    assert client.post("/settings/account/density", {"density": "tiny"}).status_code == 422
    owner.refresh_from_db()
    assert owner.table_density == "comfortable"
    assert client.post("/settings/account/density", {"density": "compact", "next": "https://example.org/"})["Location"] == "/evaluations"


def test_new_workspace_is_worked_in_at_once(owner: User, sign_in: SignIn) -> None:
    client = sign_in(owner)
    response = client.post("/settings/account/workspaces", {"name": "Second"})
    assert (response.status_code, response["Location"]) == (302, "/settings/workspace")
    assert client.get("/settings/workspace").context["workspace"].name == "Second"


def test_workspace_without_a_name_is_422(owner: User, sign_in: SignIn) -> None:
    response = sign_in(owner).post("/settings/account/workspaces", {"name": " "})
    assert (response.status_code, list(response.context["workspace_form"].errors)) == (422, ["name"])
    assert Workspace.objects.count() == 1


def test_switching_picks_the_default_for_lists(owner: User, sign_in: SignIn) -> None:
    second = make_workspace("Second", owner=owner)
    client = sign_in(owner)
    assert client.get("/settings/members").context["workspace"].name == "Ours"
    response = client.post("/workspace", {"workspace": str(second.public_id), "next": "/settings/members"})
    assert (response.status_code, response["Location"]) == (302, "/settings/members")
    assert client.get("/settings/members").context["workspace"] == second


def test_switching_to_a_strangers_workspace_is_not_found(owner: User, other_workspace: Workspace, sign_in: SignIn) -> None:
    client = sign_in(owner)
    assert client.post("/workspace", {"workspace": str(other_workspace.public_id)}).status_code == 404
    assert client.post("/workspace", {"workspace": "nonsense"}).status_code == 404
    assert client.get("/settings/members").context["workspace"].name == "Ours"


def test_switching_leads_nowhere_else(owner: User, workspace: Workspace, sign_in: SignIn) -> None:
    response = sign_in(owner).post("/workspace", {"workspace": str(workspace.public_id), "next": "https://elsewhere.example.org/"})
    assert response["Location"] == "/evaluations"


def test_workspace_one_has_left_is_no_longer_worked_in(owner: User, sign_in: SignIn) -> None:
    second = make_workspace("Second", owner=owner)
    client = sign_in(owner)
    client.post("/workspace", {"workspace": str(second.public_id)})
    Membership.objects.filter(workspace=second).delete()
    assert client.get("/settings/members").context["workspace"].name == "Ours"


def test_header_shows_the_workspaces_credit_and_name(owner: User, sign_in: SignIn) -> None:
    text = sign_in(owner).get("/settings/account").content.decode()
    assert text.count("$10.00") == 1
    assert 'aria-label="Workspace: Ours"' in text


def test_person_in_no_workspace_is_told_what_to_do(db: None, sign_in: SignIn) -> None:
    client = sign_in(make_user())
    assert client.get("/settings/account").status_code == 200
    response = client.get("/settings/workspace")
    assert response.status_code == 409
    assert "You are in no workspace." in response.content.decode()


def test_page_costs_the_same_with_one_workspace_and_with_three(
    owner: User, sign_in: SignIn, django_assert_num_queries: Callable[..., object]
) -> None:
    client = sign_in(owner)
    for _ in range(2):
        with django_assert_num_queries(4):  # type: ignore[attr-defined]
            client.get("/settings/account")
        make_user(workspace=make_workspace(owner=owner), role=Role.VIEWER)
