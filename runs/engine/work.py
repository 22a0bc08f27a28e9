"""What the executor holds in memory: leases, their cells, and what goes to the store and comes back. No database here."""

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from catalog.graders import Verdict
from gateway.calls import CallRecord
from gateway.metering import Price
from gateway.recorded import RecordedText
from runs.engine.lane import CellLane
from runs.runners.builtin import TaskSpec


@dataclass(slots=True)
class Outcome:
    """A finished cell, on its way to the store."""

    spec: TaskSpec
    public_id: UUID
    status: str
    reserved: int = 0
    verdict: Verdict | None = None
    call: CallRecord | None = None
    error_code: str = ""
    is_empty: bool = False
    is_truncated: bool = False


@dataclass(slots=True)
class Stop:
    """Why a subject is stopped."""

    code: str
    message: str


@dataclass(slots=True)
class Batch:
    """What one lease hands to the store: finished cells, and what it wants next."""

    shard_id: int
    subject_id: int
    run_benchmark_id: int
    fence: int
    slots: int
    outcomes: list[Outcome]
    unknown: list[tuple[int, CallRecord]]
    """Cells whose call was cut off, with the record of it."""
    sent_through: int
    slice_kept: int
    """Reservations of attempts on their way: they stay in the slice."""
    slice_wanted: int
    slice_least: int
    """The least addition that lets the next attempt start; 0 where none is waiting."""
    is_last_ask: bool = False
    """Nothing is on its way and the cheapest attempt is first: where even that is refused, the shard is parked."""
    release: bool = False
    is_done: bool = False
    parked_need: int | None = None
    stop: Stop | None = None
    was_cut_off: bool = False
    """Calls were cut off whose outcome nobody will know, and whose cells will be worked again."""
    waiting_seconds: float | None = None
    """How long the subject has been waiting for its provider; None while it answers."""
    retry_in: float | None = None
    served_models: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(slots=True)
class Ack:
    """What the store says to a batch. `is_lost`: the lease is another's now, and nothing of the batch was written."""

    is_lost: bool = False
    granted: int = 0
    slots: int = 0
    subject_stopped: bool = False
    run_closing: bool = False
    """Cancel was asked for, the deadline passed, or the run ended: start nothing more."""
    is_cancelled: bool = False
    retry_in: float = 0.0


@dataclass(frozen=True, slots=True)
class Grant:
    """A lease as the store granted it."""

    run_id: int
    run_public_id: UUID
    workspace_id: int
    subject_id: int
    run_benchmark_id: int
    shard_id: int
    fence: int
    slots: int
    start: int
    stop: int
    sent_through: int
    attempts: int = 1
    slice_microusd: int = 0

    @property
    def work(self) -> tuple[int, int]:
        """The key of what the lease works from: its subject on its benchmark."""
        return self.subject_id, self.run_benchmark_id


@dataclass(frozen=True, slots=True)
class SubjectView:
    """What the executor knows of a subject on one benchmark, read once when the first lease of them comes."""

    pk: int
    kind: str
    label: str
    index: int
    output_limit: int
    reasoning: dict[str, Any]
    price: Price
    baseline: str
    seed: int
    is_waiting: bool = False
    """Whether it waited for its provider when it was read."""


@dataclass(eq=False, slots=True)
class Cell:
    """An attempt on its way."""

    spec: TaskSpec
    reserved: int
    public_id: UUID
    task: asyncio.Task[None] | None = None
    lane: CellLane | None = None
    keep_unknown: bool = False
    """Whether its call, when it is cut off, is recorded as of unknown outcome."""


@dataclass(eq=False, slots=True)
class Lease:
    """A shard that this process works. Money is in micro-USD, times are `time.monotonic()` seconds."""

    grant: Grant
    pending: deque[TaskSpec]
    slots: int
    sent_through: int
    answers: dict[int, RecordedText] = field(default_factory=dict)
    """Where the subject is a recording: its answers to what is pending, by the tasks' keys."""
    is_primed: bool = False
    """Whether the first write has given it a slice and a mark."""
    running: set[Cell] = field(default_factory=set)
    outcomes: list[Outcome] = field(default_factory=list)
    unknown: list[tuple[int, CallRecord]] = field(default_factory=list)
    slice_microusd: int = 0
    used_microusd: int = 0
    """Of the slice: reservations of attempts on their way, and of finished ones that are not written yet."""
    is_closing: bool = False
    """Start nothing more; release when what is on its way has ended."""
    is_dirty: bool = False
    """Something other than outcomes is to be written."""
    is_starved: bool = False
    """The last write could not add to the slice; what is pending is sorted, the cheapest first."""
    is_parked: bool = False
    """Even the last ask was refused."""
    stop: Stop | None = None
    was_cut_off: bool = False
    written_at: float = 0.0

    @property
    def free_microusd(self) -> int:
        return self.slice_microusd - self.used_microusd

    @property
    def is_idle(self) -> bool:
        return not (self.running or self.outcomes or self.unknown)
