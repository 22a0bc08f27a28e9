"""Starting a quote: the run, its subjects and its shards, inside the transaction that claims the quote."""

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from itertools import groupby
from typing import Any

import orjson
from django.conf import settings
from django.db.models import Count, Q
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
from runs.enums import SubjectKind, SubjectStatus
from runs.events import append_events
from runs.models import Quote, Run, RunBenchmark, Sample, Shard, Subject
from runs.resolving import check_quotable
from workspaces.actors import Actor

SHARD_TASKS = 500
SHARD_BYTES = 16 * 1024 * 1024
"""A shard is worked from memory: no more tasks than this many bytes of the version's longest prompt."""
COPY_ROWS = 1_000
_COPIED_COUNTS = ("processed", "graded", "correct", "errors", "inconclusive", "truncated", "unreadable", "empty")


def check_startable(quote: Quote, terms: dict[str, Any]) -> tuple[BenchmarkVersion, list[dict[str, Any]]]:
    """The version and the subjects' rows, all still as quoted. Raises Conflict `incompatible_now` saying what changed."""
    try:
        version = catalog.get_version(quote.workspace, terms["profile_id"])
        check_quotable(version)
    except BenchmarkVersion.DoesNotExist:
        raise _changed("benchmark_gone", f"{terms['profile_id']} is no longer there.") from None
    except Refused as refusal:
        raise _changed(refusal.code, refusal.message) from None
    if version.sha256 != terms["version_sha256"]:
        raise _changed("benchmark_changed", f"{version.profile_id} is not what was quoted.")
    return version, [_subject_rows(quote, subject, version, terms["output_limit"]) for subject in terms["subjects"]]


def _changed(reason: str, message: str) -> Conflict:
    return Conflict("incompatible_now", f"{message} Make a new quote.", details={"reason": reason})


def _subject_rows(quote: Quote, subject: dict[str, Any], version: BenchmarkVersion, output_limit: int) -> dict[str, Any]:
    rows: dict[str, Any] = {"route": None, "rate": None, "connection": None, "recorded_model": None}
    if subject["kind"] == SubjectKind.MANAGED:
        rows["rate"] = RouteRate.objects.select_related("route").get(public_id=subject["rate_id"])
        route = rows["route"] = rows["rate"].route
        if route.state != RouteState.ACTIVE or route.route_id != subject["route_id"]:
            raise _changed("route_unavailable", f"{subject['route_id']} takes no new runs now.")
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


def write_run(quote: Quote, *, actor: Actor, terms: dict[str, Any], version: BenchmarkVersion, rows: list[dict[str, Any]]) -> Run:
    """Insert the run with everything that it is worked from, and copy what a continuation reuses."""
    now = timezone.now()
    tasks: int = terms["tasks"]
    run = Run.objects.create(
        workspace=quote.workspace,
        quote=quote,
        name=quote.name,
        created_by=actor.user,
        api_key=actor.api_key,
        metadata=terms["metadata"],
        planned=tasks * len(rows),
        continued_from=quote.source_run,
        created_at=now,
        deadline_at=now + timedelta(seconds=settings.RUN_DEADLINE_SECONDS),
    )
    benchmark = RunBenchmark.objects.create(
        run=run,
        version=version,
        coverage=terms["coverage"],
        task_ordinals="" if terms["ordinals"] is None else canonical_json(terms["ordinals"]),
        task_count=tasks,
        task_list_sha256=terms["task_list_sha256"],
        output_limit=terms["output_limit"],
    )
    subjects = Subject.objects.bulk_create(
        Subject(
            run=run,
            run_benchmark=benchmark,
            index=index,
            label=subject["label"],
            kind=subject["kind"],
            **rows[index],
            connection_revision=subject["connection_revision"],
            baseline=subject["baseline"],
            seed=subject["seed"],
            reasoning=subject["reasoning"],
            output_limit=terms["output_limit"],
            concurrency=terms["concurrency"],
            fee_percent=Decimal(subject["fee_percent"]),
            planned=tasks,
        )
        for index, subject in enumerate(terms["subjects"])
    )
    if quote.source_run is not None:
        _copy_finished(quote.source_run, run, benchmark, subjects, terms["pending"])
    Shard.objects.bulk_create(_shards(run, subjects, version, terms))
    append_events(
        run, ("run.queued", {"planned": run.planned, "subjects": [subject.label for subject in subjects], "reused": run.processed})
    )
    run.save(update_fields=["last_sequence", "processed", "errors"])
    return run


