"""The pages of API keys."""

import re
from collections.abc import Callable

import pytest
from django.test import Client

from billing.queries import allowance_of_key
from tests.factories import make_user, make_workspace
from workspaces.actions import authenticate_key, create_api_key, revoke_api_key
from workspaces.actors import Actor
from workspaces.enums import Role, Scope
from workspaces.models import ApiKey, User, Workspace

SignIn = Callable[[User], Client]
PATH = "/settings/api-keys"
FIELDS = {"label": "CI", "scopes": ["eval:read", "eval:write"], "expires_in": "90", "spend_ceiling": ""}


def shown_key(text: str) -> str:
    found = re.search(r'<pre id="key-text" tabindex="0">(er_\w+)</pre>', text)
    assert found is not None
    return found.group(1)


@pytest.fixture
def key(workspace: Workspace, actor: Actor) -> ApiKey:
    return create_api_key(workspace, actor=actor, label="CI", scopes=[Scope.EVAL_READ])[0]


def test_page_lists_working_and_ended_keys_apart(workspace: Workspace, actor: Actor, owner: User, key: ApiKey, sign_in: SignIn) -> None:
    ended, _ = create_api_key(workspace, actor=actor, label="Old", scopes=[Scope.EVAL_READ])
    revoke_api_key(ended, actor=actor)
    context = sign_in(owner).get(PATH).context
    assert [(row["key"].label, row["state"]) for row in context["live"]] == [("CI", "active")]
    assert [(row["key"].label, row["state"]) for row in context["ended"]] == [("Old", "revoked")]


def test_viewer_reads_and_is_offered_nothing_to_change(viewer: User, key: ApiKey, sign_in: SignIn) -> None:
    client = sign_in(viewer)
    assert 'method="post" action="/settings/api-keys' not in client.get(PATH).content.decode()
    assert 'method="post" action="/settings/api-keys' not in client.get(f"{PATH}/{key.public_id}").content.decode()


def test_new_key_is_shown_once_and_works(workspace: Workspace, owner: User, sign_in: SignIn) -> None:
    client = sign_in(owner)
    response = client.post(PATH, {"workspace": str(workspace.public_id), **FIELDS, "spend_ceiling": "2.50"})
    assert response.status_code == 201
    assert "no-store" in response["Cache-Control"]
    text = shown_key(response.content.decode())
    actor = authenticate_key(text)
    assert actor is not None and actor.api_key is not None
    assert (actor.api_key.label, actor.api_key.scopes) == ("CI", ["eval:read", "eval:write"])
    allowance = allowance_of_key(actor.api_key)
    assert allowance is not None and allowance.ceiling_microusd == 2_500_000
    for path in (PATH, f"{PATH}/{actor.api_key.public_id}"):
        assert text.split("_")[2] not in client.get(path).content.decode()
    assert text not in str(dict(client.session))


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"label": ""}, "label"),
        ({"scopes": []}, "scopes"),
        ({"scopes": ["everything"]}, "scopes"),
        ({"spend_ceiling": "-1"}, "spend_ceiling"),
        ({"spend_ceiling": "0.0000001"}, "spend_ceiling"),
        ({"expires_in": "5000"}, "expires_in"),
    ],
)
def test_unfit_key_is_422_at_its_field(workspace: Workspace, owner: User, sign_in: SignIn, changed: dict[str, object], field: str) -> None:
    response = sign_in(owner).post(PATH, {"workspace": str(workspace.public_id), **FIELDS, **changed})
    assert (response.status_code, list(response.context["form"].errors)) == (422, [field])
    assert ApiKey.objects.count() == 0


def test_key_is_changed(owner: User, key: ApiKey, sign_in: SignIn) -> None:
    response = sign_in(owner).post(f"{PATH}/{key.public_id}", {"label": "Renamed", "scopes": ["billing:read"]})
    assert (response.status_code, response["Location"]) == (302, f"{PATH}/{key.public_id}")
    key.refresh_from_db()
    assert (key.label, key.scopes) == ("Renamed", ["billing:read"])


def test_change_to_nothing_is_422(owner: User, key: ApiKey, sign_in: SignIn) -> None:
    response = sign_in(owner).post(f"{PATH}/{key.public_id}", {"label": "Renamed"})
    assert (response.status_code, list(response.context["form"].errors)) == (422, ["scopes"])


