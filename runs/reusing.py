"""Change one thing and pay for one thing: which finished answers of an ended run a new quote takes over.

An answer is taken where the same model was asked the same task of the same version with the same settings. Where the new output limit is
higher, answers that the old one cut are asked for again and the others kept. Errors that a continuation would work again are worked again.
"""

from collections.abc import Sequence
from typing import Any

from django.utils import timezone

from common.errors import Conflict, Refused
from gateway.enums import RERUN_ON_CONTINUE
from runs import queries
from runs.enums import SampleStatus
from runs.models import Run, RunBenchmark, Sample, Shard, Subject
from runs.plans import Part, Reuse
from runs.resolving import ResolvedSubject
from workspaces.models import Workspace


def check_evidence(run: Run) -> None:
    """Raise Conflict `evidence_expired` where the content of the run's samples is past its retention."""
    if run.content_expired_at is not None or (run.content_expires_at is not None and run.content_expires_at <= timezone.now()):
        raise Conflict(
            "evidence_expired", "The samples of this run are past their retention, so nothing of it can be reused. Start a new run."
        )


def expires_document(run: Run) -> str | None:
    """When the run's answers can no longer be taken over."""
    return run.content_expires_at.isoformat().replace("+00:00", "Z") if run.content_expires_at else None


def plan_reuse_of(workspace: Workspace, run_id: str, parts: Sequence[Part], subjects: Sequence[ResolvedSubject], attempts: int) -> Reuse:
    """What the new quote takes from a run of the workspace.

    Raises Refused `reused_run_not_found`, `nothing_to_reuse`, and Conflict `run_not_ended`, `evidence_expired`.
    """
    try:
        run = queries.get_run(workspace, run_id)
    except Run.DoesNotExist:
        raise Refused("reused_run_not_found", f"There is no run {run_id!r} in this workspace whose answers could be taken over.") from None
    if not run.is_ended:
        raise Conflict("run_not_ended", "The run has not ended yet; wait for it, or cancel it first.")
    check_evidence(run)
    before = {subject.pk: subject for subject in Subject.objects.filter(run=run)}
    sources = [next((old for old in before.values() if _is_same(old, subject)), None) for subject in subjects]
    finished: list[set[int]] = [set() for _ in subjects]
    lower_limits: set[int] = set()
    for old, part in _shared(run, parts):
        place_of = moved_positions(old, part.version.pk, part.coverage.ordinals, part.first_position)
        for subject, cells in zip(sources, finished, strict=True):
            if subject is None or old.output_limit > part.output_limit:
                continue
            taken = _finished(old, subject, is_raised=old.output_limit < part.output_limit)
            fresh = {place_of[at] * attempts + attempt - 1 for at, attempt in taken if at in place_of and attempt <= attempts}
            cells |= fresh
            if fresh and old.output_limit < part.output_limit:
                lower_limits.add(old.output_limit)
    reused = sum(map(len, finished))
    if not reused:
        raise Refused(
            "nothing_to_reuse",
            "No answer of that run fits this setup: none of its models was asked one of these tasks with these settings. Quote without "
            "`reuse_from`.",
        )
    total = sum(part.coverage.count for part in parts) * attempts
    pending = [[cell for cell in range(total) if cell not in cells] for cells in finished]
    if not any(pending):
        raise Conflict("nothing_to_run", "That run holds every one of these answers already: its result is the result of this setup.")
    unknown = sum(map(len, Shard.objects.filter(run=run).exclude(unknown=[]).values_list("unknown", flat=True)))
    document: dict[str, Any] = {
        "source_run": str(run.public_id),
        "reused": reused,
        "pending": sum(map(len, pending)),
        "reused_by_subject": [len(cells) for cells in finished],
        "lower_limit": min(lower_limits, default=None),
        "unknown_retry": unknown,
        "evidence_expires_at": expires_document(run),
    }
    indexes = [subject.index if subject is not None and cells else None for subject, cells in zip(sources, finished, strict=True)]
    return Reuse(run, continues=False, pending=pending, left_out=[[] for _ in subjects], sources=indexes, document=document)


def _shared(run: Run, parts: Sequence[Part]) -> list[tuple[RunBenchmark, Part]]:
    """The benchmarks that the run and the quote have in common."""
    by_version = {benchmark.version_id: benchmark for benchmark in RunBenchmark.objects.filter(run=run)}
    return [(by_version[part.version.pk], part) for part in parts if part.version.pk in by_version]


def moved_positions(old: RunBenchmark, version_id: int, ordinals: Sequence[int] | None, first: int) -> dict[int, int]:
    """From a task's position in the old run to that in the new one, for tasks that are in both."""
    if old.version_id != version_id:
        return {}
    new_place = None if ordinals is None else {ordinal: first + place for place, ordinal in enumerate(ordinals)}
    moved = {}
    for position, ordinal in zip(old.positions, old.ordinals(), strict=True):
        if new_place is None:
            moved[position] = first + ordinal
        elif ordinal in new_place:
            moved[position] = new_place[ordinal]
    return moved


def _finished(benchmark: RunBenchmark, subject: Subject, *, is_raised: bool) -> list[tuple[int, int]]:
    """Position and attempt of the subject's samples that stand as they are."""
    samples = Sample.objects.filter(run_benchmark=benchmark, subject=subject)
    samples = samples.exclude(status=SampleStatus.ERROR, error_code__in=RERUN_ON_CONTINUE)
    if is_raised:
        samples = samples.exclude(is_truncated=True)
    return list(samples.values_list("position", "attempt"))


def _is_same(old: Subject, new: ResolvedSubject) -> bool:
    """Whether it is the same model asked in the same way. A changed connection may lead to another model, and is another one."""
    if old.kind != new.kind or old.reasoning != new.reasoning:
        return False
    if new.route is not None:
        return old.route_id == new.route.pk
    if new.connection is not None:
        return (old.connection_id, old.connection_revision) == (new.connection.pk, new.connection.revision)
    if new.recorded is not None:
        return old.recorded_model_id == new.recorded.pk
    return (old.baseline, old.seed) == (new.baseline, new.seed)
