"""API keys: their text, what they may, how they end, and what a key may do to keys."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from billing.limits import set_key_ceiling
from billing.models import Allowance
from billing.queries import allowance_of_key
from common.errors import Conflict, Forbidden, Refused
from common.redaction import redact
from workspaces.actions import authenticate_key, change_api_key, create_api_key, revoke_api_key, roll_api_key
from workspaces.actions.api_keys import MAX_LIVE_KEYS
from workspaces.actors import Actor, actor_of_key, actor_of_user
from workspaces.enums import Scope
from workspaces.key_text import read_key_text
from workspaces.models import ApiKey, AuditEntry, User, Workspace

READ, WRITE, MANAGE = Scope.EVAL_READ, Scope.EVAL_WRITE, Scope.KEYS_MANAGE


@pytest.fixture
def key_and_text(workspace: Workspace, actor: Actor) -> tuple[ApiKey, str]:
    return create_api_key(workspace, actor=actor, label="CI", scopes=[READ, WRITE])


def make_manager(workspace: Workspace, actor: Actor, *extra: Scope, ceiling: int | None = None) -> Actor:
    """A key that may manage keys, as an actor."""
    key, _ = create_api_key(workspace, actor=actor, label="manager", scopes=[MANAGE, *extra], spend_ceiling_microusd=ceiling)
    return actor_of_key(key)


def test_text_has_a_prefix_and_a_secret_that_is_not_stored(key_and_text: tuple[ApiKey, str]) -> None:
    key, text = key_and_text
    assert re.fullmatch(r"er_[A-Za-z0-9]{8}_[A-Za-z0-9]{40}", text)
    assert text.split("_")[1] == key.prefix
    secret = text.split("_")[2]
    assert all(secret not in str(value) for value in ApiKey.objects.values().get().values())
    assert secret not in str(list(AuditEntry.objects.values()))
    assert redact(f"the key is {text}.") == "the key is [redacted]."
    assert secret not in repr(read_key_text(text))


def test_right_text_is_recognised(key_and_text: tuple[ApiKey, str]) -> None:
    key, text = key_and_text
    actor = authenticate_key(text)
    assert actor is not None
    assert (actor.api_key, actor.api_key.workspace, actor.user) == (key, key.workspace, None)


def test_wrong_text_is_not(key_and_text: tuple[ApiKey, str]) -> None:
    _, text = key_and_text
    wrong = [
        text[:-1],
        text + "x",
        text[:-1] + ("a" if text[-1] != "a" else "b"),
        text.replace("er_", "xx_"),
        "",
        "er__",
        f"er_abcdefgh_{'a' * 40}",
        text + "\n",
    ]
    assert [authenticate_key(candidate) for candidate in wrong] == [None] * len(wrong)


def test_revoked_key_stops_at_once_and_stays_listed(key_and_text: tuple[ApiKey, str], actor: Actor) -> None:
    key, text = key_and_text
    first = revoke_api_key(key, actor=actor).revoked_at
    assert authenticate_key(text) is None
    assert revoke_api_key(key, actor=actor).revoked_at == first
    assert list(AuditEntry.objects.filter(action="api_key.revoke").values_list("target", flat=True)) == [str(key.public_id)]


def test_expired_key_stops(key_and_text: tuple[ApiKey, str]) -> None:
    key, text = key_and_text
    ApiKey.objects.filter(pk=key.pk).update(expires_at=timezone.now())
    assert authenticate_key(text) is None


def test_use_is_noted_once_a_minute(key_and_text: tuple[ApiKey, str]) -> None:
    key, text = key_and_text
    authenticate_key(text)
    first = ApiKey.objects.get(pk=key.pk).last_used_at
    authenticate_key(text)
    assert ApiKey.objects.get(pk=key.pk).last_used_at == first
    ApiKey.objects.filter(pk=key.pk).update(last_used_at=timezone.now() - timedelta(seconds=61))
    authenticate_key(text)
    again = ApiKey.objects.get(pk=key.pk).last_used_at
    assert first is not None and again is not None and again >= first


def test_refused_key_is_not_noted_as_used(key_and_text: tuple[ApiKey, str]) -> None:
    key, text = key_and_text
    authenticate_key(text[:-1] + ("a" if text[-1] != "a" else "b"))
    assert ApiKey.objects.get(pk=key.pk).last_used_at is None


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"label": "  "}, "label_required"),
        ({"label": "x" * 81}, "label_required"),
        ({"scopes": []}, "invalid_scopes"),
        ({"scopes": ["eval:read", "everything"]}, "invalid_scopes"),
        ({"expires_at": timezone.now() - timedelta(seconds=1)}, "invalid_expiry"),
        ({"spend_ceiling_microusd": -1}, "invalid_amount"),
    ],
)
def test_unfit_key_is_refused_and_not_made(workspace: Workspace, actor: Actor, changed: dict[str, object], code: str) -> None:
    with pytest.raises(Refused) as refused:
        create_api_key(workspace, **{"actor": actor, "label": "CI", "scopes": [READ], **changed})  # type: ignore[arg-type]
    assert refused.value.code == code
    assert ApiKey.objects.count() == 0


def test_member_makes_no_keys(workspace: Workspace, member: User, key_and_text: tuple[ApiKey, str]) -> None:
    actor = actor_of_user(member)
    key, _ = key_and_text
    for attempt in (
        lambda: create_api_key(workspace, actor=actor, label="x", scopes=[READ]),
        lambda: change_api_key(key, actor=actor, label="x"),
        lambda: roll_api_key(key, actor=actor),
        lambda: revoke_api_key(key, actor=actor),
    ):
        with pytest.raises(Forbidden):
            attempt()


def test_keys_that_work_are_limited(workspace: Workspace, actor: Actor) -> None:
    ApiKey.objects.bulk_create(ApiKey(workspace=workspace, label="x", prefix=f"p{n:07}", secret_sha256="") for n in range(MAX_LIVE_KEYS))
    with pytest.raises(Conflict) as conflict:
        create_api_key(workspace, actor=actor, label="x", scopes=[READ])
    assert conflict.value.code == "too_many_keys"
    ApiKey.objects.filter(prefix="p0000000").update(revoked_at=timezone.now())
    create_api_key(workspace, actor=actor, label="x", scopes=[READ])


def test_change_touches_what_is_given(key_and_text: tuple[ApiKey, str], actor: Actor) -> None:
    key, text = key_and_text
    changed = change_api_key(key, actor=actor, scopes=[READ])
    assert (changed.label, changed.scopes, changed.expires_at) == ("CI", ["eval:read"], None)
    assert AuditEntry.objects.get(action="api_key.change").data == {"scopes": ["eval:read"]}
    assert allowance_of_key(key) is None
    recognised = authenticate_key(text)
    assert recognised is not None and not recognised.has_scope(WRITE)


def test_dead_key_is_neither_changed_nor_rolled(key_and_text: tuple[ApiKey, str], actor: Actor) -> None:
    key, _ = key_and_text
    revoke_api_key(key, actor=actor)
    for attempt in (lambda: change_api_key(key, actor=actor, label="x"), lambda: roll_api_key(key, actor=actor)):
        with pytest.raises(Conflict) as conflict:
            attempt()
        assert conflict.value.code == "key_not_live"


# ── Rolling ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_rolled_key_has_the_same_lineage_and_both_work_for_a_while(key_and_text: tuple[ApiKey, str], actor: Actor) -> None:
    key, text = key_and_text
    new, new_text = roll_api_key(key, actor=actor)
    assert (new.label, new.scopes, new.lineage, new.expires_at) == (key.label, key.scopes, key.lineage, None)
    assert [authenticate_key(candidate) is not None for candidate in (text, new_text)] == [True, True]
    key.refresh_from_db()
    assert key.expires_at is not None
    assert timedelta(days=6, hours=23) < key.expires_at - timezone.now() <= timedelta(days=7)


def test_roll_without_overlap_ends_the_old_key(key_and_text: tuple[ApiKey, str], actor: Actor) -> None:
    key, text = key_and_text
    _, new_text = roll_api_key(key, actor=actor, overlap=timedelta(0))
    assert [authenticate_key(candidate) is not None for candidate in (text, new_text)] == [False, True]


def test_roll_never_makes_the_old_key_live_longer(workspace: Workspace, actor: Actor) -> None:
    ends = timezone.now() + timedelta(days=2)
    key, _ = create_api_key(workspace, actor=actor, label="short", scopes=[READ], expires_at=ends)
    new, _ = roll_api_key(key, actor=actor)
    key.refresh_from_db()
    assert key.expires_at == ends
    assert new.expires_at is not None
    assert abs(new.expires_at - ends) < timedelta(seconds=5)


def test_overlap_of_more_than_a_week_is_refused(key_and_text: tuple[ApiKey, str], actor: Actor) -> None:
    with pytest.raises(Refused) as refused:
        roll_api_key(key_and_text[0], actor=actor, overlap=timedelta(days=7, seconds=1))
    assert refused.value.code == "invalid_overlap"


# ── Ceilings, kept by billing ───────────────────────────────────────────────────────────────────────────────────────


def test_ceiling_is_stored_for_the_lineage_and_shared_after_a_roll(workspace: Workspace, actor: Actor) -> None:
    key, _ = create_api_key(workspace, actor=actor, label="CI", scopes=[READ], spend_ceiling_microusd=2_500_000)
    new, _ = roll_api_key(key, actor=actor)
    assert allowance_of_key(new) == allowance_of_key(key) == Allowance.objects.get()
    change_api_key(new, actor=actor, spend_ceiling_microusd=None)
    assert Allowance.objects.get().ceiling_microusd is None


# ── A key that manages keys ─────────────────────────────────────────────────────────────────────────────────────────


def test_key_gives_no_scope_it_lacks(workspace: Workspace, actor: Actor) -> None:
    manager = make_manager(workspace, actor, READ)
    made, _ = create_api_key(workspace, actor=manager, label="less", scopes=[READ])
    assert made.created_by is None
    for attempt in (
        lambda: create_api_key(workspace, actor=manager, label="more", scopes=[READ, WRITE]),
        lambda: change_api_key(made, actor=manager, scopes=[READ, WRITE]),
    ):
        with pytest.raises(Forbidden):
            attempt()


def test_key_touches_no_key_that_may_more(workspace: Workspace, actor: Actor, key_and_text: tuple[ApiKey, str]) -> None:
    stronger, _ = key_and_text
    manager = make_manager(workspace, actor, READ)
    for attempt in (
        lambda: change_api_key(stronger, actor=manager, label="mine"),
        lambda: change_api_key(stronger, actor=manager, scopes=[READ]),
        lambda: roll_api_key(stronger, actor=manager),
        lambda: revoke_api_key(stronger, actor=manager),
    ):
        with pytest.raises(Forbidden):
            attempt()


def test_key_without_the_scope_manages_no_keys(workspace: Workspace, key_and_text: tuple[ApiKey, str]) -> None:
    with pytest.raises(Forbidden):
        create_api_key(workspace, actor=actor_of_key(key_and_text[0]), label="x", scopes=[READ])


def test_key_reaches_no_other_workspace(workspace: Workspace, other_workspace: Workspace, actor: Actor) -> None:
    with pytest.raises(Forbidden):
        create_api_key(other_workspace, actor=make_manager(workspace, actor, READ), label="x", scopes=[READ])


def test_key_with_a_ceiling_gives_no_more_than_it_has_left(workspace: Workspace, actor: Actor) -> None:
    manager = make_manager(workspace, actor, READ, ceiling=1_000_000)
    for ceiling in (None, 1_000_001):
        with pytest.raises(Refused) as refused:
            create_api_key(workspace, actor=manager, label="x", scopes=[READ], spend_ceiling_microusd=ceiling)
        assert refused.value.code == "ceiling_exceeded"
    assert ApiKey.objects.count() == 1  # a refused ceiling leaves no key behind
    create_api_key(workspace, actor=manager, label="x", scopes=[READ], spend_ceiling_microusd=1_000_000)


def test_key_with_a_ceiling_raises_nobodys(workspace: Workspace, actor: Actor) -> None:
    manager = make_manager(workspace, actor, READ, ceiling=1_000_000)
    assert manager.api_key is not None
    with pytest.raises(Refused) as refused:
        change_api_key(manager.api_key, actor=manager, spend_ceiling_microusd=2_000_000)
    assert refused.value.code == "ceiling_exceeded"


@pytest.mark.parametrize(("ceiling", "allowed"), [(None, False), (1_000_001, False), (1_000_000, True)])
def test_key_with_a_ceiling_rolls_no_key_that_may_spend_more(
    workspace: Workspace, actor: Actor, ceiling: int | None, allowed: bool
) -> None:
    manager = make_manager(workspace, actor, READ, ceiling=1_000_000)
    other, _ = create_api_key(workspace, actor=actor, label="other", scopes=[READ])
    set_key_ceiling(other, actor=actor, ceiling_microusd=ceiling)
    if allowed:
        assert roll_api_key(other, actor=manager)[0].lineage == other.lineage
    else:
        with pytest.raises(Refused) as refused:
            roll_api_key(other, actor=manager)
        assert refused.value.code == "ceiling_exceeded"
        assert ApiKey.objects.count() == 2


def test_key_with_a_ceiling_rolls_itself(workspace: Workspace, actor: Actor) -> None:
    manager = make_manager(workspace, actor, ceiling=1_000_000)
    assert manager.api_key is not None
    new, _ = roll_api_key(manager.api_key, actor=manager)
    assert allowance_of_key(new) == allowance_of_key(manager.api_key)
