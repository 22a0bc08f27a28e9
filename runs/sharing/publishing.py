"""Publishing, withdrawing and hiding: who put what on a benchmark's page, each with its audit entry."""

from collections.abc import Collection

from django.db import transaction
from django.utils import timezone

from common.canonical import canonical_json, sha256_text
from common.errors import Conflict, Refused
from runs.models import ResultVersion, Run
from runs.models.sharing import Publication
from runs.permissions import can_publish_run, can_withdraw_publication
from runs.sharing.candidates import candidates_of, model_of, published_parts
from runs.sharing.queries import hidden_entries_of, publications_of
from runs.sharing.rights import PRIVATE, private_refusal
from workspaces import audit
from workspaces.actors import Actor
from workspaces.permissions import is_platform_staff, require


def publish_result(run: Run, result: ResultVersion, *, actor: Actor, keys: Collection[str], agreed_name: str) -> list[Publication]:
    """Put the named models (`Candidate.key`) of this result on their benchmarks' leaderboards, under the workspace's name.

    `agreed_name` is the name that the owner agreed to: it must still be the workspace's. What is published already is left as it is.
    Raises Refused (`private_benchmark`, `nothing_chosen`, `not_publishable`, `name_changed`) and Conflict (`result_not_ready`,
    `hidden_by_staff`).
    """
    require(can_publish_run(actor, run), "Only owners publish: it is done under the workspace's name.")
    if words := private_refusal(run, "cannot be published"):
        raise Refused(PRIVATE, words)
    if not run.is_ended:
        raise Conflict("result_not_ready", "The run has not ended yet; its result can be published when it has.")
    if agreed_name != run.workspace.name:
        raise Refused("name_changed", f"The workspace is called {run.workspace.name} by now. Agree to that name, and publish again.")
    chosen = [each for each in candidates_of(run, result) if each.key in set(keys)]
    if not chosen or len(chosen) != len(set(keys)):
        raise Refused("nothing_chosen", "Choose at least one model of this result.")
    if refused := next((each for each in chosen if each.refusal), None):
        raise Refused(
            "not_publishable", f"{refused.subject.label}: {refused.refusal_words}", details={"reason": refused.refusal, "key": refused.key}
        )
    hidden = set(hidden_entries_of(result))
    if any((each.subject.pk, each.benchmark.version_id) in hidden for each in chosen):
        raise Conflict("hidden_by_staff", "Staff has hidden this entry, so it cannot be published again.")
    made = [(each, published_parts(each, result)) for each in chosen]  # reads many samples: before the transaction
    publications = []
    with transaction.atomic():
        Run.objects.select_for_update().only("pk").get(pk=run.pk)
        there = set(publications_of(result).values_list("subject_id", "version_id"))
        for candidate, parts in made:
            if (candidate.subject.pk, candidate.benchmark.version_id) in there:
                continue
            protocol = canonical_json(parts["protocol"])
            publication = Publication.objects.create(
                workspace=run.workspace,
                result=result,
                subject=candidate.subject,
                version=candidate.benchmark.version,
                publisher=agreed_name,
                label=candidate.subject.label,
                model=model_of(candidate.subject),
                protocol=protocol,
                protocol_sha256=sha256_text(protocol),
                figures=parts["figures"],
                scores=parts["scores"],
                published_by=actor.user,
                published_by_label=actor.label,
            )
            publications.append(publication)
            _record(actor, "publication.create", publication, publisher=agreed_name)
    return publications


def withdraw_publication(publication: Publication, *, actor: Actor) -> None:
    """Take an entry off the leaderboard. Idempotent."""
    require(can_withdraw_publication(actor, publication.workspace), "Owners and admins withdraw what was published.")
    with transaction.atomic():
        rows = Publication.objects.filter(pk=publication.pk, withdrawn_at=None)
        if rows.update(withdrawn_at=timezone.now(), withdrawn_by_label=actor.label):
            _record(actor, "publication.withdraw", publication)


def hide_publication(publication: Publication, *, actor: Actor, reason: str) -> None:
    """Staff: hide an entry, for a reason that its workspace reads. Raises Refused (`reason_required`)."""
    require(is_platform_staff(actor))
    reason = " ".join(reason.split())[:300]
    if not reason:
        raise Refused("reason_required", "Say why: the workspace reads it.")
    with transaction.atomic():
        rows = Publication.objects.filter(pk=publication.pk)
        rows.update(hidden_at=timezone.now(), hidden_by_label=actor.label, hidden_reason=reason)
        _record(actor, "publication.hide", publication, reason=reason)


def unhide_publication(publication: Publication, *, actor: Actor) -> None:
    """Staff: show a hidden entry again."""
    require(is_platform_staff(actor))
    with transaction.atomic():
        rows = Publication.objects.filter(pk=publication.pk, hidden_at__isnull=False)
        if rows.update(hidden_at=None, hidden_by_label="", hidden_reason=""):
            _record(actor, "publication.unhide", publication)


def _record(actor: Actor, action: str, publication: Publication, **data: str) -> None:
    version = publication.version.profile_id
    audit.record(actor, action, publication.public_id, workspace=publication.workspace, label=publication.label, profile_id=version, **data)
