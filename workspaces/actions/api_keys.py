"""API keys: made, changed, rolled, revoked, and recognised."""

from collections.abc import Collection
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from common.errors import Conflict, Forbidden, Refused
from workspaces import audit
from workspaces.actors import Actor, actor_of_key
from workspaces.enums import Scope
from workspaces.key_text import KeyText, new_key_text, read_key_text
from workspaces.models import ApiKey, Workspace
from workspaces.permissions import can_manage_keys, require
from workspaces.signals import UNSET, Unset, api_key_changed, api_key_created, api_key_rolled

MAX_LABEL = 80
MAX_LIVE_KEYS = 100
LONGEST_OVERLAP = timedelta(days=7)
"""How long the old key may still work after a roll."""

USE_NOTED_EVERY = timedelta(minutes=1)


def create_api_key(
    workspace: Workspace,
    *,
    actor: Actor,
    label: str,
    scopes: Collection[str],
    expires_at: datetime | None = None,
    spend_ceiling_microusd: int | None = None,
) -> tuple[ApiKey, str]:
    """Make a key; returns it and its text, which is never stored and cannot be had again.

    Raises Refused (`label_required`, `invalid_scopes`, `invalid_expiry`), Conflict (`too_many_keys`) and Forbidden;
    whoever keeps ceilings may refuse too.
    """
    require(can_manage_keys(actor, workspace))
    label = _checked_label(label)
    granted = _checked_scopes(actor, scopes)
    _check_expiry(expires_at)
    text = new_key_text()
    with transaction.atomic():
        _lock_and_count(workspace)
        key = ApiKey.objects.create(
            workspace=workspace,
            label=label,
            prefix=text.prefix,
            secret_sha256=text.sha256,
            scopes=granted,
            expires_at=expires_at,
            created_by=actor.user,
        )
        audit.record(
            actor,
            "api_key.create",
            key.public_id,
            workspace=workspace,
            label=label,
            scopes=granted,
            expires_at=expires_at.isoformat() if expires_at else None,
        )
        api_key_created.send(ApiKey, key=key, spend_ceiling_microusd=spend_ceiling_microusd, actor=actor)
    return key, str(text)


def change_api_key(
    key: ApiKey,
    *,
    actor: Actor,
    label: str | Unset = UNSET,
    scopes: Collection[str] | Unset = UNSET,
    expires_at: datetime | Unset | None = UNSET,
    spend_ceiling_microusd: int | Unset | None = UNSET,
) -> ApiKey:
    """Change what is given and leave the rest. Raises as `create_api_key`, and Conflict (`key_not_live`)."""
    require(can_manage_keys(actor, key.workspace))
    with transaction.atomic():
        row = _locked_live(key)
        _require_within(actor, row)
        changes: dict[str, object] = {}
        if not isinstance(label, Unset):
            row.label = changes["label"] = _checked_label(label)
        if not isinstance(scopes, Unset):
            row.scopes = changes["scopes"] = _checked_scopes(actor, scopes)
        if not isinstance(expires_at, Unset):
            _check_expiry(expires_at)
            row.expires_at = expires_at
            changes["expires_at"] = expires_at.isoformat() if expires_at else None
        if changes:
            row.save(update_fields=list(changes))
            audit.record(actor, "api_key.change", row.public_id, workspace=row.workspace, **changes)
        api_key_changed.send(ApiKey, key=row, spend_ceiling_microusd=spend_ceiling_microusd, actor=actor)
    return row


def roll_api_key(key: ApiKey, *, actor: Actor, overlap: timedelta = LONGEST_OVERLAP) -> tuple[ApiKey, str]:
    """Make a key with the same permissions and lineage, and end the old one after `overlap`, or when it would have ended anyway.

    The new key lives as long as the old one was made for. Returns it and its text.
    Raises Refused (`invalid_overlap`) and Conflict (`key_not_live`).
    """
    require(can_manage_keys(actor, key.workspace))
    if not timedelta(0) <= overlap <= LONGEST_OVERLAP:
        raise Refused("invalid_overlap", "The old key may go on for at most seven days.")
    text = new_key_text()
    with transaction.atomic():
        old = _locked_live(key)
        _require_within(actor, old)
        _lock_and_count(old.workspace)
        now = timezone.now()
        new = ApiKey.objects.create(
            workspace=old.workspace,
            label=old.label,
            prefix=text.prefix,
            secret_sha256=text.sha256,
            scopes=old.scopes,
            lineage=old.lineage,
            expires_at=now + (old.expires_at - old.created_at) if old.expires_at else None,
            created_by=actor.user,
        )
        ends_at = now + overlap
        old.expires_at = min(old.expires_at, ends_at) if old.expires_at else ends_at
        old.save(update_fields=["expires_at"])
        audit.record(
            actor,
            "api_key.roll",
            old.public_id,
            workspace=old.workspace,
            new=str(new.public_id),
            old_works_until=old.expires_at.isoformat(),
        )
        api_key_rolled.send(ApiKey, key=new, rolled_from=old, actor=actor)
    return new, str(text)


