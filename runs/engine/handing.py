"""What a lease hands to the store, and what it takes back where the store could not write it. Pure: memory in, batches out.

A batch first lowers the lease's own slice by what has finished, so that the loop may start attempts while the write is under way and never
reserves the same money twice.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import islice

from django.conf import settings

from runs.engine.lane import Lane
from runs.engine.loading import SubjectWork
from runs.engine.work import Batch, Lease

AHEAD = 4
"""A lease has the mark and the money for so many times its slots."""
LEAST_AHEAD = 16


def collect(
    leases: Sequence[Lease], lanes: Mapping[int, Lane], works: Mapping[tuple[int, int], SubjectWork], now: float
) -> list[tuple[Lease, Batch]]:
    """The batches that the leases of one run have to hand in now."""
    _hand_on_slots(leases, lanes)
    return [
        (lease, _batch(lease, lanes[lease.grant.subject_id], works.get(lease.grant.work), now))
        for lease in leases
        if _has_something(lease, lanes[lease.grant.subject_id], now)
    ]


def _has_something(lease: Lease, lane: Lane, now: float) -> bool:
    return bool(
        not lease.is_primed
        or lease.outcomes
        or lease.unknown
        or lease.stop
        or lease.is_dirty
        or lane.retry_at_changed
        or (lease.is_starved and not lease.running)
        or _may_release(lease, lane)
        or now - lease.written_at >= settings.ENGINE_RENEW_SECONDS
    )


def _may_release(lease: Lease, lane: Lane) -> bool:
    """Whether nothing of the lease is on its way and nothing more is to be started by it."""
    return lease.is_primed and not lease.running and (not lease.pending or lease.is_closing or lane.closing or lease.is_parked)


def _hand_on_slots(leases: Sequence[Lease], lanes: Mapping[int, Lane]) -> None:
    """Slots of a lease without more work go to another lease of its subject, in the same write. One that gives way frees its own."""
    for lease in leases:
        if not lease.slots or lease.is_closing or not _may_release(lease, lanes[lease.grant.subject_id]):
            continue
        others = [
            other for other in leases if other is not lease and other.grant.subject_id == lease.grant.subject_id and not other.is_closing
        ]
        # Attempts that wait for their next try need slots too, though nothing is pending behind them.
        heir = next((other for other in others if other.pending), None) or next((other for other in others if other.running), None)
        if heir is not None:
            heir.slots += lease.slots
            lease.slots = 0
            heir.is_dirty = True


def _batch(lease: Lease, lane: Lane, work: SubjectWork | None, now: float) -> Batch:
    outcomes, lease.outcomes = lease.outcomes, []
    unknown, lease.unknown = lease.unknown, []
    finished = sum(outcome.reserved for outcome in outcomes)
    lease.used_microusd -= finished
    lease.slice_microusd -= finished
    release = _may_release(lease, lane)
    lease.is_dirty = False
    wanted, least, mark = 0, 0, lease.sent_through
    parked_need = None
    if release:
        if lease.is_parked and lease.pending and not (lease.is_closing or lane.closing) and work is not None:
            parked_need = _worst(lease.pending[0], work)
        lease.slice_microusd = 0
    elif not (lease.is_closing or lane.closing) and work is not None:
        mark = _mark(lease, lane, work)
        wanted, least = _wants(lease, lane, work)
    batch = Batch(
        shard_id=lease.grant.shard_id,
        subject_id=lease.grant.subject_id,
        run_benchmark_id=lease.grant.run_benchmark_id,
        fence=lease.grant.fence,
        slots=0 if release else lease.slots,
        outcomes=outcomes,
        unknown=unknown,
        sent_through=mark,
        slice_kept=lease.slice_microusd,
        slice_wanted=wanted,
        slice_least=least,
        is_last_ask=lease.is_starved and not lease.running,
        release=release,
        is_done=release and not lease.pending,
        parked_need=parked_need,
        stop=lease.stop,
        was_cut_off=lease.was_cut_off,
        waiting_seconds=None if lane.waiting_since is None else max(0.0, now - lane.waiting_since),
        retry_in=max(0.0, lane.retry_at - now) if lane.retry_at_changed else None,
        served_models=tuple(dict.fromkeys(outcome.call.served_model for outcome in outcomes if outcome.call and outcome.call.served_model)),
        left_out=tuple(work.target.quirks.get("left_out", ())) if work is not None and work.target is not None else (),
    )
    lane.retry_at_changed = False
    return batch


def _mark(lease: Lease, lane: Lane, work: SubjectWork) -> int:
    """How far cells may have been sent after this write: ahead of the next one by a block; all of a shard that is worked out of order."""
    if lease.is_starved or work.calls_nothing:
        return lease.grant.stop
    if not lease.pending:
        return lease.sent_through
    ahead = max(LEAST_AHEAD, AHEAD * max(lane.slots, lease.slots))
    reach = lease.pending[min(ahead, len(lease.pending)) - 1].cell + 1
    return max(lease.sent_through, reach)


def _wants(lease: Lease, lane: Lane, work: SubjectWork) -> tuple[int, int]:
    """What to add to the slice so that it covers the attempts ahead, and the least that lets the next one start. Gives back what is too
    much.
    """
    if work.view.price.is_free or not lease.pending:
        lease.slice_microusd = lease.used_microusd
        return 0, 0
    if lease.is_starved:
        lease.pending = deque(sorted(lease.pending, key=lambda spec: _worst(spec, work)))
    ahead = max(LEAST_AHEAD, AHEAD * max(lane.slots, lease.slots))
    target = sum(_worst(spec, work) for spec in islice(lease.pending, ahead))
    free = lease.free_microusd
    least = max(0, _worst(lease.pending[0], work) - free)
    if free > target:
        lease.slice_microusd -= free - target
        return 0, 0
    if free * 2 > target and not least:
        return 0, 0
    return target - free, least


def _worst(spec: object, work: SubjectWork) -> int:
    return work.runner.worst_case(spec, work.view.output_limit, work.view.price)  # type: ignore[arg-type]


def take_back(lease: Lease, lane: Lane, batch: Batch) -> None:
    """Undo the handing in: the store could not write, so everything is handed in again."""
    finished = sum(outcome.reserved for outcome in batch.outcomes)
    lease.outcomes[:0] = batch.outcomes
    lease.unknown[:0] = batch.unknown
    lease.used_microusd += finished
    lease.slice_microusd += finished
    lease.is_dirty = True
    lane.retry_at_changed = lane.retry_at_changed or batch.retry_in is not None
