"""Finalizing: from stored samples to the frozen result, its comparison, the ledger entries and the end state, in one transaction.

Claimed by a conditional UPDATE, so two finalizers never work one run; a claim that outlives its finalizer is taken over.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import ExpressionWrapper, F, IntegerField, Q, QuerySet, Sum
from django.utils import timezone

from billing.budgets import Charge, close_budget
from catalog.queries import manifest_of
from common.canonical import canonical_json, freeze
from gateway.recorded import recorded_words
from runs.comparing import compare, inputs_of
from runs.engine.store import DUPLICATE_CHARGE
from runs.enums import InterruptionReason, Phase, RunStatus, SubjectKind, SubjectStatus
from runs.events import append_events
from runs.models import ResultVersion, Run, RunBenchmark, Sample, Subject
from runs.plans import benchmark_document
from runs.results import SAMPLE_COLUMNS, ResultInputs, Samples, SubjectInputs, Usage, build_results
from runs.signals import run_ended
from runs.strata import strata

log = structlog.get_logger(__name__)

CELLS_A_SECOND = 5_000
"""A claim lasts as a lease does, and a second more for so many cells: far longer than the result of them takes."""
FAILED_SHARE = 0.1
"""More errors than this share of a subject's planned cells make a finished run `failed`."""

_MESSAGES = {
    InterruptionReason.CAP_REACHED: (
        "The cap was reached before every task was worked. What is finished is kept; continue for the price of the rest."
    ),
    InterruptionReason.CREDIT_EXHAUSTED: "The workspace's credit ran out. What is finished is kept; add credit and continue.",
    InterruptionReason.LIMIT_REACHED: "A spending limit was reached. What is finished is kept; raise the limit and continue.",
    InterruptionReason.CANCELLED: "It was cancelled. What was finished is kept.",
    InterruptionReason.SUBJECT_STOPPED: "A model was stopped before it had answered every task. What is finished is kept.",
    InterruptionReason.TIME_LIMIT: "The time limit of a run was reached. What is finished is kept; continue for the rest.",
}


@dataclass(frozen=True, slots=True)
class RunParts:
    """A run with what its result is computed from."""

    run: Run
    subjects: list[Subject]
    benchmarks: list[RunBenchmark]


def finalize_run(run_id: int) -> ResultVersion | None:
    """Write the run's result and end it. Returns None where another does it or did it."""
    if not _claim(run_id):
        return None
    parts = read_run(run_id)
    status, interruption = _end_state(parts)
    # The result is computed outside the transaction: nothing about the run's samples changes any more.
    inputs = [result_inputs(parts, benchmark, status) for benchmark in parts.benchmarks]
    document, comparisons = build_results(inputs, weights_of(parts.run)), [compare(inputs_of(each)) for each in inputs]
    text, sha256 = freeze(document)
    with transaction.atomic():
        subjects = Subject.objects.filter(run=run_id)
        list(subjects.select_for_update().order_by("pk"))  # before the run, as everywhere
        run = Run.objects.select_for_update().get(pk=run_id)
        if run.phase != Phase.FINALIZING:
            return None
        subjects.filter(status__in=[SubjectStatus.RUNNING, SubjectStatus.WAITING]).update(status=SubjectStatus.DONE, waiting_since=None)
        result = ResultVersion.objects.create(run=run, number=1, document=text, sha256=sha256, comparison=canonical_json(comparisons))
        run.status, run.phase, run.interruption = status, Phase.DONE, interruption
        run.ended_at = timezone.now()
        run.content_expires_at = run.ended_at + timedelta(days=run.quote.retention_days)
        run.finalizing_until = None
        append_events(
            run,
            ("budget.settled", {"spend_microusd": str(run.spend_microusd)}),
            (f"run.{status}", {"interruption": interruption, "result_version": result.number, "sha256": sha256}),
        )
        run.save(update_fields=["status", "phase", "interruption", "ended_at", "content_expires_at", "finalizing_until", "last_sequence"])
        run_ended.send(Run, run=run, result=result)
        close_budget(run.budget_source, charges=[_charge(run, subject) for subject in parts.subjects])
    log.info("runs.finalized", run=str(run.public_id), status=status)
    return result


def _claim(run_id: int) -> bool:
    """Whether the run is this process's to finalize. A finalizer that dies delays the result by no more than a worker that dies."""
    now, planned = timezone.now(), Run.objects.values_list("planned", flat=True).get(pk=run_id)
    free = Q(finalizing_until__isnull=True) | Q(finalizing_until__lt=now)
    until = now + timedelta(seconds=settings.ENGINE_LEASE_SECONDS + planned / CELLS_A_SECOND)
    return bool(Run.objects.filter(free, pk=run_id, phase=Phase.FINALIZING).update(finalizing_until=until))


