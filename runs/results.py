"""The figures of a finished run, in the shape of the API's results. Pure: finalizing reads the database and freezes what comes back."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from runs.statistics import ACCURACY, Metric

SAMPLE_COLUMNS = ("position", "status", "score", "error_code", "is_empty", "is_truncated", "is_unreadable", "latency_ms")
"""The columns of `Sample` that `Samples.of` takes, in its order."""


@dataclass(frozen=True, slots=True)
class Samples:
    """One subject's samples as parallel columns, in any order. Columns, because a run may hold 100,000 of them a subject."""

    position: Sequence[int] = ()
    status: Sequence[str] = ()
    score: Sequence[float | None] = ()
    error_code: Sequence[str] = ()
    is_empty: Sequence[bool] = ()
    is_truncated: Sequence[bool] = ()
    is_unreadable: Sequence[bool] = ()
    latency_ms: Sequence[int] = ()

    @classmethod
    def of(cls, rows: Iterable[tuple[Any, ...]]) -> Self:
        """The samples of rows of `SAMPLE_COLUMNS`, as `values_list(*SAMPLE_COLUMNS)` gives them."""
        return cls(*zip(*rows, strict=True))


@dataclass(frozen=True, slots=True)
class Usage:
    """Sums over a subject's samples."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    estimated_calls: int = 0


@dataclass(frozen=True, slots=True)
class SubjectInputs:
    """What a run keeps about one subject."""

    index: int
    label: str
    samples: Samples
    usage: Usage = Usage()
    usage_microusd: int = 0
    fee_microusd: int = 0
    stopped: str = ""
    """The code it was stopped with; empty where it was not."""
    external_charges: bool = False
    """True for connections: what they cost is not known here, so they are never called the cheapest."""
    benchmark_index: int = 0


@dataclass(frozen=True, slots=True)
class ResultInputs:
    """A finished run on one benchmark version. `groups` and `clusters` are those of the planned tasks, by position; empty: there are none."""

    run_id: str
    version: int
    status: str
    benchmark: Mapping[str, Any]
    task_count: int
    """Planned tasks."""
    population: int
    """Tasks of the whole version."""
    subjects: Sequence[SubjectInputs]
    metric: Metric = ACCURACY
    attempts: int = 1
    groups: Sequence[str] = ()
    clusters: Sequence[str] = ()
    excluded: Collection[int] = ()
    """Positions that were planned and left out by agreement."""
    output_format: str = "default"
    grading: int = 1
    billing_state: str = "settled"
    notices: Sequence[str] = ()
    seed: int = 0
    """Of the bootstrap."""
    profile_id: str = ""
    benchmarks: Sequence[Mapping[str, Any]] = field(default=())
    """All versions of the run; empty: `benchmark` alone."""
