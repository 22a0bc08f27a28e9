"""What the comparison's pages, API and files read. The run comes first, and was found through a workspace or a person's memberships.

No query here reads a prompt, an answer or what was read from one: of samples only status and score.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.core.cache import cache

from catalog.models import Task
from common.pages import read_cursor, write_cursor
from common.searching import holds
from runs import queries
from runs.comparison.tables import Comparison, compare_tables
from runs.comparison.verdicts import SHOWN, Mask, Verdicts, page_of_places
from runs.documents import comparisons_of, result_document
from runs.models import ResultVersion, Run, RunBenchmark, Sample

KEEP_VERDICTS = 24 * 60 * 60
"""Seconds that an ended run's verdicts are kept, packed: of 12,000 tasks and eight models about 20 KB."""


def comparison_of(run: Run, profile_id: str = "") -> Comparison:
    """The frozen comparison of a run's models on one of its benchmark versions, the first without a name, and its tables.

    Raises `ResultVersion.DoesNotExist` before the run's end and `RunBenchmark.DoesNotExist` for a version that it has not.
    """
    frozen = queries.get_result(run)
    result = result_document(frozen)
    profile_ids = [benchmark["profile_id"] for benchmark in result["benchmarks"]]
    if profile_id and profile_id not in profile_ids:
        raise RunBenchmark.DoesNotExist
    index = profile_ids.index(profile_id) if profile_id else 0
    document = _frozen_comparison(frozen, profile_ids[index])
    own = {**result, "subjects": [subject for subject in result["subjects"] if subject.get("benchmark_index", 0) == index]}
    return Comparison(
        profile_id=profile_ids[index],
        benchmark=result["benchmarks"][index],
        benchmark_index=index,
        profile_ids=tuple(profile_ids),
        document=document,
        result=own,
        tables=compare_tables(own, document),
    )


def _frozen_comparison(frozen: ResultVersion, profile_id: str) -> dict[str, Any]:
    found = next((each for each in comparisons_of(frozen) if each["profile_id"] == profile_id), None)
    if found is None:
        raise RunBenchmark.DoesNotExist
    return found


def run_benchmark(run: Run, profile_id: str = "") -> RunBenchmark:
    """The run's benchmark of this version, its first without a name. Raises `RunBenchmark.DoesNotExist`."""
    for benchmark in run.benchmarks.all():
        if not profile_id or benchmark.version.profile_id == profile_id:
            return benchmark
    raise RunBenchmark.DoesNotExist


def verdicts_of(run: Run, benchmark: RunBenchmark) -> Verdicts:
    """What each subject made of each task. One query, over the samples of one benchmark; an ended run's are kept."""
    subjects = [(subject.pk, subject.index) for subject in run.subjects.all()]
    key = f"verdicts:{benchmark.pk}:{run.processed}"
    packed = cache.get(key) if run.is_ended else None
    if packed is not None:
        return _unpacked(tuple(index for _, index in subjects), packed)
    first = benchmark.first_position
    samples = (
        Sample.objects.filter(run_benchmark=benchmark, position__gte=first, position__lt=first + benchmark.task_count)
        .order_by()
        .values_list("subject_id", "position", "status", "score")
    )
    verdicts = Verdicts.of(subjects, samples.iterator(chunk_size=10_000), first=first, tasks=benchmark.task_count, k=run.attempts)
    if run.is_ended:
        cache.set(key, _packed(verdicts), KEEP_VERDICTS)
    return verdicts


def _packed(verdicts: Verdicts) -> tuple[tuple[int, ...], bytes, bytes]:
    return (
        verdicts.values.shape,
        zlib.compress(verdicts.values.tobytes(), level=1),
        zlib.compress(np.packbits(verdicts.has_error).tobytes(), level=1),
    )


def _unpacked(subjects: tuple[int, ...], packed: tuple[tuple[int, int], bytes, bytes]) -> Verdicts:
    shape, values, errors = packed
    size = shape[0] * shape[1]
    return Verdicts(
        subjects,
        np.frombuffer(zlib.decompress(values), dtype=np.float32).reshape(shape),
        np.unpackbits(np.frombuffer(zlib.decompress(errors), dtype=np.uint8), count=size).astype(bool).reshape(shape),
    )


@dataclass(frozen=True, slots=True)
class Asked:
    """Which disagreements are asked for. `a` and `b` are subject indexes, `group` and `q` narrow the tasks."""

    show: str = "any"
    a: int = 0
    b: int = 1
    group: str = ""
    q: str = ""


@dataclass(frozen=True, slots=True)
class Disagreements:
    """A page of the tasks that were asked for, and how many there are of each kind under the same group and text."""

    rows: list[dict[str, Any]]
    next_cursor: str | None
    counts: Mapping[str, int]


def disagreements(run: Run, benchmark: RunBenchmark, asked: Asked, *, cursor: str | None = None, limit: int = 50) -> Disagreements:
    """One page, in the order of the benchmark's list. A constant number of queries.

    Raises ValueError for an `a` or `b` that is no subject, and Refused (`validation_error`) for a cursor of another list.
    """
    verdicts = verdicts_of(run, benchmark)
    ordinals = benchmark.ordinals()
    within = _narrowed(benchmark, ordinals, asked)
    shown = {show: verdicts.shown(show, asked.a, asked.b) & within for show in SHOWN}
    first = benchmark.first_position
    after = int(read_cursor(Sample, "position", cursor)) - first if cursor else None
    places, last = page_of_places(np.flatnonzero(shown[asked.show]), after, limit)
    tasks = tasks_at(benchmark, [place + first for place in places])
    rows = [_row(verdicts, place, first, tasks[place + first]) for place in places]
    counts = {show: int(np.count_nonzero(mask)) for show, mask in shown.items()}
    return Disagreements(rows, None if last is None else write_cursor(Sample, "position", last + first), counts)


def tasks_at(benchmark: RunBenchmark, positions: Sequence[int]) -> dict[int, Task]:
    """The tasks at these positions of the run, by position, without their contents. One query."""
    ordinals, first = benchmark.ordinals(), benchmark.first_position
    wanted = {ordinals[position - first]: position for position in positions}
    tasks = Task.objects.filter(version=benchmark.version_id, ordinal__in=wanted).defer("metadata")
    return {wanted[task.ordinal]: task for task in tasks}


def _narrowed(benchmark: RunBenchmark, ordinals: list[int], asked: Asked) -> Mask:
    """Where the tasks of the group are whose ID holds the text."""
    if not asked.group and not asked.q:
        return np.ones(len(ordinals), dtype=bool)
    tasks = Task.objects.filter(version=benchmark.version_id)
    if asked.group:
        tasks = tasks.filter(group=asked.group)
    if asked.q:
        tasks = tasks.filter(holds(asked.q, "task_id"))
    return np.isin(np.asarray(ordinals), list(tasks.values_list("ordinal", flat=True)))


def _row(verdicts: Verdicts, place: int, first: int, task: Task) -> dict[str, Any]:
    return {
        "position": place + first,
        "task_id": task.task_id,
        "ordinal": task.ordinal,
        "group": task.group or None,
        "answers": [{"subject_index": index, **verdicts.cell(row, place)} for row, index in enumerate(verdicts.subjects)],
    }


def groups_of(benchmark: RunBenchmark) -> list[str]:
    """Names of the groups of the version's tasks, for a filter."""
    if not benchmark.version.has_groups:
        return []
    groups = Task.objects.filter(version=benchmark.version_id).exclude(group="").order_by("group")
    return list(groups.values_list("group", flat=True).distinct()[:200])
