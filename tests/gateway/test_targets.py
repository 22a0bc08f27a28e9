"""From routes and connections to targets."""

import pytest
from django.utils import timezone
from pytest_django import Settings

from gateway.actions import remember_quirks
from gateway.client import CallError
from gateway.enums import ErrorCode
from gateway.targets import target_of_connection, target_of_route
from tests.factories import make_connection, make_route
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db
RENAMED = {"limit_name": "max_completion_tokens", "left_out": ["temperature"]}


def test_route_takes_its_key_from_the_environment(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    settings.PROVIDER_TIMEOUT_SECONDS = 77.0
    monkeypatch.setenv("EXAMPLE_KEY", " route-key\n")
    target = target_of_route(make_route(endpoint="https://example.org/v1", model="upstream", key_env="EXAMPLE_KEY", quirks=RENAMED))

    assert (str(target.url), target.model, target.api_key, target.guarded) == (
        "https://example.org/v1/chat/completions",
        "upstream",
        "route-key",
        False,
    )
    assert (target.headers, target.timeout, target.quirks) == ({"Authorization": "Bearer route-key"}, 77.0, RENAMED)


def test_route_without_key_env_sends_no_authorization() -> None:
    assert target_of_route(make_route()).headers == {}


@pytest.mark.parametrize("value", [None, "", "  "])
def test_route_whose_key_is_not_set_says_so(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.delenv("EXAMPLE_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("EXAMPLE_KEY", value)
    with pytest.raises(CallError) as caught:
        target_of_route(make_route("example/m", key_env="EXAMPLE_KEY"))

    assert caught.value.code == ErrorCode.AUTHENTICATION
    assert caught.value.message == "The credential of example/m (EXAMPLE_KEY) is not set on this server."


def test_connection_is_guarded_and_its_key_decrypted(workspace: Workspace) -> None:
    target = target_of_connection(make_connection(workspace, endpoint="https://example.org", model="own", api_key="own-key"))

    assert (target.model, target.api_key, target.guarded) == ("own", "own-key", True)
    assert "own-key" not in repr(target)


def test_connection_without_a_key_sends_no_authorization(workspace: Workspace) -> None:
    assert target_of_connection(make_connection(workspace)).headers == {}


def test_deleted_connection_is_not_called(workspace: Workspace) -> None:
    with pytest.raises(CallError) as caught:
        target_of_connection(make_connection(workspace, deleted_at=timezone.now()))

    assert (caught.value.code, caught.value.message) == (ErrorCode.AUTHENTICATION, "The connection was deleted.")


def test_key_that_cannot_be_read_says_so(workspace: Workspace, settings: Settings) -> None:
    connection = make_connection(workspace, api_key="own-key")
    settings.CREDENTIAL_KEYS = ["another"]
    with pytest.raises(CallError) as caught:
        target_of_connection(connection)

    assert (caught.value.code, caught.value.message) == (
        ErrorCode.AUTHENTICATION,
        "The connection's key cannot be read any more. Give it again.",
    )


def test_target_changes_its_own_copy_of_the_quirks(workspace: Workspace) -> None:
    connection = make_connection(workspace, quirks=RENAMED)
    target = target_of_connection(connection)
    target.quirks["limit_name"] = "max_tokens"

    assert connection.quirks == RENAMED


def test_quirks_are_remembered_for_routes_and_connections(workspace: Workspace) -> None:
    route, connection = make_route(), make_connection(workspace)
    for owner in (route, connection):
        remember_quirks(owner, RENAMED)
        owner.refresh_from_db()

        assert owner.quirks == RENAMED


def test_what_staff_say_of_a_route_is_not_lost_to_what_a_run_has_learned(workspace: Workspace) -> None:
    said = {"usage": {"output_excludes_reasoning": True}}
    route, gone = make_route(), make_route(quirks=said)
    type(route).objects.filter(pk=route.pk).update(quirks=said)
    type(gone).objects.filter(pk=gone.pk).update(quirks={})
    for owner, stored in ((route, {**RENAMED, **said}), (gone, RENAMED)):
        remember_quirks(owner, {**owner.quirks, **RENAMED})
        owner.refresh_from_db()

        assert owner.quirks == stored


def test_quirks_of_an_older_revision_are_not_kept(workspace: Workspace) -> None:
    connection = make_connection(workspace)
    type(connection).objects.filter(pk=connection.pk).update(revision=2)
    remember_quirks(connection, RENAMED)
    connection.refresh_from_db()

    assert connection.quirks == {}
