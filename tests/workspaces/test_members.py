"""Who may add, change and remove whom."""

import itertools

import pytest
from allauth.account.models import EmailAddress

from common.errors import Conflict, Forbidden, Refused
from tests.factories import make_user
from workspaces.actions import add_member, change_role, remove_member
from workspaces.actors import SYSTEM, actor_of_user
from workspaces.enums import RANK, Role
from workspaces.models import AuditEntry, Membership, User, Workspace

PAIRS = list(itertools.product(Role, Role))


def make_member(workspace: Workspace, role: Role) -> Membership:
    return Membership.objects.get(user=make_user(workspace=workspace, role=role))


@pytest.mark.parametrize(("own", "given"), PAIRS)
def test_adding_as_a_role_takes_an_admin_of_at_least_that_role(workspace: Workspace, own: Role, given: Role) -> None:
    actor = actor_of_user(make_user(workspace=workspace, role=own))
    newcomer = make_user("newcomer@example.org")
    if RANK[own] >= RANK[Role.ADMIN] and RANK[own] >= RANK[given]:
        assert add_member(workspace, actor=actor, email="Newcomer@example.org", role=given).user == newcomer
        assert AuditEntry.objects.get().action == "member.add"
    else:
        with pytest.raises(Forbidden):
            add_member(workspace, actor=actor, email=newcomer.email, role=given)
        assert not Membership.objects.filter(user=newcomer).exists()


@pytest.mark.parametrize(("own", "other"), PAIRS)
def test_removing_takes_an_admin_of_at_least_their_role(workspace: Workspace, own: Role, other: Role) -> None:
    make_member(workspace, Role.OWNER)
    actor = actor_of_user(make_user(workspace=workspace, role=own))
    membership = make_member(workspace, other)
    if RANK[own] >= RANK[Role.ADMIN] and RANK[own] >= RANK[other]:
        remove_member(membership, actor=actor)
        assert not Membership.objects.filter(pk=membership.pk).exists()
    else:
        with pytest.raises(Forbidden):
            remove_member(membership, actor=actor)
        assert Membership.objects.filter(pk=membership.pk).exists()


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_admin_makes_and_unmakes_no_owners(workspace: Workspace, before: Role, after: Role) -> None:
    make_member(workspace, Role.OWNER)
    actor = actor_of_user(make_user(workspace=workspace, role=Role.ADMIN))
    membership = make_member(workspace, before)
    if Role.OWNER in (before, after):
        with pytest.raises(Forbidden):
            change_role(membership, actor=actor, role=after)
        expected = before
    else:
        change_role(membership, actor=actor, role=after)
        expected = after
    membership.refresh_from_db()
    assert membership.role == expected


def test_changed_role_is_recorded(workspace: Workspace, owner: User, member: User) -> None:
    change_role(Membership.objects.get(user=member), actor=actor_of_user(owner), role=Role.ADMIN)
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.target, entry.data) == ("member.change_role", str(member.public_id), {"before": "member", "after": "admin"})


def test_stranger_changes_nobody(workspace: Workspace, member: User, stranger: User) -> None:
    membership = Membership.objects.get(user=member)
    for attempt in (
        lambda: add_member(workspace, actor=actor_of_user(stranger), email=stranger.email, role=Role.OWNER),
        lambda: change_role(membership, actor=actor_of_user(stranger), role=Role.VIEWER),
        lambda: remove_member(membership, actor=actor_of_user(stranger)),
    ):
        with pytest.raises(Forbidden):
            attempt()


def test_last_owner_stays_an_owner(workspace: Workspace, owner: User, member: User) -> None:
    membership = Membership.objects.get(user=owner)
    for attempt in (
        lambda: change_role(membership, actor=actor_of_user(owner), role=Role.ADMIN),
        lambda: remove_member(membership, actor=actor_of_user(owner)),
        lambda: remove_member(membership, actor=SYSTEM),
    ):
        with pytest.raises(Conflict) as conflict:
            attempt()
        assert conflict.value.code == "last_owner"
    assert Membership.objects.get(user=owner).role == Role.OWNER


def test_one_of_two_owners_may_leave(workspace: Workspace, owner: User) -> None:
    second = make_member(workspace, Role.OWNER)
    remove_member(Membership.objects.get(user=owner), actor=actor_of_user(owner))
    assert list(Membership.objects.all()) == [second]


@pytest.mark.parametrize("role", [Role.VIEWER, Role.MEMBER, Role.ADMIN])
def test_anyone_else_may_leave(workspace: Workspace, role: Role) -> None:
    membership = make_member(workspace, role)
    remove_member(membership, actor=actor_of_user(membership.user))
    assert Membership.objects.count() == 0


def test_unknown_address_is_refused(workspace: Workspace, owner: User) -> None:
    with pytest.raises(Refused) as refused:
        add_member(workspace, actor=actor_of_user(owner), email="nobody@example.org", role=Role.MEMBER)
    assert refused.value.code == "account_not_found"


def test_address_that_nobody_verified_is_refused(workspace: Workspace, owner: User) -> None:
    user = User.objects.create_user("claimed@example.org", "x")
    EmailAddress.objects.create(user=user, email=user.email, verified=False, primary=True)
    with pytest.raises(Refused) as refused:
        add_member(workspace, actor=actor_of_user(owner), email=user.email, role=Role.MEMBER)
    assert refused.value.code == "account_not_found"


def test_member_is_not_added_twice(workspace: Workspace, owner: User, member: User) -> None:
    with pytest.raises(Conflict) as conflict:
        add_member(workspace, actor=actor_of_user(owner), email=member.email, role=Role.ADMIN)
    assert conflict.value.code == "already_member"
    assert Membership.objects.get(user=member).role == Role.MEMBER
