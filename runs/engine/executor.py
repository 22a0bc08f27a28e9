"""The loop of one worker child: it pulls leases, keeps their slots full, and commits whatever has finished, again and again.

Calls run on the event loop; every transaction runs in the task's own thread, one after another, so a write never stops the calls.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from uuid import uuid4

import structlog
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connections
from django.utils import timezone

from common.ids import new_id
from gateway.actions import remember_quirks
from gateway.chat import CallError
from gateway.client import ChatClient
from runs.engine.attempts import answer_at_once, attempt, give_back
from runs.engine.granting import Candidate, candidates, take_lease, workspaces_in_turn
from runs.engine.handing import collect, take_back
from runs.engine.lane import CellLane, Lane
from runs.engine.loading import SubjectWork, load_answers, load_pending, load_subject
from runs.engine.store import exchange
from runs.engine.work import Ack, Batch, Cell, Grant, Lease, Stop

log = structlog.get_logger(__name__)

WRITE_PAUSE = 0.05
"""Seconds between two writes at the least: what finishes meanwhile is written together."""
WAIT_SECONDS = 0.2
"""How long the loop waits at the most for something to finish."""
PULL_PAUSE = 0.25
IDLE_SECONDS = 0.5
LIFETIME_SECONDS = 600.0
GRACE_SECONDS = 60.0
"""How long calls on their way may take to end after a cancel."""
SHUTDOWN_SECONDS = 5.0
FAILED_WRITE_PAUSE = 1.0


class Executor:
    """Works leases of any run until there is none, its lifetime is over, or `should_stop` says so."""

    def __init__(self, *, should_stop: Callable[[], bool] = lambda: False, slots: int | None = None) -> None:
        self.owner = uuid4().hex
        self.total_slots = slots or settings.ENGINE_SLOTS
        self.leases: dict[int, Lease] = {}
        self.lanes: dict[int, Lane] = {}
        self.works: dict[tuple[int, int], SubjectWork] = {}
        """What leases are worked from, by subject and benchmark."""
        self.last_served: dict[int, float] = {}
        self._should_stop = should_stop
        self._woken = asyncio.Event()
        self._pulled_at = 0.0
        self._busy_at = time.monotonic()
        self._closing_since: dict[int, float] = {}
        self._write_after: dict[int, float] = {}
        """When a run whose write failed is written again."""

    async def run(self) -> int:
        """Work until there is nothing left. Returns how many leases were worked."""
        started, worked = time.monotonic(), 0
        async with ChatClient(limit=self.total_slots) as self.client:
            while True:
                stopping, is_old = self._should_stop(), time.monotonic() - started > LIFETIME_SECONDS
                if stopping:
                    self._shut_down()
                elif is_old:
                    self._retire()
                else:
                    worked += await self._pull()
                for lease in list(self.leases.values()):
                    self._pump(lease)
                self._cut_off_overdue()
                await self._exchange()
                if not self.leases and (stopping or is_old or time.monotonic() - self._busy_at > IDLE_SECONDS):
                    return worked
                await self._wait()

    async def _wait(self) -> None:
        try:
            await asyncio.wait_for(self._woken.wait(), timeout=WAIT_SECONDS)
        except TimeoutError:
            return
        self._woken.clear()
        await asyncio.sleep(WRITE_PAUSE)

    # Leases

    @property
    def free_slots(self) -> int:
        return self.total_slots - sum(lease.slots for lease in self.leases.values())

    def _is_hungry(self, subject_id: int) -> bool:
        """Whether the subject's leases here will soon leave slots empty. One that gives way is not: its slots are for others."""
        leases = self._leases_of(subject_id)
        if self.lanes[subject_id].closing or any(lease.is_closing for lease in leases):
            return False
        return sum(len(lease.pending) for lease in leases) < self.lanes[subject_id].slots

    async def _pull(self) -> int:
        """Lease shards where slots are free or a subject's work runs out. Returns how many."""
        try:
            return await self._lease_more()
        except DatabaseError:
            log.exception("engine.pull_failed")
            self._pulled_at = time.monotonic() + FAILED_WRITE_PAUSE
            await self._after_database_error()
            return 0

    async def _lease_more(self) -> int:
        now = time.monotonic()
        hungry = {subject_id for subject_id in self.lanes if self._is_hungry(subject_id)}
        if now - self._pulled_at < PULL_PAUSE or (self.free_slots <= 0 and not hungry and not self._has_had_its_turn(now)):
            return 0
        self._pulled_at = now
        found = await sync_to_async(candidates)(timezone.now(), held=hungry)
        if self.free_slots <= 0:
            self._make_room(found, now)
        wanted = [each for each in found if each.subject_id in hungry or (each.subject_id not in self.lanes and self.free_slots > 0)]
        share = max(1, self.free_slots // max(1, len({each.subject_id for each in wanted if each.subject_id not in self.lanes})))
        taken = 0
        for candidate in workspaces_in_turn(wanted, self.last_served):
            taken += await self._take(candidate, share)
        return taken

    async def _take(self, candidate: Candidate, share: int) -> int:
        holds = candidate.subject_id in self.lanes
        if holds and not self._is_hungry(candidate.subject_id):
            return 0
        if not holds and self.free_slots <= 0:
            return 0
        grant = await sync_to_async(take_lease)(self.owner, candidate, slots=max(0, min(share, self.free_slots)), holds_subject=holds)
        if grant is None:
            return 0
        self.last_served[grant.workspace_id] = self._busy_at = time.monotonic()
        await self._open(grant)
        return 1

    async def _open(self, grant: Grant) -> None:
        """Load what the lease works from. A subject that cannot be asked at all is stopped with the reason."""
        lease = Lease(grant, deque(), grant.slots, grant.sent_through)
        try:
            if grant.work not in self.works:
                self.works[grant.work] = await sync_to_async(load_subject)(*grant.work)
            work = self.works[grant.work]
            lease.pending = await sync_to_async(load_pending)(grant, work.runner)
            lease.answers = await sync_to_async(load_answers)(work, lease.pending) if work.recorded_id is not None else {}
        except DatabaseError:
            log.exception("engine.load_failed", run=str(grant.run_public_id), shard=grant.shard_id)
            lease.is_closing = True  # given back, and read again by who takes it next
            await self._after_database_error()
        except CallError as error:
            lease.stop = Stop(error.code.value, error.message)
        except Exception:
            log.exception("engine.load_failed", run=str(grant.run_public_id), shard=grant.shard_id)
            lease.stop = Stop("internal_error", "The model or its tasks could not be made ready. This is our mistake.")
        lease.is_closing = lease.is_closing or lease.stop is not None
        self.leases[grant.shard_id] = lease
        if grant.subject_id not in self.lanes:
            is_waiting = grant.work in self.works and self.works[grant.work].view.is_waiting
            self.lanes[grant.subject_id] = Lane(0, on_room=self._woken.set, waiting=is_waiting)
        self.lanes[grant.subject_id].resize(self._slots_of(grant.subject_id))

    def _slots_of(self, subject_id: int) -> int:
        return sum(lease.slots for lease in self._leases_of(subject_id))

    def _has_had_its_turn(self, now: float) -> bool:
        return any(now - lane.opened_at > settings.ENGINE_TURN_SECONDS for lane in self.lanes.values())

    def _make_room(self, waiting: list[Candidate], now: float) -> None:
        """When every slot is taken and another workspace waits, give back the subjects that have had their turn.

        All leases of such a subject, since they pass their slots on to each other: a turn is how long a subject has had slots here, however
        young its leases are.
        """
        here = {lease.grant.workspace_id for lease in self.leases.values()}
        if not any(candidate.workspace_id not in here for candidate in waiting):
            return
        for lease in self.leases.values():
            if now - self.lanes[lease.grant.subject_id].opened_at > settings.ENGINE_TURN_SECONDS:
                lease.is_closing = True

    # Cells

    def _pump(self, lease: Lease) -> None:
        """Start what may be started: inside the lane's room, the mark and the slice."""
        subject_id = lease.grant.subject_id
        lane = self.lanes[subject_id]
        if lease.is_closing or lane.closing or not lease.is_primed:
            return
        work = self.works[lease.grant.work]
        if work.calls_nothing:
            if answer_at_once(lease, work):
                self._woken.set()
            return
        room = lane.room()
        if lane.probing and not lane.closing and not any(other.running for other in self._leases_of(subject_id)):
            room = 1  # somebody must make the probe
        while room > 0 and lease.pending and lease.pending[0].cell < lease.sent_through:
            reserved = work.runner.worst_case(lease.pending[0], work.view.output_limit, work.view.price)
            if reserved > lease.free_microusd:
                if not lease.is_starved:
                    lease.is_dirty = True
                    self._woken.set()
                break
            self._start(lease, work, lane, reserved)
            room -= 1

    def _start(self, lease: Lease, work: SubjectWork, lane: Lane, reserved: int) -> None:
        cell = Cell(lease.pending.popleft(), reserved, new_id(), lane=CellLane(lane))
        lease.used_microusd += reserved
        lease.running.add(cell)
        cell.task = asyncio.create_task(self._attempt(lease, work, cell))
        cell.task.add_done_callback(lambda _: self._note_ended(lease, cell))

    async def _attempt(self, lease: Lease, work: SubjectWork, cell: Cell) -> None:
        await attempt(self.client, lease, work, cell)
        self._woken.set()
        for other in self._leases_of(lease.grant.subject_id):
            self._pump(other)

    def _note_ended(self, lease: Lease, cell: Cell) -> None:
        """A task that is cancelled before its first step never runs, not even what it would do when cancelled."""
        if cell in lease.running:
            give_back(lease, cell)
            self._woken.set()

    def _leases_of(self, subject_id: int) -> list[Lease]:
        return [lease for lease in self.leases.values() if lease.grant.subject_id == subject_id]

    # Closing

    def _close_lane(self, subject_id: int, *, keep_unknown: bool) -> None:
        """Start nothing more for the subject; calls on their way may end."""
        self.lanes[subject_id].close()
        self._closing_since.setdefault(subject_id, time.monotonic())
        for lease in self._leases_of(subject_id):
            lease.is_closing = True
            for cell in lease.running:
                cell.keep_unknown = cell.keep_unknown or keep_unknown

    def _shut_down(self) -> None:
        """The worker is to stop: give calls on their way a moment, then give the leases back."""
        for subject_id in list(self.lanes):
            self._close_lane(subject_id, keep_unknown=False)
            self._closing_since[subject_id] = min(self._closing_since[subject_id], time.monotonic() - GRACE_SECONDS + SHUTDOWN_SECONDS)

    def _retire(self) -> None:
        """The loop has had its time: calls on their way end as they will, then the leases are another loop's. Waiting subjects at once."""
        for subject_id, lane in self.lanes.items():
            if lane.probing:
                self._close_lane(subject_id, keep_unknown=False)
        for lease in self.leases.values():
            lease.is_closing = True

    def _cut_off_overdue(self) -> None:
        now = time.monotonic()
        for lease in self.leases.values():
            since = self._closing_since.get(lease.grant.subject_id)
            if since is not None and now - since > GRACE_SECONDS:
                for cell in list(lease.running):
                    if cell.task is not None:
                        cell.task.cancel()
            elif since is not None:
                self._cut_off_waiting(lease)

    def _cut_off_waiting(self, lease: Lease) -> None:
        """Attempts that only wait for their next try have nothing on its way: they end at once."""
        for cell in list(lease.running):
            if cell.task is not None and cell.lane is not None and not cell.lane.is_sending:
                cell.task.cancel()

    def _drop(self, lease: Lease) -> None:
        """The lease is another's now: nothing of it may be written."""
        log.warning("engine.lease_lost", run=str(lease.grant.run_public_id), shard=lease.grant.shard_id)
        for cell in lease.running:
            cell.keep_unknown = False
            if cell.task is not None:
                cell.task.cancel()
        lease.outcomes.clear()
        self._forget(lease)

    def _forget(self, lease: Lease) -> None:
        self.leases.pop(lease.grant.shard_id, None)
        subject_id = lease.grant.subject_id
        self._busy_at, self._pulled_at = time.monotonic(), 0.0
        if self._leases_of(subject_id):
            self.lanes[subject_id].resize(self._slots_of(subject_id))
            return
        self.lanes.pop(subject_id, None)
        self._closing_since.pop(subject_id, None)
        for key in [key for key in self.works if key[0] == subject_id]:
            del self.works[key]

    # Writing

    async def _exchange(self) -> None:
        """Write what has finished, run by run, and take what the store answers."""
        runs: dict[int, list[Lease]] = {}
        for lease in self.leases.values():
            runs.setdefault(lease.grant.run_id, []).append(lease)
        for run_id, leases in runs.items():
            if time.monotonic() < self._write_after.get(run_id, 0.0):
                continue
            batches = collect(leases, self.lanes, self.works, time.monotonic())
            if not batches:
                continue
            try:
                acks = await sync_to_async(exchange)(self.owner, run_id, [batch for _, batch in batches])
            except Exception:
                # Nothing is lost: what could not be written is handed in again. A commit that went through unconfirmed is found by its
                # keys. A write that fails for a reason of its own ends with its lease, and stops no other run.
                log.exception("engine.write_failed", run_id=run_id)
                for lease, batch in batches:
                    take_back(lease, self.lanes[lease.grant.subject_id], batch)
                self._write_after[run_id] = time.monotonic() + FAILED_WRITE_PAUSE
                await self._after_database_error()
                continue
            self._write_after.pop(run_id, None)
            self._busy_at = time.monotonic()
            for lease, batch in batches:
                self._acknowledge(lease, batch, acks[batch.shard_id])
            self._close_without_slots()
            await self._save_quirks({lease.grant.work for lease, _ in batches})

    async def _after_database_error(self) -> None:
        """Let go of a broken connection, so that the next statement opens another."""
        await sync_to_async(_close_broken_connections)()

    def _close_without_slots(self) -> None:
        """Leases live on slots of their subject's others; where those are lost or given back, nothing of them would ever be started."""
        for subject_id, lane in self.lanes.items():
            if not lane.slots and not lane.closing:
                self._close_lane(subject_id, keep_unknown=False)

    def _acknowledge(self, lease: Lease, batch: Batch, ack: Ack) -> None:
        if ack.is_lost:
            self._drop(lease)
            return
        lease.written_at = time.monotonic()
        lease.is_primed, lease.stop, lease.was_cut_off = True, None, False
        lease.slots = ack.slots
        lease.sent_through = max(lease.sent_through, batch.sent_through)
        lease.slice_microusd += ack.granted
        if batch.slice_wanted:
            lease.is_starved = ack.granted == 0 and batch.slice_least > 0
            lease.is_parked = lease.is_starved and batch.is_last_ask
        if ack.retry_in:
            lane = self.lanes[lease.grant.subject_id]
            lane.retry_at = max(lane.retry_at, time.monotonic() + ack.retry_in)
        if batch.release:
            self._forget(lease)
            return
        self.lanes[lease.grant.subject_id].resize(self._slots_of(lease.grant.subject_id))
        if ack.subject_stopped or ack.run_closing:
            self._close_lane(lease.grant.subject_id, keep_unknown=ack.run_closing)
        for other in self._leases_of(lease.grant.subject_id):
            self._pump(other)

    async def _save_quirks(self, keys: set[tuple[int, int]]) -> None:
        """Remember for the route or connection what its endpoint was found to refuse."""
        for key in keys & set(self.works):
            work = self.works[key]
            if work.target is None or work.owner is None or work.target.quirks == work.quirks:
                continue
            work.quirks = dict(work.target.quirks)
            try:
                await sync_to_async(remember_quirks)(work.owner, work.quirks)
            except DatabaseError:
                log.exception("engine.quirks_not_saved", subject=work.view.label)
                await self._after_database_error()


def _close_broken_connections() -> None:
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:  # else it is its opener's to close
            connection.close_if_unusable_or_obsolete()
