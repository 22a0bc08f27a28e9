"""Starting a quote: the run, its subjects and its shards, inside the transaction that claims the quote."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from itertools import groupby
from typing import Any

import orjson
from django.conf import settings
from django.utils import timezone

from catalog import queries as catalog
from catalog.enums import RouteState
from catalog.models import BenchmarkVersion, RouteRate
from common.canonical import canonical_json
from common.errors import Conflict, Refused
from common.ids import new_id
from gateway import queries as gateway
from gateway.models import Connection, RecordedModel
from runs.compatibility import route_refusal
from runs.engine.store import tally
from runs.enums import SubjectKind, SubjectStatus
from runs.events import append_events
from runs.models import Quote, Run, RunBenchmark, Sample, Shard, Subject
from runs.quoting import TERMS
from runs.resolving import check_quotable
from runs.reusing import moved_positions
from workspaces.actors import Actor

SHARD_TASKS = 500
SHARD_BYTES = 16 * 1024 * 1024
"""A shard is worked from memory: no more tasks than this many bytes of the version's longest prompt."""
COPY_ROWS = 1_000
_COPIED_COUNTS = ("processed", "graded", "correct", "errors", "inconclusive", "truncated", "unreadable", "empty")


@dataclass(frozen=True, slots=True)
class Startable:
    """What a quote is started with, still as quoted: the version of each benchmark, and each subject's rows."""

    versions: list[BenchmarkVersion]
    rows: list[dict[str, Any]]


def check_startable(quote: Quote, terms: dict[str, Any]) -> Startable:
    """Read what was quoted. Raises Conflict `incompatible_now` saying what changed."""
    if terms["schema"] != TERMS:
        raise Conflict("quote_expired", "The quote was made before an update of the service. Make a new one.")
    versions = [_version_of(quote, part) for part in terms["benchmarks"]]
    limits = [part["output_limit"] for part in terms["benchmarks"]]
    return Startable(versions, [_subject_rows(quote, subject, list(zip(versions, limits, strict=True))) for subject in terms["subjects"]])


def _version_of(quote: Quote, part: dict[str, Any]) -> BenchmarkVersion:
    try:
        version = catalog.get_version(quote.workspace, part["profile_id"])
        check_quotable(version)
    except BenchmarkVersion.DoesNotExist:
        raise _changed("benchmark_gone", f"{part['profile_id']} is no longer there.") from None
    except Refused as refusal:
        raise _changed(refusal.code, refusal.message) from None
    if version.sha256 != part["version_sha256"]:
        raise _changed("benchmark_changed", f"{version.profile_id} is not what was quoted.")
    return version


def _changed(reason: str, message: str) -> Conflict:
    return Conflict("incompatible_now", f"{message} Make a new quote.", details={"reason": reason})


def _subject_rows(quote: Quote, subject: dict[str, Any], asked: list[tuple[BenchmarkVersion, int]]) -> dict[str, Any]:
    """`asked` are the versions with their output limits."""
    rows: dict[str, Any] = {"route": None, "rate": None, "connection": None, "recorded_model": None}
    if subject["kind"] == SubjectKind.MANAGED:
        rows["rate"] = RouteRate.objects.select_related("route").get(public_id=subject["rate_id"])
        route = rows["route"] = rows["rate"].route
        if route.state != RouteState.ACTIVE or route.route_id != subject["route_id"]:
            raise _changed("route_unavailable", f"{subject['route_id']} takes no new runs now.")
        for version, output_limit in asked:
            refusal = route_refusal(version, route, output_limit=output_limit, reasoning=subject["reasoning"])
            if refusal is not None:
                raise _changed(refusal.code, refusal.message)
    elif subject["kind"] == SubjectKind.CONNECTION:
        try:
            connection = gateway.get_connection(quote.workspace, subject["connection_id"])
        except Connection.DoesNotExist:
            raise _changed("connection_gone", f"The connection {subject['label']!r} was deleted.") from None
        if connection.revision != subject["connection_revision"]:
            raise _changed("connection_changed", f"The connection {connection.name!r} was changed since the quote.")
        if connection.checked_at is None:
            raise _changed("connection_unchecked", f"The connection {connection.name!r} did not answer when it was last checked.")
        rows["connection"] = connection
    elif subject["kind"] == SubjectKind.RECORDED:
        try:
            recorded = gateway.get_recorded_model(quote.workspace, subject["recorded_model_id"])
        except RecordedModel.DoesNotExist:
            raise _changed("recorded_model_gone", f"The recorded answers {subject['label']!r} are no longer there.") from None
        if recorded.archived_at is not None:
            raise _changed("recorded_model_archived", f"The recorded answers {subject['label']!r} were archived.")
        rows["recorded_model"] = recorded
    return rows