def test_change_of_a_revoked_key_says_why_not(owner: User, actor: Actor, key: ApiKey, sign_in: SignIn) -> None:
    revoke_api_key(key, actor=actor)
    response = sign_in(owner).post(f"{PATH}/{key.public_id}", {"label": "Renamed", "scopes": ["eval:read"]})
    assert (response.status_code, response.context["form"].non_field_errors()) == (422, ["The key is revoked or expired; make a new one."])


def test_rolled_key_is_shown_once_with_the_end_of_the_old(owner: User, key: ApiKey, sign_in: SignIn) -> None:
    response = sign_in(owner).post(f"{PATH}/{key.public_id}/roll", {"overlap": "1"})
    assert response.status_code == 201
    assert authenticate_key(shown_key(response.content.decode())) is not None
    assert response.context["rolled_from"].expires_at is not None
    assert ApiKey.objects.count() == 2


def test_roll_for_too_long_is_422(owner: User, key: ApiKey, sign_in: SignIn) -> None:
    response = sign_in(owner).post(f"{PATH}/{key.public_id}/roll", {"overlap": "30"})
    assert (response.status_code, list(response.context["roll_form"].errors)) == (422, ["overlap"])
    assert ApiKey.objects.count() == 1


def test_roll_of_a_revoked_key_is_a_page_of_409(owner: User, actor: Actor, key: ApiKey, sign_in: SignIn) -> None:
    revoke_api_key(key, actor=actor)
    response = sign_in(owner).post(f"{PATH}/{key.public_id}/roll", {"overlap": "1"})
    assert (response.status_code, response.context["message"]) == (409, "The key is revoked or expired; make a new one.")


def test_key_is_revoked(owner: User, key: ApiKey, sign_in: SignIn) -> None:
    response = sign_in(owner).post(f"{PATH}/{key.public_id}/revocation")
    assert (response.status_code, response["Location"]) == (302, PATH)
    key.refresh_from_db()
    assert key.revoked_at is not None


def test_key_of_another_of_the_persons_workspaces_uses_the_role_there(key: ApiKey, workspace: Workspace, sign_in: SignIn) -> None:
    """The page is looked up over all memberships, whichever workspace the session works in."""
    person = make_user()
    make_workspace("Their own", owner=person)
    person.memberships.create(workspace=workspace, role=Role.VIEWER)
    client = sign_in(person)
    assert client.get(PATH).context["workspace"].name == "Their own"
    assert client.get(f"{PATH}/{key.public_id}").status_code == 200
    assert client.post(f"{PATH}/{key.public_id}/revocation").status_code == 403


def test_ceiling_is_a_part_of_the_page_and_a_page_of_its_own(owner: User, key: ApiKey, sign_in: SignIn) -> None:
    client = sign_in(owner)
    whole = client.get(f"{PATH}/{key.public_id}/ceiling").content.decode()
    part = client.get(f"{PATH}/{key.public_id}/ceiling", headers={"HX-Request": "true"}).content.decode()
    assert (whole.count("<html"), part.count("<html"), part.strip().startswith("<section")) == (1, 0, True)


def test_ceiling_is_set_and_lifted(owner: User, key: ApiKey, sign_in: SignIn) -> None:
    client = sign_in(owner)
    for typed, stored in (("1.25", 1_250_000), ("0", 0), ("", None)):
        response = client.post(f"{PATH}/{key.public_id}/ceiling", {"ceiling": typed})
        assert (response.status_code, response["Location"]) == (302, f"{PATH}/{key.public_id}")
        allowance = allowance_of_key(key)
        assert allowance is not None and allowance.ceiling_microusd == stored


def test_ceiling_that_is_no_amount_is_422(owner: User, key: ApiKey, sign_in: SignIn) -> None:
    response = sign_in(owner).post(f"{PATH}/{key.public_id}/ceiling", {"ceiling": "much"})
    assert (response.status_code, list(response.context["form"].errors)) == (422, ["ceiling"])


@pytest.mark.parametrize("keys", [1, 3])
def test_list_costs_the_same_with_one_key_and_with_three(
    workspace: Workspace, actor: Actor, owner: User, sign_in: SignIn, django_assert_num_queries: Callable[..., object], keys: int
) -> None:
    for _ in range(keys):
        create_api_key(workspace, actor=actor, label="CI", scopes=[Scope.EVAL_READ])
    client = sign_in(owner)
    with django_assert_num_queries(6):  # type: ignore[attr-defined]
        client.get(PATH)
