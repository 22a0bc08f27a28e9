"""One attempt: from a cell to its outcome in the lease's memory. Whatever goes wrong ends as an outcome, or gives the cell back."""

import asyncio

import structlog

from common.ids import new_id
from gateway.calls import CallRecord, call
from gateway.chat import ChatRequest
from gateway.client import ChatClient
from gateway.enums import FATAL, Purpose
from gateway.enums import Outcome as CallOutcome
from runs.engine.loading import SubjectWork
from runs.engine.work import Cell, Lease, Outcome, Stop
from runs.enums import SampleStatus

log = structlog.get_logger(__name__)

CHUNK = 250
NO_RECORDED_ANSWER = "no_recorded_answer"


async def attempt(client: ChatClient, lease: Lease, work: SubjectWork, cell: Cell) -> None:
    """Ask the subject, grade what it says, and leave the outcome with the lease. An error of every task's call closes the lane."""
    assert cell.lane is not None
    assert work.target is not None
    view, outcome = work.view, None
    try:
        record = await call(
            client,
            work.target,
            ChatRequest(work.runner.messages(cell.spec), view.output_limit, view.reasoning),
            lane=cell.lane,
            price=view.price,
            reserved_microusd=cell.reserved,
            workspace_id=lease.grant.workspace_id,
            source_id=cell.public_id,
        )
        if not record.is_abandoned and record.error_code not in FATAL:
            outcome = _outcome(work, cell, record)
    except asyncio.CancelledError:
        _cut_off(lease, work, cell)
        return
    except Exception:
        log.exception("engine.attempt_failed", run=str(lease.grant.run_public_id), subject=view.index, position=cell.spec.position)
        outcome = _internal_error(cell)
    if outcome is not None:
        lease.running.discard(cell)
        lease.outcomes.append(outcome)
        return
    give_back(lease, cell)
    if not record.is_abandoned:
        lease.stop = lease.stop or Stop(record.error_code, record.error_message)
        cell.lane.close()


def give_back(lease: Lease, cell: Cell) -> None:
    """The cell stays unfinished and costs nothing."""
    lease.running.discard(cell)
    lease.used_microusd -= cell.reserved
    lease.pending.appendleft(cell.spec)


def answer_at_once(lease: Lease, work: SubjectWork) -> bool:
    """Answer a chunk of a baseline's or a recording's cells, no more, so that other subjects' calls are not kept waiting.

    Returns whether there was anything.
    """
    answered = False
    for _ in range(min(CHUNK, len(lease.pending))):
        if lease.pending[0].cell >= lease.sent_through:
            break
        answered = True
        spec = lease.pending.popleft()
        cell = Cell(spec, 0, new_id())
        try:
            lease.outcomes.append(_by_baseline(lease, work, cell) if work.baseline is not None else _by_recording(lease, work, cell))
        except Exception:
            log.exception("engine.answer_failed", run=str(lease.grant.run_public_id), position=spec.position)
            lease.outcomes.append(_internal_error(cell))
    return answered


def _by_baseline(lease: Lease, work: SubjectWork, cell: Cell) -> Outcome:
    assert work.baseline is not None
    record = _record(lease, work, cell, CallOutcome.ANSWERED)
    record.finish_reason, record.served_model = "stop", work.view.baseline
    # Each attempt draws anew; the first as it would alone.
    drawn_for = cell.spec.task_id if cell.spec.attempt == 1 else f"{cell.spec.task_id}\0{cell.spec.attempt}"
    record.response = work.baseline(drawn_for, cell.spec.values, cell.spec.reference)
    return _outcome(work, cell, record)


def _by_recording(lease: Lease, work: SubjectWork, cell: Cell) -> Outcome:
    """The stored answer, graded. Where there is none, nobody knows what the model would have said: an error, neither wrong nor empty."""
    answer = lease.answers.pop(cell.spec.task_pk, None)
    if answer is None:
        return Outcome(cell.spec, cell.public_id, SampleStatus.ERROR, error_code=NO_RECORDED_ANSWER)
    record = _record(lease, work, cell, CallOutcome.ANSWERED)
    record.response, record.reasoning, record.finish_reason = answer
    return _outcome(work, cell, record)


def _cut_off(lease: Lease, work: SubjectWork, cell: Cell) -> None:
    """The attempt was ended from outside: nothing is charged. Whether its call reached the provider nobody knows."""
    lease.running.discard(cell)
    lease.used_microusd -= cell.reserved
    assert cell.lane is not None
    if not cell.lane.is_sending:
        return
    if cell.keep_unknown:
        lease.unknown.append((cell.spec.cell, _record(lease, work, cell, CallOutcome.UNKNOWN)))
    else:
        lease.was_cut_off = True


def _record(lease: Lease, work: SubjectWork, cell: Cell, outcome: CallOutcome) -> CallRecord:
    price = work.view.price
    record = CallRecord(lease.grant.workspace_id, cell.public_id, Purpose.SUBJECT, price.rate_id, price.fee_percent, cell.reserved)
    record.outcome, record.tries = outcome, 1
    return record


def _outcome(work: SubjectWork, cell: Cell, record: CallRecord) -> Outcome:
    """The finished cell of a call: graded where the model answered, an error where it did not."""
    if record.outcome != CallOutcome.ANSWERED:
        return Outcome(cell.spec, cell.public_id, SampleStatus.ERROR, cell.reserved, call=record, error_code=record.error_code)
    return Outcome(
        cell.spec,
        cell.public_id,
        SampleStatus.GRADED,
        cell.reserved,
        verdict=work.runner.grade(cell.spec, record.response),
        call=record,
        is_empty=record.is_empty,
        is_truncated=record.is_truncated,
    )


def _internal_error(cell: Cell) -> Outcome:
    """The cell that a mistake of ours ended: an error, uncharged."""
    return Outcome(cell.spec, cell.public_id, SampleStatus.ERROR, cell.reserved, error_code="internal_error")
