"""A workspace's own endpoints: adding, changing, rotating, deleting and checking them."""

from typing import Any

import pytest
from pytest_django import Settings

from common.crypto import decrypt
from common.errors import Conflict, Forbidden, Refused
from gateway import actions
from gateway.actions import CheckResult, change_connection, check_connection, create_connection, delete_connection, rotate_key
from gateway.models import Call, Connection
from gateway.queries import connections_for, get_connection
from tests.factories import make_connection
from tests.gateway.asking import KEY, always
from tests.standins.chat import Asked, ChatServer, completion, error_body
from tests.standins.http import Reply
from workspaces.actors import SYSTEM, Actor, actor_of_user
from workspaces.enums import ActorKind, Role
from workspaces.models import ApiKey, AuditEntry, Membership, User, Workspace

pytestmark = pytest.mark.django_db
PLACE = {"name": "Ours", "endpoint": "https://models.example.org/v1", "model": "own-1"}


@pytest.fixture
def admin(owner: User) -> Actor:
    """The least role that may manage connections."""
    Membership.objects.filter(user=owner).update(role=Role.ADMIN)
    return actor_of_user(owner)


def entries(workspace: Workspace) -> list[tuple[str, dict[str, Any]]]:
    return list(AuditEntry.objects.filter(workspace=workspace).order_by("id").values_list("action", "data"))


# ── Adding ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_created_connection_is_unchecked_and_keeps_its_key_encrypted(workspace: Workspace, admin: Actor) -> None:
    made = create_connection(workspace, actor=admin, **PLACE, api_key=f" {KEY} ")

    connection = get_connection(workspace, made.public_id)
    assert (connection.name, connection.endpoint, connection.model) == ("Ours", "https://models.example.org/v1", "own-1")
    assert (connection.revision, connection.checked_at, connection.protocol, connection.created_by) == (1, None, "openai", admin.user)
    assert decrypt(connection.secret) == KEY
    assert KEY not in connection.secret
    assert entries(workspace) == [
        ("connection.created", {"name": "Ours", "endpoint": "https://models.example.org/v1", "model": "own-1", "has_key": True})
    ]


def test_connection_without_a_key_stores_none(workspace: Workspace, admin: Actor) -> None:
    assert create_connection(workspace, actor=admin, **PLACE).secret == ""


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"name": "  "}, "validation_error"),
        ({"name": "x" * 81}, "validation_error"),
        ({"name": "a\u0000b"}, "validation_error"),
        ({"model": ""}, "validation_error"),
        ({"model": "x" * 201}, "validation_error"),
        ({"api_key": "two words"}, "validation_error"),
        ({"api_key": "line\r\nX-Evil: 1"}, "validation_error"),
        ({"api_key": "schlüssel"}, "validation_error"),
        ({"api_key": "x" * 5000}, "validation_error"),
        ({"protocol": "a2a"}, "validation_error"),
        ({"endpoint": "models.example.org"}, "invalid_endpoint"),
        ({"endpoint": "https://u:p@models.example.org"}, "invalid_endpoint"),
        ({"endpoint": "http://169.254.169.254/v1"}, "blocked_address"),
        ({"endpoint": "http://2130706433/v1"}, "blocked_address"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_made(workspace: Workspace, admin: Actor, changed: dict[str, str], code: str) -> None:
    with pytest.raises(Refused) as caught:
        create_connection(workspace, actor=admin, **{**PLACE, **changed})

    assert caught.value.code == code
    assert (connections_for(workspace).count(), entries(workspace)) == (0, [])


def test_name_is_unique_in_its_workspace_while_it_lives(workspace: Workspace, other_workspace: Workspace, admin: Actor) -> None:
    first = create_connection(workspace, actor=admin, **PLACE)
    with pytest.raises(Conflict) as caught:
        create_connection(workspace, actor=admin, **{**PLACE, "name": " Ours "})
    create_connection(other_workspace, actor=SYSTEM, **PLACE)
    delete_connection(first, actor=admin)

    assert caught.value.code == "connection_name_taken"
    assert create_connection(workspace, actor=admin, **PLACE).name == "Ours"


def test_workspace_has_room_for_so_many(workspace: Workspace, admin: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions, "MAX_CONNECTIONS", 2)
    make_connection(workspace)
    gone = make_connection(workspace)
    with pytest.raises(Conflict) as caught:
        create_connection(workspace, actor=admin, **PLACE)
    delete_connection(gone, actor=admin)

    assert caught.value.code == "too_many_connections"
    assert create_connection(workspace, actor=admin, **PLACE).pk


def test_only_admins_manage_and_only_members_check(
    workspace: Workspace, member: User, viewer: User, stranger: User, other_workspace: Workspace
) -> None:
    connection = make_connection(workspace)
    managing = [
        lambda actor: create_connection(workspace, actor=actor, **PLACE),
        lambda actor: change_connection(connection, actor=actor, name="New"),
        lambda actor: rotate_key(connection, actor=actor, api_key="k"),
        lambda actor: delete_connection(connection, actor=actor),
    ]
    reader = Actor(ActorKind.API_KEY, api_key=ApiKey(workspace=workspace, scopes=["eval:read"]))
    foreign = Actor(ActorKind.API_KEY, api_key=ApiKey(workspace=other_workspace, scopes=["keys:manage", "eval:write"]))
    for actor in (actor_of_user(member), actor_of_user(viewer), actor_of_user(stranger), reader, foreign):
        for manage in managing:
            with pytest.raises(Forbidden):
                manage(actor)
    for actor in (actor_of_user(viewer), actor_of_user(stranger), reader, foreign):
        with pytest.raises(Forbidden):
            check_connection(connection, actor=actor)

    assert entries(workspace) == []


# ── Changing ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"model": "own-2"}, {"model": "own-2"}),
        ({"endpoint": "https://models.example.org/v2"}, {"endpoint": "https://models.example.org/v2"}),
        ({"api_key": "another-key"}, {"key": "replaced"}),
        ({"api_key": ""}, {"key": "removed"}),
    ],
)
def test_change_of_what_is_called_makes_an_unchecked_revision(
    workspace: Workspace, admin: Actor, change: dict[str, str], told: dict[str, str]
) -> None:
    connection = make_connection(
        workspace, endpoint="https://models.example.org/v1", api_key=KEY, quirks={"limit_name": "max_completion_tokens"}, served_model="s"
    )

    changed = change_connection(connection, actor=admin, **change)

    changed.refresh_from_db()
    assert (changed.revision, changed.checked_at, changed.quirks, changed.served_model) == (2, None, {}, "")
    assert entries(workspace) == [("connection.changed", {"revision": 2, **told})]


