"""Limits on spending: what a key may spend in all and in a month, and a workspace in a month."""

from django.db import transaction

from billing.enums import AllowanceKind
from billing.models import Allowance, KeyLimit, Wallet, WorkspaceLimit
from billing.queries import lineages_of
from billing.signals import credit_returned
from common.errors import Conflict, Refused
from common.money import MAX_MICROUSD, format_usd
from workspaces import audit
from workspaces.actors import Actor
from workspaces.models import ApiKey, Workspace
from workspaces.permissions import can_manage_keys, can_manage_workspace, require

MOST_GENERATIONS = 5
"""How far a key that was made by a key may be from one that a person made: each adds two rows to lock to every start."""


def _check_amount(amount: int | None, what: str) -> None:
    """Raise Refused (`invalid_amount`) where a limit is set to what is no amount."""
    if amount is not None and not 0 <= amount <= MAX_MICROUSD:
        raise Refused("invalid_amount", f"{what} is an amount of at least zero.")


def _is_above(amount: int | None, limit: int | None) -> bool:
    """Whether a limit of this amount would let more be spent than the other limit does; None is no limit."""
    return limit is not None and (amount is None or amount > limit)


def _text(amount: int | None) -> str | None:
    """The amount as audit entries keep it."""
    return None if amount is None else str(amount)


def set_key_ceiling(api_key: ApiKey, *, actor: Actor, ceiling_microusd: int | None) -> Allowance:
    """Set, change or lift what a key's lineage may spend in all.

    A key never raises its own ceiling, and gives another no more than its own has left. Raises Refused (`invalid_amount`,
    `ceiling_exceeded`) and Conflict (`ceiling_below_spend`).
    """
    workspace = api_key.workspace
    require(can_manage_keys(actor, workspace))
    _check_amount(ceiling_microusd, "A ceiling")
    with transaction.atomic():
        found, _ = Allowance.objects.get_or_create(workspace=workspace, kind=AllowanceKind.KEY_CEILING, subject=str(api_key.lineage))
        allowance = Allowance.objects.select_for_update().get(pk=found.pk)
        _check_own_ceiling(actor, allowance, ceiling_microusd)
        taken = allowance.spent_microusd + allowance.reserved_microusd
        if ceiling_microusd is not None and ceiling_microusd < taken:
            raise Conflict(
                "ceiling_below_spend",
                f"The key has spent or reserved {format_usd(taken)} already; a ceiling is no lower than that.",
                details={"spent_microusd": str(allowance.spent_microusd), "reserved_microusd": str(allowance.reserved_microusd)},
            )
        before, allowance.ceiling_microusd = allowance.ceiling_microusd, ceiling_microusd
        allowance.save(update_fields=["ceiling_microusd"])
        audit.record(
            actor,
            "api_key.set_ceiling",
            api_key.public_id,
            workspace=workspace,
            ceiling_microusd=_text(ceiling_microusd),
        )
        if _is_above(ceiling_microusd, before):
            credit_returned.send(Wallet, workspace_id=workspace.pk)
    return allowance


def _check_own_ceiling(actor: Actor, allowance: Allowance, ceiling: int | None) -> None:
    """Raise Refused where a key would raise the locked allowance and it is its own, or one that it comes from, or would promise more
    than its own has left.
    """
    if actor.api_key is None:
        return
    own, *older = lineages_of(str(actor.api_key.lineage))
    if allowance.subject in (own, *older):
        if _is_above(ceiling, allowance.ceiling_microusd):
            raise Refused("ceiling_exceeded", "A key cannot raise its own ceiling, or that of the key it comes from.")
        return
    left = key_left(allowance.workspace, own)
    if _is_above(ceiling, left):
        raise Refused("ceiling_exceeded", "A key gives another key no more than its own ceiling has left; state a lower ceiling.")


def key_left(workspace: Workspace, lineage: str) -> int | None:
    """What the ceilings of a key's lineage, and of those that it comes from, leave it to spend; None without a ceiling."""
    ceilings = Allowance.objects.filter(workspace=workspace, kind=AllowanceKind.KEY_CEILING, subject__in=lineages_of(lineage))
    return min((each.left_microusd for each in ceilings if each.left_microusd is not None), default=None)


def adopt_key(api_key: ApiKey, *, actor: Actor) -> None:
    """Let what a key spends that another key made count on the maker's lineage too. Raises Refused (`key_chain_too_long`)."""
    require(can_manage_keys(actor, api_key.workspace))
    if actor.api_key is None:
        return
    if len(lineages_of(str(actor.api_key.lineage))) > MOST_GENERATIONS:
        raise Refused(
            "key_chain_too_long", f"A key that {MOST_GENERATIONS} keys stand behind makes no other; let an older key or a person make it."
        )
    KeyLimit.objects.create(workspace=api_key.workspace, lineage=api_key.lineage, parent=actor.api_key.lineage)


def set_key_month(api_key: ApiKey, *, actor: Actor, monthly_microusd: int | None) -> KeyLimit:
    """Set or lift what a key's lineage may spend in a calendar month (UTC). A limit below what is spent already leaves nothing.

    A key never raises its own. Raises Refused (`invalid_amount`, `ceiling_exceeded`).
    """
    workspace = api_key.workspace
    require(can_manage_keys(actor, workspace))
    _check_amount(monthly_microusd, "A limit")
    with transaction.atomic():
        found, _ = KeyLimit.objects.get_or_create(workspace=workspace, lineage=api_key.lineage)
        limit = KeyLimit.objects.select_for_update().get(pk=found.pk)
        before, limit.monthly_microusd = limit.monthly_microusd, monthly_microusd
        is_raised = _is_above(monthly_microusd, before)
        if is_raised and actor.api_key is not None and str(api_key.lineage) in lineages_of(str(actor.api_key.lineage)):
            raise Refused("ceiling_exceeded", "A key cannot raise its own limit, or that of the key it comes from.")
        limit.save(update_fields=["monthly_microusd"])
        audit.record(
            actor,
            "api_key.set_month",
            api_key.public_id,
            workspace=workspace,
            monthly_microusd=_text(monthly_microusd),
        )
        if is_raised:
            credit_returned.send(Wallet, workspace_id=workspace.pk)
    return limit


def set_workspace_limit(workspace: Workspace, *, actor: Actor, monthly_microusd: int | None) -> WorkspaceLimit:
    """Set or lift what the workspace may spend in a calendar month. Raises Refused (`invalid_amount`)."""
    require(can_manage_workspace(actor, workspace))
    _check_amount(monthly_microusd, "A budget")
    with transaction.atomic():
        limit, _ = WorkspaceLimit.objects.select_for_update().get_or_create(workspace=workspace)
        before, limit.monthly_microusd = limit.monthly_microusd, monthly_microusd
        limit.save(update_fields=["monthly_microusd"])
        audit.record(
            actor,
            "workspace.set_budget",
            workspace.public_id,
            workspace=workspace,
            monthly_microusd=_text(monthly_microusd),
        )
        if _is_above(monthly_microusd, before):
            credit_returned.send(Wallet, workspace_id=workspace.pk)
    return limit
