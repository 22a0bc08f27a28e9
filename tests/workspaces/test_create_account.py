"""`manage.py create_account`, as operators and scripts call it."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from billing.models import LedgerEntry
from tests.factories import make_user
from workspaces.actions import authenticate_key
from workspaces.enums import Scope
from workspaces.models import ApiKey, User, Workspace

EMAIL = "operator@example.org"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, db: None):  # type: ignore[no-untyped-def]
    """Runs the command with the password on standard input; returns what it printed."""

    def call(*arguments: str, password: str = "a good phrase\n") -> str:
        monkeypatch.setattr("sys.stdin", io.StringIO(password))
        output = io.StringIO()
        call_command("create_account", *arguments, stdout=output, stderr=io.StringIO())
        return output.getvalue()

    return call


def test_account_is_printed_as_one_json_object(run) -> None:  # type: ignore[no-untyped-def]
    printed = run(EMAIL, "--workspace", "Team")
    user, workspace = User.objects.get(), Workspace.objects.get()
    assert json.loads(printed) == {"user_id": str(user.public_id), "workspace_id": str(workspace.public_id), "api_key": None}
    assert user.check_password("a good phrase")


def test_credit_adds_to_the_welcome_credit_and_the_key_may_everything(run) -> None:  # type: ignore[no-untyped-def]
    actor = authenticate_key(json.loads(run(EMAIL, "--workspace", "Team", "--credit", "20.5", "--api-key"))["api_key"])
    assert actor is not None and actor.api_key is not None
    assert actor.api_key.scopes == Scope.values
    entries = LedgerEntry.objects.order_by("id").values_list("kind", "amount_microusd")
    assert list(entries) == [("welcome_credit", 5_000_000), ("adjustment", 20_500_000)]


@pytest.mark.parametrize(
    ("arguments", "password", "words"),
    [
        ((EMAIL, "--workspace", "Team"), "\n", "no password"),
        ((EMAIL, "--workspace", " "), "a good phrase\n", "Give the workspace a name."),
        (("operator", "--workspace", "Team"), "a good phrase\n", "operator: Enter a valid email address."),
        ((EMAIL, "--workspace", "Team", "--credit", "much"), "a good phrase\n", "--credit: 'much' is not an amount in USD"),
        ((EMAIL, "--workspace", "Team", "--credit", "-1"), "a good phrase\n", "--credit: the amount must be above zero"),
    ],
)
def test_unfit_account_is_refused_and_nothing_is_made(run, arguments: tuple[str, ...], password: str, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(CommandError, match=f"^{words}"):
        run(*arguments, password=password)
    assert [model.objects.count() for model in (User, Workspace, LedgerEntry, ApiKey)] == [0, 0, 0, 0]


def test_account_that_exists_is_refused(run) -> None:  # type: ignore[no-untyped-def]
    make_user(EMAIL)
    with pytest.raises(CommandError, match=r"^There is an account of operator@example.org already\.$"):
        run(EMAIL, "--workspace", "Team")
    assert Workspace.objects.count() == 0
