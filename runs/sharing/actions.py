"""Making and revoking links, each with its audit entry, and counting who opens them."""

from datetime import datetime

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from common.errors import Conflict, Refused
from runs.documents import result_document
from runs.models import ResultVersion, Run
from runs.models.sharing import Share
from runs.permissions import can_share_run
from runs.sharing.choices import MAX_LABEL, MAX_TITLE, Choices, private_names
from runs.sharing.links import new_token
from runs.sharing.queries import live_shares_of
from runs.sharing.rights import check_samples, check_shareable
from workspaces import audit
from workspaces.actors import Actor
from workspaces.permissions import require

MAX_LIVE = 50
"""Links of one run that work at once."""


def create_share(run: Run, result: ResultVersion, *, actor: Actor, choices: Choices, expires_at: datetime | None = None) -> Share:
    """A new link to this result version that shows what was chosen.

    Raises Refused (`private_benchmark`, `samples_not_permitted`, `samples_not_available`, `invalid_expiry`, `invalid_labels`,
    `invalid_title`) and Conflict
    (`result_not_ready`, `too_many_shares`).
    """
    require(can_share_run(actor, run), "Your role or key may read here, and not share results.")
    checked = check_choices(run, result, choices)
    now = timezone.now()
    if expires_at is not None and expires_at <= now:
        raise Refused("invalid_expiry", "The link must expire in the future.")
    _, hashed, secret = new_token()
    with transaction.atomic():
        Run.objects.select_for_update().only("pk").get(pk=run.pk)
        if live_shares_of(run, now).count() >= MAX_LIVE:
            raise Conflict("too_many_shares", f"A run has at most {MAX_LIVE} links that work; revoke some first.")
        share = Share.objects.create(
            run=run,
            result=result,
            token_sha256=hashed,
            secret=secret,
            title=checked.title,
            labels={str(index): label for index, label in checked.labels.items()},
            shows_samples=checked.shows_samples,
            shows_cost=checked.shows_cost,
            shows_workspace=checked.shows_workspace,
            created_by=actor.user,
            created_by_label=actor.label,
            expires_at=expires_at,
        )
        audit.record(
            actor,
            "share.create",
            share.public_id,
            workspace=run.workspace,
            run=str(run.public_id),
            result_version=result.number,
            name=share.title or run.name,
            shows_samples=share.shows_samples,
            shows_cost=share.shows_cost,
            shows_workspace=share.shows_workspace,
        )
    return share


def revoke_share(share: Share, *, actor: Actor) -> Share:
    """The link stops working at once and for good. Idempotent."""
    run = Run.objects.select_related("workspace").get(pk=share.run_id)
    require(can_share_run(actor, run), "Your role or key may read here, and not revoke links.")
    with transaction.atomic():
        revoked = Share.objects.filter(pk=share.pk, revoked_at=None).update(revoked_at=timezone.now(), revoked_by_label=actor.label)
        if revoked:
            audit.record(
                actor, "share.revoke", share.public_id, workspace=run.workspace, run=str(run.public_id), name=share.title or run.name
            )
    share.refresh_from_db()
    return share


def note_opening(share: Share) -> None:
    """Count that somebody from outside opened the link. The one thing that reading writes, as a key's last use is."""
    Share.objects.filter(pk=share.pk).update(opened_count=F("opened_count") + 1, last_opened_at=timezone.now())


def check_choices(run: Run, result: ResultVersion, choices: Choices) -> Choices:
    """The choices, tidied. Raises as `create_share` does for what may not be shown, or is not of this result."""
    check_shareable(run)
    document = result_document(result)
    if choices.shows_samples:
        check_samples(run, document["grading"])
    title = " ".join(choices.title.split())
    if len(title) > MAX_TITLE:
        raise Refused("invalid_title", f"A title has at most {MAX_TITLE} characters.")
    known = {each.index for each in private_names(document["subjects"])}
    labels = {index: " ".join(label.split()) for index, label in choices.labels.items()}
    if unknown := sorted(set(labels) - known):
        raise Refused(
            "invalid_labels",
            "Only own endpoints and recorded answers are given a name; the others have public ones.",
            details={"subject_index": unknown[:20]},
        )
    if any(len(label) > MAX_LABEL for label in labels.values()):
        raise Refused("invalid_labels", f"A name has at most {MAX_LABEL} characters.")
    return Choices(
        title=title,
        shows_samples=choices.shows_samples,
        shows_cost=choices.shows_cost,
        shows_workspace=choices.shows_workspace,
        labels={index: label for index, label in labels.items() if label},
    )
