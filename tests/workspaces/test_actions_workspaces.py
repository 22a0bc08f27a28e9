"""Making and naming workspaces and accounts."""

import pytest
from allauth.account.models import EmailAddress
from django.core.exceptions import ValidationError

from billing.models import LedgerEntry, Wallet
from common.errors import Conflict, Forbidden, Refused
from tests.factories import make_user
from workspaces.actions import create_account, create_first_workspace, create_workspace, rename_workspace
from workspaces.actions.workspaces import MAX_WORKSPACES
from workspaces.actors import SYSTEM, actor_of_user
from workspaces.enums import Role
from workspaces.models import AuditEntry, Membership, User, Workspace


@pytest.mark.django_db
def test_new_workspace_has_an_owner_a_wallet_and_an_audit_entry() -> None:
    user = make_user("someone@example.org")
    workspace = create_workspace(user, actor=actor_of_user(user), name="  Search   team ")
    assert workspace.name == "Search team"
    assert list(Membership.objects.values_list("workspace", "user", "role")) == [(workspace.pk, user.pk, Role.OWNER)]
    assert Wallet.objects.get().workspace == workspace
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.target, entry.actor_label, entry.data) == (
        "workspace.create",
        str(workspace.public_id),
        "someone@example.org",
        {"name": "Search team"},
    )


@pytest.mark.django_db
def test_second_workspace_gets_no_welcome_credit() -> None:
    user = make_user()
    for name in ("First", "Second"):
        create_workspace(user, actor=actor_of_user(user), name=name)
    assert [entry.wallet.workspace.name for entry in LedgerEntry.objects.all()] == ["First"]


@pytest.mark.django_db
def test_workspace_without_a_name_is_refused() -> None:
    user = make_user()
    with pytest.raises(Refused) as refused:
        create_workspace(user, actor=actor_of_user(user), name=" ")
    assert refused.value.code == "name_required"


@pytest.mark.django_db
def test_workspaces_of_one_person_are_limited() -> None:
    user = make_user()
    Workspace.objects.bulk_create(Workspace(name=str(n), created_by=user) for n in range(MAX_WORKSPACES))
    with pytest.raises(Refused) as refused:
        create_workspace(user, actor=actor_of_user(user), name="One more")
    assert refused.value.code == "too_many_workspaces"


@pytest.mark.django_db
def test_nobody_makes_a_workspace_for_someone_else() -> None:
    with pytest.raises(Forbidden):
        create_workspace(make_user(), actor=actor_of_user(make_user()), name="Theirs")


@pytest.mark.django_db
def test_unverified_person_gets_no_first_workspace() -> None:
    user = User.objects.create_user("someone@example.org", "x")
    assert create_first_workspace(user, actor=actor_of_user(user)) is None
    EmailAddress.objects.create(user=user, email=user.email, verified=False, primary=True)
    assert create_first_workspace(user, actor=actor_of_user(user)) is None
    assert Workspace.objects.count() == 0


@pytest.mark.django_db
def test_renaming_writes_what_it_was(workspace: Workspace, owner: User) -> None:
    rename_workspace(workspace, actor=actor_of_user(owner), name="Ours, renamed")
    workspace.refresh_from_db()
    assert workspace.name == "Ours, renamed"
    assert AuditEntry.objects.get().data == {"before": "Ours", "after": "Ours, renamed"}


@pytest.mark.django_db
def test_renaming_by_a_member_is_forbidden(workspace: Workspace, member: User) -> None:
    with pytest.raises(Forbidden):
        rename_workspace(workspace, actor=actor_of_user(member), name="Mine")


@pytest.mark.django_db
def test_account_of_an_operator_is_verified_and_owns_its_workspace() -> None:
    user, workspace = create_account(" Someone@Example.org ", actor=SYSTEM, password="a good phrase", workspace_name="Team")
    assert user.email == "someone@example.org"
    assert user.check_password("a good phrase")
    assert EmailAddress.objects.get(user=user).verified
    assert Membership.objects.get(user=user, workspace=workspace).role == Role.OWNER
    assert [entry.amount_microusd for entry in LedgerEntry.objects.all()] == [5_000_000]


@pytest.mark.django_db
def test_account_that_exists_is_refused_whatever_its_case_and_nothing_is_made() -> None:
    make_user("someone@example.org")
    with pytest.raises(Conflict) as conflict:
        create_account("SOMEONE@example.org", actor=SYSTEM, password="a good phrase", workspace_name="Team")
    assert conflict.value.code == "account_exists"
    assert Workspace.objects.count() == 0


@pytest.mark.django_db
def test_account_of_no_address_is_refused() -> None:
    with pytest.raises(ValidationError):
        create_account("someone", actor=SYSTEM, password="a good phrase", workspace_name="Team")
