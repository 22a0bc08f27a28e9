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
    """A subject on one benchmark, with what answers for it: a target to call, a baseline, or a recording."""

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
    """The task ordinal of each of its positions; frozen, so it may be kept."""
    return RunBenchmark.objects.get(pk=run_benchmark_pk).ordinals()


def load_subject(subject_id: int, run_benchmark_id: int) -> SubjectWork:
    """The subject ready to be asked the tasks of the benchmark.

    Raises `CallError` for a managed route without its credential, and for a connection that is not the one that was quoted any more: a run
    never mixes the answers of two.
    """
    subject = Subject.objects.select_related("route", "rate", "connection").get(pk=subject_id)
    benchmark = RunBenchmark.objects.select_related("version").get(pk=run_benchmark_id)
    version = benchmark.version
    view = SubjectView(
        pk=subject.pk,
        kind=subject.kind,
        label=subject.label,
        index=subject.index,
        output_limit=benchmark.output_limit,
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
    shard = Shard.objects.select_related("run_benchmark").get(pk=grant.shard_id)
    benchmark, attempts = shard.run_benchmark, grant.attempts
    ordinals = _ordinals(benchmark.pk, benchmark.task_list_sha256)
    tasks = range(grant.start // attempts, grant.stop // attempts)
    samples = Sample.objects.filter(subject_id=grant.subject_id, position__gte=tasks.start, position__lt=tasks.stop)
    done = {position * attempts + attempt - 1 for position, attempt in samples.values_list("position", "attempt")}
    done.update(shard.unknown)
    open_tasks = {cell // attempts for cell in range(grant.start, grant.stop) if cell not in done}
    found = runner.tasks({ordinals[position - benchmark.first_position]: position for position in open_tasks}) if open_tasks else []
    specs = (spec.at_attempt(attempt, attempts) for spec in found for attempt in range(1, attempts + 1))
    return deque(spec for spec in specs if spec.cell not in done)


def load_answers(work: SubjectWork, pending: Iterable[TaskSpec]) -> dict[int, RecordedText]:
    """A recording's answers to the tasks, by the tasks' keys; empty for every other subject. A task without one is not among them."""
    return read_answers(work.recorded_id, [spec.task_pk for spec in pending]) if work.recorded_id is not None else {}
