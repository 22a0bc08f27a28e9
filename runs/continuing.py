"""Continuing: which cells of an ended run are kept, and which a new quote works again."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from common.errors import Conflict, Refused
from gateway.enums import RERUN_ON_CONTINUE
from gateway.models import Connection
from runs import queries
from runs.enums import RunStatus, SampleStatus, SubjectKind
from runs.models import Run, RunBenchmark, Sample, Shard, Subject
from runs.plans import Coverage, Part, Reuse
from runs.reusing import check_evidence, expires_document


@dataclass(frozen=True, slots=True)
class ContinueOptions:
    """What a person agrees to when they continue."""

    include_cancelled: bool = False
    retry_unknown: bool = False
    retry_unknown_max: int | None = None
    accept_duplicate_provider_charges: bool = False
    accept_left_out: bool = False


def check_continuable(run: Run) -> None:
    """Raise Conflict where the run cannot be continued: `run_not_ended`, `continuation_exists`, `nothing_to_continue`,
    `evidence_expired`, `recorded_model_archived`, `connection_changed`.
    """
    if not run.is_ended:
        raise Conflict("run_not_ended", "The run has not ended yet; wait for it, or cancel it first.")
    newest = queries.newest_continuation(run)
    if newest.pk != run.pk:
        raise Conflict(
            "continuation_exists",
            "This run was continued already; continue the newest run instead.",
            details={"run_id": str(newest.public_id)},
        )
    check_evidence(run)
    archived = Subject.objects.filter(run=run, recorded_model__archived_at__isnull=False).first()
    if archived is not None:
        raise Conflict(
            "recorded_model_archived",
            f"The recorded answers {archived.label!r} were archived since the run, so the rest of them is not to be had.",
        )
    for subject in Subject.objects.filter(run=run, kind=SubjectKind.CONNECTION).select_related("connection"):
        connection: Connection | None = subject.connection
        if connection is None or connection.deleted_at is not None or connection.revision != subject.connection_revision:
            raise Conflict(
                "connection_changed",
                f"The connection {subject.label!r} was changed or deleted since the run; its answers would not be alike. Start a new run.",
            )


def plan_reuse(run: Run, parts: Sequence[Part], options: ContinueOptions) -> Reuse:
    """Which cells are worked again. Raises Conflict `nothing_to_continue`, and Refused where the options do not agree to what it takes."""
    subjects = list(Subject.objects.filter(run=run).order_by("index"))
    finished: dict[int, set[int]] = {subject.pk: set() for subject in subjects}
    retried_errors = 0
    for subject_id, position, attempt, status, code in Sample.objects.filter(subject__run=run).values_list(
        "subject_id", "position", "attempt", "status", "error_code"
    ):
        if status == SampleStatus.ERROR and code in RERUN_ON_CONTINUE:
            retried_errors += 1
        else:
            finished[subject_id].add(position * run.attempts + attempt - 1)
    unknown = _unknown(subjects)
    left_out = _left_out(unknown, options)
    cells = range(sum(part.coverage.count for part in parts) * run.attempts)
    pending = [[cell for cell in cells if cell not in finished[subject.pk] and cell not in left_out[subject.pk]] for subject in subjects]
    rerun = sum(map(len, pending))
    omitted = sum(map(len, left_out.values()))
    if not rerun and not omitted:
        raise Conflict("nothing_to_continue", "Every task of this run is finished; there is nothing to continue.")
    if run.status == RunStatus.CANCELLED and not options.include_cancelled:
        raise Refused("cancelled_run", "A person cancelled this run. Say `include_cancelled` to continue it all the same.")
    if omitted and not options.accept_left_out:
        raise Refused(
            "unknown_outcomes_left_out",
            f"{omitted} calls were on their way when the run was cancelled, and may have been answered. Say `retry_unknown` to run "
            f"them again, or `accept_left_out`.",
            details={"unknown": omitted},
        )
    if not rerun:
        raise Conflict(
            "nothing_to_continue", "All that is unfinished are the calls of unknown outcome. Say `retry_unknown` to run them again."
        )
    _check_duplicates(subjects, unknown, left_out, options)
    reused = sum(map(len, finished.values()))
    document: dict[str, Any] = {
        "source_run": str(run.public_id),
        "reused": reused,
        "rerun": retried_errors,
        "pending": rerun - retried_errors,
        "left_out": [{"reason": "unknown_outcome", "count": omitted}] if omitted else [],
        "saved_response_cells": reused,
        "unknown_retry": sum(len(unknown[subject.pk] - left_out[subject.pk]) for subject in subjects),
        "evidence_expires_at": expires_document(run),
    }
    return Reuse(
        source=run,
        continues=True,
        pending=pending,
        left_out=[sorted(left_out[subject.pk]) for subject in subjects],
        sources=[subject.index for subject in subjects],
        document=document,
    )


def _unknown(subjects: Iterable[Subject]) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {subject.pk: set() for subject in subjects}
    for subject_id, cells in Shard.objects.filter(subject_id__in=found).exclude(unknown=[]).values_list("subject_id", "unknown"):
        found[subject_id].update(cells)
    return found


def _left_out(unknown: dict[int, set[int]], options: ContinueOptions) -> dict[int, set[int]]:
    """Cells of unknown outcome that are not to be run again. More than `retry_unknown_max` are refused, never trimmed."""
    if not options.retry_unknown:
        return unknown
    count = sum(map(len, unknown.values()))
    if options.retry_unknown_max is not None and count > options.retry_unknown_max:
        raise Refused(
            "too_many_unknown_outcomes",
            f"{count} calls of unknown outcome would run again, more than the {options.retry_unknown_max} you allow.",
            details={"unknown": count},
        )
    return {subject_id: set() for subject_id in unknown}


def _check_duplicates(
    subjects: list[Subject], unknown: dict[int, set[int]], left_out: dict[int, set[int]], options: ContinueOptions
) -> None:
    again = [subject.label for subject in subjects if subject.kind == SubjectKind.CONNECTION and unknown[subject.pk] - left_out[subject.pk]]
    if again and not options.accept_duplicate_provider_charges:
        raise Refused(
            "duplicate_provider_charges",
            f"Your provider may bill calls of {', '.join(again)} twice. Say `accept_duplicate_provider_charges` to run them again.",
        )


def parts_of(run: Run) -> list[Part]:
    """The benchmarks of a run with their frozen task lists, as a quote takes them."""
    benchmarks = RunBenchmark.objects.filter(run=run).select_related("version__benchmark").order_by("index")
    return [Part(each.version, _coverage_of(each), each.output_limit, each.first_position) for each in benchmarks]


def _coverage_of(benchmark: RunBenchmark) -> Coverage:
    ordinals = orjson.loads(benchmark.task_ordinals) if benchmark.task_ordinals else None
    return Coverage(benchmark.coverage, benchmark.task_count, ordinals, benchmark.task_list_sha256)


def pinned_request(run: Run) -> dict[str, Any]:
    """The run's own request with its benchmarks and models by ID: a name may mean another one by now."""
    named = ("benchmark", "model", "reasoning", "reuse_from")
    asked = run.quote.request_document
    request = {key: value for key, value in asked.items() if key not in named}
    request["selection"] = {"profile_ids": [each["profile_id"] for each in run.quote.plan_document["benchmarks"]]}
    if weights := (asked.get("selection") or {}).get("weights"):
        request["selection"]["weights"] = weights
    subjects = Subject.objects.filter(run=run).select_related("route", "connection", "recorded_model").order_by("index")
    request["subjects"] = [_pinned_subject(subject) for subject in subjects]
    return request


def _pinned_subject(subject: Subject) -> dict[str, Any]:
    if subject.route is not None:
        reference: dict[str, Any] = {"route_id": subject.route.route_id}
    elif subject.connection is not None:
        reference = {"connection_id": str(subject.connection.public_id)}
    elif subject.recorded_model is not None:
        return {"kind": subject.kind, "recorded_model_id": str(subject.recorded_model.public_id)}
    else:
        reference = {"name": subject.baseline, "seed": subject.seed}
    return {"kind": subject.kind, **reference, "reasoning": subject.reasoning}