def _charge(run: Run, subject: Subject) -> Charge:
    return Charge(
        key=f"{run.budget_source}:{subject.index}",
        note=subject.label[:300],
        usage_microusd=subject.usage_microusd,
        fee_microusd=subject.fee_microusd,
    )


def read_run(run_id: int) -> RunParts:
    run = Run.objects.select_related("quote", "workspace").get(pk=run_id)
    benchmarks = list(RunBenchmark.objects.filter(run=run).select_related("version__benchmark").order_by("index"))
    subjects = list(Subject.objects.filter(run=run).select_related("route", "connection", "recorded_model").order_by("index"))
    return RunParts(run, subjects, benchmarks)


def weights_of(run: Run) -> list[float] | None:
    """The weights of the run's benchmarks in a composite score, where some were stated."""
    return run.quote.plan_document.get("weights")


def _end_state(parts: RunParts) -> tuple[RunStatus, dict[str, Any] | None]:
    """The status and the interruption of DESIGN §3. Unfinished cells decide first."""
    run = parts.run
    unfinished = run.planned - run.processed
    nothing_graded = all(subject.graded == 0 for subject in parts.subjects)
    all_stopped = all(subject.status == SubjectStatus.STOPPED for subject in parts.subjects)
    if not unfinished:
        too_many = any(subject.errors > FAILED_SHARE * subject.planned for subject in parts.subjects)
        return (RunStatus.FAILED if too_many else RunStatus.COMPLETED), None
    reason, _, limit = run.finalizing_reason.partition(":")
    reason = reason or InterruptionReason.SUBJECT_STOPPED
    message = _MESSAGES[InterruptionReason(reason)]
    stopped = [f"{subject.label}: {subject.stopped_message}" for subject in parts.subjects if subject.stopped_code]
    if reason == InterruptionReason.SUBJECT_STOPPED and stopped:
        message = " ".join(stopped)
    interruption = {"reason": str(reason), "limit": limit or None, "message": message, "unfinished": unfinished}
    if reason == InterruptionReason.CANCELLED:
        return RunStatus.CANCELLED, interruption
    if nothing_graded and all_stopped:
        return RunStatus.FAILED, interruption
    return RunStatus.PARTIAL, interruption


def result_inputs(
    parts: RunParts,
    benchmark: RunBenchmark,
    status: str,
    *,
    grading: int = 1,
    regraded: Mapping[int, Any] | None = None,
    graded_by: Mapping[str, str] | None = None,
) -> ResultInputs:
    """What the result on one benchmark is computed from. A later grading gives the rows that differ, by the key of their sample."""
    run = parts.run
    groups, clusters = strata(benchmark)
    return ResultInputs(
        run_id=str(run.public_id),
        version=1,
        status=str(status),
        benchmark=benchmark_document(benchmark.version),
        task_count=benchmark.task_count,
        population=benchmark.version.task_count,
        subjects=[_subject_inputs(subject, benchmark, regraded or {}) for subject in parts.subjects],
        grading=grading,
        attempts=run.attempts,
        groups=groups,
        clusters=clusters,
        output_limit=benchmark.output_limit,
        notices=_notices(parts, benchmark, grading, (graded_by or {}).get(str(benchmark.index), "")),
    )


def _subject_inputs(subject: Subject, benchmark: RunBenchmark, regraded: Mapping[int, Any]) -> SubjectInputs:
    samples = Sample.objects.filter(subject=subject, run_benchmark=benchmark)
    sums = samples.aggregate(
        input=Sum("input_tokens"),
        cached=Sum("cached_input_tokens"),
        output=Sum("output_tokens"),
        reasoning=Sum("reasoning_tokens"),
        estimated=Sum("estimated_calls"),
        usage=Sum("usage_microusd"),
        fee=Sum("fee_microusd"),
        reused_usage=Sum("origin__usage_microusd"),
        reused_fee=Sum("origin__fee_microusd"),
    )
    return SubjectInputs(
        index=subject.index,
        label=subject.label,
        benchmark_index=benchmark.index,
        samples=read_samples(samples, benchmark, regraded),
        usage=Usage(
            input_tokens=sums["input"] or 0,
            cached_input_tokens=sums["cached"] or 0,
            output_tokens=sums["output"] or 0,
            reasoning_tokens=sums["reasoning"] or 0,
            estimated_calls=sums["estimated"] or 0,
        ),
        usage_microusd=sums["usage"] or 0,
        fee_microusd=sums["fee"] or 0,
        stopped=subject.stopped_code,
        external_charges=subject.kind in {SubjectKind.CONNECTION, SubjectKind.RECORDED},
        kind=subject.kind,
        reused_microusd=(sums["reused_usage"] or 0) + (sums["reused_fee"] or 0),
    )


