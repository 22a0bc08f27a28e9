"""Asking for a grading."""

from collections.abc import Mapping

from django.db import transaction

from common.errors import Conflict, Refused
from common.jobs import enqueue_on_commit
from runs.gradings.queries import versions_to_grade_by
from runs.jobs import GRADE_AGAIN
from runs.models import Run
from runs.models.gradings import Grading
from runs.permissions import can_continue_run
from runs.reusing import check_evidence
from workspaces import audit
from workspaces.actors import Actor
from workspaces.permissions import require

MOST_GRADINGS = 20


def grade_again(run: Run, *, actor: Actor, versions: Mapping[int, str] | None = None) -> Grading:
    """Grade the run's answers once more, in the background and for nothing.

    `versions` names for a benchmark (by its index) another version of it whose grader and references judge; its own where nothing is said.
    Raises Conflict (`run_not_ended`, `evidence_expired`, `grading_under_way`, `too_many_gradings`) and Refused (`version_not_found`).
    """
    require(can_continue_run(actor, run), "Your role or key may read here, and not grade again.")
    if not run.is_ended:
        raise Conflict("run_not_ended", "The run has not ended yet; wait for it, or cancel it first.")
    check_evidence(run)
    chosen: dict[str, str] = {}
    for index, allowed in versions_to_grade_by(run).items():
        wanted = (versions or {}).get(index) or allowed[0].profile_id
        if wanted not in [version.profile_id for version in allowed]:
            raise Refused(
                "version_not_found",
                f"{wanted} cannot grade these answers. There are {', '.join(version.profile_id for version in allowed)}.",
                details={"versions": [version.profile_id for version in allowed]},
            )
        chosen[str(index)] = wanted
    with transaction.atomic():
        Run.objects.select_for_update().get(pk=run.pk)
        earlier = list(Grading.objects.filter(run=run).values_list("number", "ended_at"))
        if any(ended_at is None for _, ended_at in earlier):
            raise Conflict("grading_under_way", "The run is being graded again already; wait for that grading.")
        if len(earlier) >= MOST_GRADINGS:
            raise Conflict("too_many_gradings", f"A run is graded again at most {MOST_GRADINGS} times.")
        grading = Grading.objects.create(
            run=run,
            number=max((number for number, _ in earlier), default=1) + 1,
            created_by=actor.user,
            created_by_label=actor.label,
            versions=chosen,
        )
        audit.record(actor, "run.grade_again", run.public_id, workspace=run.workspace, number=grading.number, versions=chosen)
        enqueue_on_commit(GRADE_AGAIN, str(grading.public_id))
    return grading