def _shards(run: Run, subjects: list[Subject], version: BenchmarkVersion, terms: dict[str, Any]) -> Iterator[Shard]:
    """Each subject's positions in ranges, in order. A continuation leaves out those without a cell to work or to keep as unknown."""
    tasks: int = terms["tasks"]
    size = max(16, min(SHARD_TASKS, SHARD_BYTES // max(1, version.longest_prompt_bytes)))
    for index, subject in enumerate(subjects):
        if terms["pending"] is None:
            starts, with_work, unknown = set(range(0, tasks, size)), None, {}
        else:
            with_work = {position - position % size for position in terms["pending"][index]}
            unknown = {
                start: list(group) for start, group in groupby(terms["left_out"][index], key=lambda position: position - position % size)
            }
            starts = with_work | unknown.keys()
        for start in sorted(starts):
            yield Shard(
                run=run,
                subject=subject,
                start=start,
                stop=min(tasks, start + size),
                sent_through=start,
                unknown=unknown.get(start, []),
                is_done=with_work is not None and start not in with_work,
            )


def _copy_finished(source: Run, run: Run, benchmark: RunBenchmark, subjects: list[Subject], pending: list[list[int]]) -> None:
    """Copy the finished samples of the source: charge 0, the same verdict, and the content of where they were first answered.

    What was noticed of a subject meanwhile comes along, since the new result rests on those samples too.
    """
    by_index = {subject.index: subject for subject in subjects}
    for index, served_models, notes in Subject.objects.filter(run=source).values_list("index", "served_models", "notes"):
        by_index[index].served_models, by_index[index].notes = served_models, notes
    redo = [set(positions) for positions in pending]
    fresh: list[Sample] = []
    for sample in Sample.objects.filter(run_benchmark__run=source).select_related("subject").order_by("id").iterator(COPY_ROWS):
        index = sample.subject.index
        if sample.position in redo[index]:
            continue
        sample.origin_id = sample.origin_id or sample.pk
        sample.pk, sample.public_id = None, new_id()
        sample.usage_microusd = sample.fee_microusd = 0
        sample.run_benchmark, sample.subject = benchmark, by_index[index]
        fresh.append(sample)
        if len(fresh) == COPY_ROWS:
            Sample.objects.bulk_create(fresh)
            fresh = []
    Sample.objects.bulk_create(fresh)
    _count_copied(run, subjects)


def _count_copied(run: Run, subjects: list[Subject]) -> None:
    counted = {
        row["subject_id"]: dict(row)
        for row in Sample.objects.filter(subject__in=subjects)
        .values("subject_id")
        .annotate(
            processed=Count("id"),
            graded=Count("id", filter=Q(status="graded")),
            correct=Count("id", filter=Q(correct=True)),
            errors=Count("id", filter=Q(status="error")),
            inconclusive=Count("id", filter=Q(status="inconclusive")),
            truncated=Count("id", filter=Q(is_truncated=True)),
            unreadable=Count("id", filter=Q(is_unreadable=True)),
            empty=Count("id", filter=Q(is_empty=True)),
        )
        .order_by()
    }
    for subject in subjects:
        for name in _COPIED_COUNTS:
            setattr(subject, name, counted.get(subject.pk, {}).get(name, 0))
        if subject.processed == subject.planned:
            subject.status = SubjectStatus.DONE
    Subject.objects.bulk_update(subjects, [*_COPIED_COUNTS, "served_models", "notes", "status"])
    run.processed = sum(subject.processed for subject in subjects)
    run.errors = sum(subject.errors for subject in subjects)


def terms_of(quote: Quote) -> dict[str, Any]:
    """What the quote keeps for its start."""
    terms: dict[str, Any] = orjson.loads(quote.terms)
    return terms