def test_new_name_alone_keeps_the_revision_and_the_check(workspace: Workspace, admin: Actor) -> None:
    connection = make_connection(workspace)

    changed = change_connection(connection, actor=admin, name="New name")

    assert (changed.name, changed.revision, changed.checked_at) == ("New name", 1, connection.checked_at)


def test_same_values_change_nothing(workspace: Workspace, admin: Actor) -> None:
    connection = make_connection(workspace, name="Ours", endpoint="https://models.example.org/v1", model="own-1", api_key=KEY)

    changed = change_connection(connection, actor=admin, **PLACE, api_key=KEY)

    assert (changed.revision, changed.checked_at, entries(workspace)) == (1, connection.checked_at, [])


def test_key_is_not_sent_to_another_host(workspace: Workspace, admin: Actor) -> None:
    connection = make_connection(workspace, endpoint="https://models.example.org/v1", api_key=KEY)
    same_host = change_connection(connection, actor=admin, endpoint="https://models.example.org/v2")
    other_host = change_connection(connection, actor=admin, endpoint="https://elsewhere.example.org/v1")
    with_its_key = change_connection(connection, actor=admin, endpoint="https://third.example.org/v1", api_key="third-key")

    assert decrypt(same_host.secret) == KEY
    assert other_host.secret == ""
    assert decrypt(with_its_key.secret) == "third-key"
    assert [data.get("key") for _, data in entries(workspace)] == [None, "removed", "replaced"]


def test_refused_change_changes_nothing(workspace: Workspace, admin: Actor) -> None:
    make_connection(workspace, name="Taken")
    connection = make_connection(workspace, name="Ours", endpoint="https://models.example.org/v1")
    for change in ({"name": "Taken"}, {"endpoint": "http://10.0.0.1/"}, {"model": " "}, {"api_key": "a b"}):
        with pytest.raises(Refused):
            change_connection(connection, actor=admin, **change)  # type: ignore[arg-type]
    connection.refresh_from_db()

    assert (connection.name, connection.endpoint, connection.revision) == ("Ours", "https://models.example.org/v1", 1)
    assert entries(workspace) == []


def test_key_that_cannot_be_read_can_be_replaced(workspace: Workspace, admin: Actor, settings: Settings) -> None:
    connection = make_connection(workspace, api_key=KEY)
    settings.CREDENTIAL_KEYS = ["another"]

    assert decrypt(rotate_key(connection, actor=admin, api_key=KEY).secret) == KEY


def test_rotating_needs_a_key(workspace: Workspace, admin: Actor) -> None:
    with pytest.raises(Refused):
        rotate_key(make_connection(workspace, api_key=KEY), actor=admin, api_key=" ")


# ── Deleting and reading ────────────────────────────────────────────────────────────────────────────────────────────


