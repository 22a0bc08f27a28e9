"""Whether a run has nothing left to do. Decided under the run's lock, by whoever changed something that could end it."""

from datetime import datetime

from billing import budgets
from billing.enums import Bound
from common.jobs import enqueue_on_commit
from runs.enums import InterruptionReason, Phase, SubjectStatus
from runs.events import append_events
from runs.jobs import FINALIZE
from runs.models import Run, Shard, Subject

_REASON_OF_BOUND = {
    Bound.CAP: InterruptionReason.CAP_REACHED.value,
    Bound.CEILING: InterruptionReason.CAP_REACHED.value,
    Bound.CREDIT: InterruptionReason.CREDIT_EXHAUSTED.value,
    Bound.KEY_CEILING: f"{InterruptionReason.LIMIT_REACHED}:{Bound.KEY_CEILING}",
    Bound.KEY_MONTH: f"{InterruptionReason.LIMIT_REACHED}:{Bound.KEY_MONTH}",
    Bound.WORKSPACE_BUDGET: f"{InterruptionReason.LIMIT_REACHED}:{Bound.WORKSPACE_BUDGET}",
}


def consider_ending(run: Run, now: datetime) -> bool:
    """Send the locked run to finalizing where nothing of it is leased and nothing more can be started; the caller saves it.

    The reason is empty where every cell is finished. Returns whether it goes.
    """
    if run.phase in {Phase.FINALIZING, Phase.DONE}:
        return False
    shards = Shard.objects.filter(run=run)
    if shards.filter(lease_expires_at__isnull=False).exists():
        return False
    reason = _reason(run, now)
    if reason is None:
        return False
    run.phase = Phase.FINALIZING
    run.finalizing_reason = reason
    append_events(run, ("run.finalizing", {"processed": run.processed, "planned": run.planned}))
    enqueue_on_commit(FINALIZE, str(run.public_id))
    return True


def _reason(run: Run, now: datetime) -> str | None:
    """Why the run ends now: empty when complete, None while something can still be worked."""
    if run.processed >= run.planned:
        return ""
    if run.cancel_requested_at is not None:
        return InterruptionReason.CANCELLED
    if now >= run.deadline_at:
        return InterruptionReason.TIME_LIMIT
    open_shards = Shard.objects.filter(run=run, is_done=False).exclude(subject__status=SubjectStatus.STOPPED)
    needs = list(open_shards.values_list("parked_need_microusd", flat=True))
    if not needs:
        return _reason_of_rest(run)
    parked = [need for need in needs if need is not None]
    if len(parked) < len(needs):
        return None
    spendable, binding = budgets.spendable(budgets.lock_budget(run.budget_source))
    if min(parked) <= spendable:
        # What the last lease gave back came after the others had been parked. Only parked shards: others may be locked by who takes them.
        Shard.objects.filter(run=run, is_done=False, parked_need_microusd__isnull=False).update(parked_need_microusd=None)
        return None
    return _REASON_OF_BOUND[binding]


def _reason_of_rest(run: Run) -> str:
    """Why cells are unfinished where no shard can be worked: a subject was stopped, or a continuation left out what has no known
    outcome.
    """
    if run.continued_from is None or Subject.objects.filter(run=run, status=SubjectStatus.STOPPED).exists():
        return InterruptionReason.SUBJECT_STOPPED
    source = run.continued_from.interruption or {}
    return str(source.get("reason") or InterruptionReason.CANCELLED)