def revoke_api_key(key: ApiKey, *, actor: Actor) -> ApiKey:
    """End the key at once; revoking a revoked key changes nothing. Work it has started goes on."""
    require(can_manage_keys(actor, key.workspace))
    with transaction.atomic():
        row = ApiKey.objects.select_for_update(of=("self",)).select_related("workspace").get(pk=key.pk)
        _require_within(actor, row)
        if row.revoked_at is None:
            row.revoked_at = timezone.now()
            row.save(update_fields=["revoked_at"])
            audit.record(actor, "api_key.revoke", row.public_id, workspace=row.workspace, label=row.label)
    return row


def authenticate_key(text: str) -> Actor | None:  # lint: actors (it is what finds the actor)
    """The key with this text as an actor; None for one that is unknown, wrong, revoked or expired. Its use is noted once a minute."""
    given = read_key_text(text)
    if given is None:
        return None
    key = ApiKey.objects.select_related("workspace").filter(prefix=given.prefix).first()
    # An unknown prefix costs the same comparison, so that time does not tell which prefixes exist.
    proved = given.proves(key.secret_sha256 if key else KeyText("", "").sha256)
    now = timezone.now()
    if key is None or not proved or not key.is_live(now):
        return None
    before = now - USE_NOTED_EVERY
    if key.last_used_at is None or key.last_used_at < before:
        ApiKey.objects.filter(Q(last_used_at=None) | Q(last_used_at__lt=before), pk=key.pk).update(last_used_at=now)
        key.last_used_at = now
    return actor_of_key(key)


def _locked_live(key: ApiKey) -> ApiKey:
    row = ApiKey.objects.select_for_update(of=("self",)).select_related("workspace").get(pk=key.pk)
    if not row.is_live(timezone.now()):
        raise Conflict("key_not_live", "The key is revoked or expired; make a new one.")
    return row


def _lock_and_count(workspace: Workspace) -> None:
    Workspace.objects.select_for_update().get(pk=workspace.pk)
    live = ApiKey.objects.filter(Q(expires_at=None) | Q(expires_at__gt=timezone.now()), workspace=workspace, revoked_at=None).count()
    if live >= MAX_LIVE_KEYS:
        raise Conflict("too_many_keys", f"A workspace has at most {MAX_LIVE_KEYS} keys that work; revoke some first.")


def _require_within(actor: Actor, key: ApiKey) -> None:
    """A key touches only keys that may do no more than itself."""
    if actor.api_key is not None and not set(key.scopes) <= set(actor.api_key.scopes):
        raise Forbidden("A key changes only keys within its own scopes.")


def _checked_scopes(actor: Actor, scopes: Collection[str]) -> list[str]:
    wanted = set(scopes)
    unknown = wanted - set(Scope.values)
    if unknown or not wanted:
        raise Refused("invalid_scopes", f"Choose at least one of {', '.join(Scope.values)}.", details={"unknown": sorted(unknown)})
    if actor.api_key is not None and not wanted <= set(actor.api_key.scopes):
        raise Forbidden("A key gives only scopes that it has.")
    return [scope for scope in Scope.values if scope in wanted]


def _checked_label(label: str) -> str:
    label = " ".join(label.split())
    if not label or len(label) > MAX_LABEL:
        raise Refused("label_required", f"Name the key, in at most {MAX_LABEL} characters.")
    return label


def _check_expiry(expires_at: datetime | None) -> None:
    if expires_at is not None and expires_at <= timezone.now():
        raise Refused("invalid_expiry", "The key must expire in the future.")
