"""Reading what a lease works from: its subject, and the cells of its shard that have no sample yet."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any

from catalog.models import BenchmarkVersion, ModelRoute
from gateway.baselines import Baseline, make_baseline
from gateway.chat import CallError, Target
from gateway.enums import ErrorCode
from gateway.metering import FREE, Price
from gateway.models import Connection
from gateway.pricing import price_of
from gateway.recorded import RecordedText, read_answers
from gateway.targets import target_of_connection, target_of_route
from runs.engine.work import Grant, SubjectView
from runs.enums import SubjectKind, SubjectStatus
from runs.models import RunBenchmark, Sample, Shard, Subject
from runs.runners.builtin import BuiltinRunner, TaskSpec


@dataclass(slots=True)
class SubjectWork:
    """A subject with what answers for it: a target to call, a baseline, or a recording."""

    view: SubjectView
    runner: BuiltinRunner
    target: Target | None = None
    baseline: Baseline | None = None
    recorded_id: int | None = None
    """The recorded model whose answers it gives; they come with each lease."""
    owner: ModelRoute | Connection | None = None
    """Whose endpoint it is; what it was found to refuse is remembered there."""
    quirks: dict[str, Any] = field(default_factory=dict)

    @property
    def calls_nothing(self) -> bool:
        """Whether its answers are at hand, without a call."""
        return self.target is None


@lru_cache(maxsize=16)
def _runner(version_pk: int, _sha256: str) -> BuiltinRunner:
    return BuiltinRunner(BenchmarkVersion.objects.select_related("benchmark").get(pk=version_pk))


@lru_cache(maxsize=32)
def _ordinals(run_benchmark_pk: int, _task_list_sha256: str) -> list[int]:
    """The task ordinal of each position; frozen, so it may be kept."""
    return RunBenchmark.objects.get(pk=run_benchmark_pk).ordinals()


def load_subject(subject_id: int) -> SubjectWork:
    """The subject ready to be asked.

    Raises `CallError` for a managed route without its credential, and for a connection that is not the one that was quoted any more: a run
    never mixes the answers of two.
    """
    subject = Subject.objects.select_related("route", "rate", "connection", "run_benchmark__version").get(pk=subject_id)
    version = subject.run_benchmark.version
    view = SubjectView(
        pk=subject.pk,
        kind=subject.kind,
        label=subject.label,
        index=subject.index,
        output_limit=subject.output_limit,
        reasoning=subject.reasoning,
        price=_price(subject),
        baseline=subject.baseline,
        seed=subject.seed,
        is_waiting=subject.status == SubjectStatus.WAITING,
    )
    runner = _runner(version.pk, version.sha256)
    if subject.kind == SubjectKind.BASELINE:
        return SubjectWork(view, runner, baseline=make_baseline(subject.baseline, seed=subject.seed, version=runner.version))
    if subject.kind == SubjectKind.RECORDED:
        return SubjectWork(view, runner, recorded_id=subject.recorded_model_id)
    if subject.connection is not None:
        if subject.connection.deleted_at is not None or subject.connection.revision != subject.connection_revision:
            raise CallError(ErrorCode.CONNECTION_CHANGED, "The connection was changed or deleted after the start. Start a new run.")
        target = target_of_connection(subject.connection)
    else:
        assert subject.route is not None
        target = target_of_route(subject.route)
    return SubjectWork(view, runner, target=target, owner=subject.connection or subject.route, quirks=dict(target.quirks))


def _price(subject: Subject) -> Price:
    return FREE if subject.rate is None else price_of(subject.rate, Decimal(subject.fee_percent))


def load_pending(grant: Grant, runner: BuiltinRunner) -> deque[TaskSpec]:
    """The cells of the shard that are to be worked, in order: those without a sample, and not left as unknown."""
    shard = Shard.objects.select_related("subject__run_benchmark").get(pk=grant.shard_id)
    ordinals = _ordinals(shard.subject.run_benchmark_id, shard.subject.run_benchmark.task_list_sha256)
    done = set(
        Sample.objects.filter(subject_id=grant.subject_id, position__gte=grant.start, position__lt=grant.stop).values_list(
            "position", flat=True
        )
    )
    done.update(shard.unknown)
    wanted = {ordinals[position]: position for position in range(grant.start, grant.stop) if position not in done}
    return deque(runner.tasks(wanted)) if wanted else deque()


def load_answers(work: SubjectWork, pending: Iterable[TaskSpec]) -> dict[int, RecordedText]:
    """A recording's answers to the tasks, by the tasks' keys; empty for every other subject. A task without one is not among them."""
    return read_answers(work.recorded_id, [spec.task_pk for spec in pending]) if work.recorded_id is not None else {}