def write_run(quote: Quote, *, actor: Actor, terms: dict[str, Any], startable: Startable) -> Run:
    """Insert the run with everything that it is worked from, and copy the finished answers that it takes over."""
    now = timezone.now()
    attempts: int = terms["attempts"]
    cells = sum(part["tasks"] for part in terms["benchmarks"]) * attempts
    run = Run.objects.create(
        workspace=quote.workspace,
        quote=quote,
        name=quote.name,
        created_by=actor.user,
        api_key=actor.api_key,
        metadata=terms["metadata"],
        attempts=attempts,
        planned=cells * len(startable.rows),
        continued_from=quote.source_run,
        created_at=now,
        deadline_at=now + timedelta(seconds=settings.RUN_DEADLINE_SECONDS),
    )
    benchmarks = RunBenchmark.objects.bulk_create(
        RunBenchmark(
            run=run,
            index=index,
            version=version,
            coverage=part["coverage"],
            task_ordinals="" if part["ordinals"] is None else canonical_json(part["ordinals"]),
            task_count=part["tasks"],
            task_list_sha256=part["task_list_sha256"],
            output_limit=part["output_limit"],
            first_position=part["first_position"],
        )
        for index, (version, part) in enumerate(zip(startable.versions, terms["benchmarks"], strict=True))
    )
    subjects = Subject.objects.bulk_create(
        Subject(
            run=run,
            index=index,
            label=subject["label"],
            kind=subject["kind"],
            **rows,
            connection_revision=subject["connection_revision"],
            baseline=subject["baseline"],
            seed=subject["seed"],
            reasoning=subject["reasoning"],
            concurrency=terms["concurrency"],
            fee_percent=Decimal(subject["fee_percent"]),
            planned=cells,
        )
        for index, (subject, rows) in enumerate(zip(terms["subjects"], startable.rows, strict=True))
    )
    reuse = terms["reuse"]
    if reuse is not None:
        assert quote.answers_from is not None
        _copy_finished(quote.answers_from, run, benchmarks, subjects, reuse)
    Shard.objects.bulk_create(_shards(run, benchmarks, subjects, reuse))
    append_events(
        run, ("run.queued", {"planned": run.planned, "subjects": [subject.label for subject in subjects], "reused": run.processed})
    )
    run.save(update_fields=["last_sequence", "processed", "errors"])
    return run


def _shards(run: Run, benchmarks: list[RunBenchmark], subjects: list[Subject], reuse: dict[str, Any] | None) -> Iterator[Shard]:
    """Each subject's cells in ranges of whole tasks of one benchmark, in order.

    Where answers are taken over, ranges without a cell to work or to keep as unknown are left out.
    """
    for benchmark in benchmarks:
        size = run.attempts * max(16, min(SHARD_TASKS // run.attempts, SHARD_BYTES // max(1, benchmark.version.longest_prompt_bytes)))
        first, last = (edge * run.attempts for edge in (benchmark.positions.start, benchmark.positions.stop))
        for subject in subjects:
            with_work: set[int] | None = None
            unknown: dict[int, list[int]] = {}
            if reuse is not None:

                def start_of(cell: int, first: int = first, size: int = size) -> int:
                    return cell - (cell - first) % size

                with_work = {start_of(cell) for cell in reuse["pending"][subject.index] if first <= cell < last}
                left_out = [cell for cell in reuse["left_out"][subject.index] if first <= cell < last]
                unknown = {start: list(group) for start, group in groupby(left_out, key=start_of)}
            for start in range(first, last, size) if with_work is None else sorted(with_work | unknown.keys()):
                yield Shard(
                    run=run,
                    run_benchmark=benchmark,
                    subject=subject,
                    start=start,
                    stop=min(last, start + size),
                    sent_through=start,
                    unknown=unknown.get(start, []),
                    is_done=with_work is not None and start not in with_work,
                )


def _copy_finished(source: Run, run: Run, benchmarks: list[RunBenchmark], subjects: list[Subject], reuse: dict[str, Any]) -> None:
    """Copy finished samples of the source: charge 0, the same verdict, and the content of where they were first answered.

    What was noticed of a subject meanwhile comes along, since the new result rests on those samples too.
    """
    olds = {subject.index: subject for subject in Subject.objects.filter(run=source)}
    for subject, index in zip(subjects, reuse["sources"], strict=True):
        if index is not None:
            subject.served_models, subject.notes = olds[index].served_models, olds[index].notes
    for old in RunBenchmark.objects.filter(run=source):
        benchmark = next((each for each in benchmarks if each.version_id == old.version_id), None)
        if benchmark is None:
            continue
        ordinals = benchmark.ordinals() if benchmark.task_ordinals else None
        moved = moved_positions(old, benchmark.version_id, ordinals, benchmark.first_position)
        for subject, index in zip(subjects, reuse["sources"], strict=True):
            if index is not None:
                _copy_samples(old, olds[index], benchmark, subject, moved, set(reuse["pending"][subject.index]), run.attempts)
    Subject.objects.bulk_update(subjects, [*_COPIED_COUNTS, "tallies", "served_models", "notes", "status"])
    run.processed = sum(subject.processed for subject in subjects)
    run.errors = sum(subject.errors for subject in subjects)


def _copy_samples(
    old: RunBenchmark,
    old_subject: Subject,
    benchmark: RunBenchmark,
    subject: Subject,
    moved: dict[int, int],
    redo: set[int],
    attempts: int,
) -> None:
    fresh: list[Sample] = []
    for sample in Sample.objects.filter(run_benchmark=old, subject=old_subject).order_by("id").iterator(COPY_ROWS):
        position = moved.get(sample.position)
        if position is None or sample.attempt > attempts or position * attempts + sample.attempt - 1 in redo:
            continue
        sample.origin_id = sample.origin_id or sample.pk
        sample.pk, sample.public_id = None, new_id()
        sample.position = position
        sample.usage_microusd = sample.fee_microusd = 0
        sample.run_benchmark, sample.subject = benchmark, subject
        fresh.append(sample)
        if len(fresh) == COPY_ROWS:
            _insert_copies(subject, fresh)
            fresh = []
    _insert_copies(subject, fresh)
    if subject.processed == subject.planned:
        subject.status = SubjectStatus.DONE


def _insert_copies(subject: Subject, samples: list[Sample]) -> None:
    Sample.objects.bulk_create(samples)
    tally(subject, samples)


def terms_of(quote: Quote) -> dict[str, Any]:
    """What the quote keeps for its start."""
    terms: dict[str, Any] = orjson.loads(quote.terms)
    return terms
