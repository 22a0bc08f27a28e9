"""Making groups of frozen results."""

from collections.abc import Callable, Sequence

from django.db import transaction

from common.canonical import freeze
from runs.enums import GroupKind
from runs.groups.policy import Policy
from runs.groups.resolving import Reference, resolve_group
from runs.models.groups import GroupMember, ResultGroup
from workspaces import audit
from workspaces.actors import Actor
from workspaces.models import Workspace
from workspaces.permissions import can_run, require


def create_group(
    workspace: Workspace,
    *,
    actor: Actor,
    references: Sequence[Reference],
    baseline: Reference | int | None = None,
    name: str = "",
    policy: Policy | None = None,
    kind: GroupKind = GroupKind.RESULTS,
    finish: Callable[[ResultGroup], None] | None = None,
) -> ResultGroup:
    """Freeze two to eight results and their comparison as a group. No model is run, and nothing costs anything.

    The comparison is computed before the transaction, which calls `finish` at its end. Raises what `resolve_group`
    raises, and Conflict `result_not_reproduced`.
    """
    require(can_run(actor, workspace), "Your role or key may read here, and not make groups or comparisons.")
    # Both read every answer into arrays: numpy is loaded by those who do so, not by every web process.
    from runs.groups.comparing import group_document
    from runs.groups.gathering import members_of

    found, place = resolve_group(workspace, baseline=baseline, references=references)
    document = group_document(members_of(found), baseline=place, policy=policy or Policy())
    text, sha256 = freeze(document)
    group = ResultGroup(
        workspace=workspace,
        created_by=actor.user,
        api_key=actor.api_key,
        kind=kind,
        name=name,
        baseline=place,
        decision=document["decision"] or "",
        document=text,
        sha256=sha256,
    )
    with transaction.atomic():
        group.save(force_insert=True)
        GroupMember.objects.bulk_create(
            GroupMember(
                group=group,
                index=member["index"],
                result=each.result,
                result_sha256=each.result.sha256,
                label=member["label"],
                profile_id=member["profile_id"],
            )
            for member, each in zip(document["members"], found, strict=True)
        )
        audit.record(
            actor,
            "result_group.created" if kind == GroupKind.RESULTS else "comparison.created",
            group.public_id,
            workspace=workspace,
            name=name,
            results=[each.key for each in found],
            decision=group.decision,
            sha256=sha256,
        )
        if finish is not None:
            finish(group)
    return group