def read_samples(samples: QuerySet[Sample], benchmark: RunBenchmark, regraded: Mapping[int, Any]) -> Samples:
    """Samples of one subject on a benchmark as columns, with their tasks' places in it, and the verdicts of a later grading where given."""
    place = ExpressionWrapper(F("position") - benchmark.first_position, output_field=IntegerField())
    rows = samples.annotate(place=place)
    if not regraded:
        return Samples.of(rows.values_list("place", *SAMPLE_COLUMNS[1:]))
    score, unreadable = SAMPLE_COLUMNS.index("score"), SAMPLE_COLUMNS.index("is_unreadable")
    changed = []
    for key, *row in rows.values_list("pk", "place", *SAMPLE_COLUMNS[1:]):
        if key in regraded:
            row[score], row[unreadable] = regraded[key].score, regraded[key].is_unreadable
        changed.append(tuple(row))
    return Samples.of(changed)


def _notices(parts: RunParts, benchmark: RunBenchmark, grading: int = 1, graded_by: str = "") -> list[str]:
    """What a reader must know beside the figures: licence, rights, grader, comparability, and what happened on the way."""
    version, manifest = benchmark.version, manifest_of(benchmark.version)
    of = f" of {version.profile_id}" if len(parts.benchmarks) > 1 else ""
    notices = [f"Licence of the data{of}: {version.license}."]
    rights = manifest.get("rights")
    if rights:
        notices.append(str(rights.get("statement", "")))
    notices.append(f"Scored by an EvalRouter built-in grader. {manifest['delivery']['grader']}")
    notices.append(f"Comparable only with other runs of {version.profile_id}.")
    if benchmark.output_limit != version.max_output_tokens:
        notices.append(
            f"Answers{of} were cut at {benchmark.output_limit:,} tokens; the version's own limit is "
            f"{version.max_output_tokens:,}. Not comparable with runs at that limit."
        )
    if grading > 1:
        by = f", by the grader and references of {graded_by}" if graded_by != version.profile_id else ""
        notices.append(f"Grading {grading}: the same answers were graded again{by}. The result of the run itself is by grading 1.")
    reuse = parts.run.quote.plan_document.get("reuse")
    if reuse:
        notices.append(f"{reuse['reused']:,} answers were taken over from run {reuse['source_run']}, where they were charged.")
        if reuse["lower_limit"]:
            notices.append(f"Answers that a limit of {reuse['lower_limit']:,} tokens did not cut were kept as they were.")
    for subject in parts.subjects:
        notices.extend(_subject_notices(subject, benchmark))
    return [notice for notice in notices if notice]


_NOTE_WORDS: dict[str, Callable[[Subject, str], str]] = {
    "left_out": lambda subject, name: f"{subject.label}: the provider refused the parameter {name}, so it was left out.",
}


def _asked_model(subject: Subject) -> str:
    """The model's name as the endpoint was asked for it; empty where none was asked, and for a connection that was changed since."""
    if subject.route is not None:
        return subject.route.upstream_model
    if subject.connection is not None and subject.connection.revision == subject.connection_revision:
        return subject.connection.model
    return ""


def _subject_notices(subject: Subject, benchmark: RunBenchmark) -> list[str]:
    notices = []
    for note in subject.notes:
        kind, _, name = note.partition(":")
        notices.append(_NOTE_WORDS[kind](subject, name) if kind in _NOTE_WORDS else DUPLICATE_CHARGE if note == DUPLICATE_CHARGE else note)
    asked = _asked_model(subject)
    if len(subject.served_models) > 1:
        notices.append(f"{subject.label}: the provider served several models during the run: {', '.join(subject.served_models)}.")
    elif asked and subject.served_models and subject.served_models != [asked]:
        notices.append(f"{subject.label}: asked for {asked}, the provider answered as {subject.served_models[0]}.")
    if truncated := subject.tallies.get(str(benchmark.pk), {}).get("truncated", 0):
        cut = "1 answer was" if truncated == 1 else f"{truncated:,} answers were"
        notices.append(f"{subject.label}: {cut} cut at the output limit of {benchmark.output_limit:,} tokens.")
    if subject.kind == SubjectKind.BASELINE:
        notices.append(f"{subject.label} is a baseline, not a model: it answers without reading the question.")
    if subject.recorded_model is not None:
        notices.append(f"{subject.label}: {recorded_words(subject.recorded_model)}")
    return notices