def test_deleted_connection_is_gone_and_its_key_erased(workspace: Workspace, admin: Actor) -> None:
    connection = make_connection(workspace, name="Ours", api_key=KEY)
    delete_connection(connection, actor=admin)
    delete_connection(connection, actor=admin)

    with pytest.raises(Connection.DoesNotExist):
        get_connection(workspace, connection.public_id)
    with pytest.raises(Connection.DoesNotExist):
        change_connection(connection, actor=admin, name="Back")
    connection.refresh_from_db()
    assert connection.secret == ""
    assert entries(workspace) == [("connection.deleted", {"name": "Ours"})]


def test_connections_are_the_workspaces_own_newest_first(workspace: Workspace, other_workspace: Workspace) -> None:
    first, second = make_connection(workspace), make_connection(workspace)
    foreign = make_connection(other_workspace)

    assert list(connections_for(workspace)) == [second, first]
    assert get_connection(workspace, str(first.public_id)) == first
    for public_id in (foreign.public_id, "nonsense", ""):
        with pytest.raises(Connection.DoesNotExist):
            get_connection(workspace, public_id)


# ── Checking ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def _private(settings: Settings) -> None:
    settings.ALLOW_PRIVATE_ENDPOINTS = True


@pytest.mark.usefixtures("_private")
def test_check_makes_one_call_and_marks_the_connection_checked(workspace: Workspace, member: User) -> None:
    with ChatServer(reply=always(Reply(body=completion("OK", model="own-1-2026"))), latency=0.02) as server:
        connection = make_connection(workspace, endpoint=server.url, api_key=KEY, checked=False)
        result = check_connection(connection, actor=actor_of_user(member))

    assert result == CheckResult(True, result.latency_ms, "own-1-2026", None)
    assert result.latency_ms is not None
    assert result.latency_ms >= 20
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    connection = get_connection(workspace, connection.public_id)
    assert connection.checked_at is not None
    assert (connection.check_error, connection.check_latency_ms, connection.served_model) == ("", result.latency_ms, "own-1-2026")
    stored = Call.objects.select_related("content").get(source_id=connection.public_id)
    assert (stored.workspace, stored.purpose, stored.outcome, stored.tries, stored.charge_microusd) == (
        workspace,
        "check",
        "answered",
        1,
        0,
    )
    assert stored.content.response == "OK"
    assert entries(workspace) == [("connection.checked", {"ok": True, "error_code": ""})]


@pytest.mark.usefixtures("_private")
def test_check_without_an_answer_says_why_and_leaves_it_unchecked(workspace: Workspace, member: User) -> None:
    def echo(asked: Asked) -> Reply:
        return Reply(401, error_body(f"No such key: {asked.headers['authorization']}"))

    with ChatServer(reply=echo) as server:
        connection = make_connection(workspace, endpoint=server.url, api_key="plain-secret", checked=True)
        result = check_connection(connection, actor=actor_of_user(member))

    assert result == CheckResult(False, None, None, "The endpoint answered 401: No such key: Bearer [redacted]")
    connection = get_connection(workspace, connection.public_id)
    assert (connection.checked_at, connection.check_error) == (None, result.error)
    assert Call.objects.get(source_id=connection.public_id).error_code == "provider_authentication"
    assert entries(workspace) == [("connection.checked", {"ok": False, "error_code": "provider_authentication"})]


@pytest.mark.usefixtures("_private")
def test_check_remembers_what_the_endpoint_refuses(workspace: Workspace, member: User) -> None:
    def refuse(asked: Asked) -> Reply | None:
        message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
        return Reply(400, error_body(message)) if "max_tokens" in asked.body else None

    with ChatServer(reply=refuse) as server:
        connection = make_connection(workspace, endpoint=server.url, checked=False)
        assert check_connection(connection, actor=actor_of_user(member)).ok

    assert connection.quirks == {"limit_name": "max_completion_tokens", "left_out": []}


@pytest.mark.usefixtures("_private")
def test_check_says_nothing_of_a_revision_made_meanwhile(workspace: Workspace, admin: Actor) -> None:
    with ChatServer("OK") as server:
        connection = make_connection(workspace, endpoint=server.url, checked=False)
        change_connection(connection, actor=admin, model="other")
        assert check_connection(connection, actor=admin).ok

    assert get_connection(workspace, connection.public_id).checked_at is None


def test_check_of_a_private_address_is_refused_without_a_call(workspace: Workspace, member: User) -> None:
    with ChatServer("OK") as server:
        connection = make_connection(workspace, endpoint=server.url, checked=False)
        result = check_connection(connection, actor=actor_of_user(member))

    assert (result.ok, result.error) == (False, "The endpoint's address is private or local.")
    assert server.stats.requests == 0
    assert Call.objects.get(source_id=connection.public_id).error_code == "blocked_address"
