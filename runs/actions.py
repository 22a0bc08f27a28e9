"""What people and programs do with quotes and runs."""

from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from billing import budgets
from common.errors import Conflict
from common.jobs import enqueue_on_commit
from common.money import format_usd
from runs import continuing, queries
from runs.enums import Phase, QuoteStatus
from runs.events import append_events
from runs.jobs import HINT_LIFETIME, SWEEP, WORK
from runs.models import Quote, Run
from runs.permissions import can_cancel_run, can_continue_run
from runs.quoting import build_quote
from runs.requests import parse_request
from runs.reusing import check_evidence
from runs.starting import check_startable, terms_of, write_run
from workspaces.actors import Actor
from workspaces.models import Workspace
from workspaces.permissions import can_run, require


def create_quote(workspace: Workspace, *, actor: Actor, request: dict[str, Any]) -> Quote:
    """Quote a request (API.md's body). Costs nothing and calls no model. Raises Refused with the codes of API.md."""
    require(can_run(actor, workspace), "Your role or key may read here, and not quote or run.")
    quote = build_quote(workspace, actor=actor, request=parse_request(request))
    quote.save(force_insert=True)
    return quote


def start_run(quote: Quote, *, actor: Actor, stated_max_microusd: int | None = None) -> tuple[Run, bool]:
    """Start a quote: the run, and whether it was started now (False: earlier, by this or another request).

    Everything is checked again inside one transaction, and a refusal leaves the quote open. Raises Conflict (`quote_expired`,
    `quote_exceeds_cap`, `incompatible_now`, `continuation_exists`, `evidence_expired`) and PaymentRequired (`insufficient_credit`,
    `key_ceiling_reached`, `workspace_budget_reached`).
    """
    require(can_run(actor, quote.workspace), "Your role or key may read here, and not start runs.")
    started = Run.objects.filter(quote=quote).first()
    if started is not None:
        return started, False
    most = quote.ceiling_microusd if quote.cap_microusd is None else quote.cap_microusd
    if stated_max_microusd is not None and stated_max_microusd < most:
        raise Conflict(
            "quote_exceeds_cap",
            f"The quote may charge up to {format_usd(most)}, above the {format_usd(stated_max_microusd)} you stated. Quote again "
            f"with that cap.",
            details={"quote_maximum_microusd": str(most)},
        )
    try:
        with transaction.atomic():
            if not Quote.objects.filter(pk=quote.pk, status=QuoteStatus.OPEN).update(status=QuoteStatus.STARTED):
                return Run.objects.get(quote=quote), False
            return _start_claimed(quote, actor=actor), True
    except IntegrityError as error:
        if quote.source_run is None:
            raise
        newest = queries.newest_continuation(quote.source_run)
        if newest.pk == quote.source_run.pk:
            raise
        raise _continued_already(newest) from error


def _start_claimed(quote: Quote, *, actor: Actor) -> Run:
    if quote.expires_at <= timezone.now():
        raise Conflict("quote_expired", "The quote has expired; prices and models may have changed. Make a new one.")
    if quote.source_run is not None:
        newest = queries.newest_continuation(quote.source_run)
        if newest.pk != quote.source_run.pk:
            raise _continued_already(newest)
    if quote.answers_from is not None:
        check_evidence(quote.answers_from)
    terms = terms_of(quote)
    run = write_run(quote, actor=actor, terms=terms, startable=check_startable(quote, terms))
    budgets.open_budget(
        quote.workspace,
        source=run.budget_source,
        cap_microusd=quote.cap_microusd,
        ceiling_microusd=quote.ceiling_microusd,
        minimum_microusd=quote.minimum_cap_microusd,
        key_lineage=actor.key_lineage,
    )
    enqueue_on_commit(WORK, expires=HINT_LIFETIME)
    return run


def _continued_already(newest: Run) -> Conflict:
    return Conflict("continuation_exists", "The run was continued already, by another quote.", details={"run_id": str(newest.public_id)})


def quote_and_start(workspace: Workspace, *, actor: Actor, request: dict[str, Any]) -> tuple[Run, bool]:
    """Quote and start in one step. What is refused at the start leaves an open quote behind, and nothing else."""
    return start_run(create_quote(workspace, actor=actor, request=request), actor=actor)


def cancel_run(run: Run, *, actor: Actor) -> Run:
    """Ask the run to stop: nothing more is started, calls on their way may end. Idempotent. Raises Conflict `run_ended`."""
    require(can_cancel_run(actor, run), "Your role or key may read here, and not cancel runs.")
    with transaction.atomic():
        locked = Run.objects.select_for_update().get(pk=run.pk)
        if locked.phase in {Phase.FINALIZING, Phase.DONE}:
            raise Conflict("run_ended", "The run has ended already; its result stands.")
        if locked.cancel_requested_at is None:
            locked.cancel_requested_at = timezone.now()
            locked.cancelled_by_label = actor.label
            append_events(locked, ("run.cancel_requested", {"by": actor.label}))
            locked.save(update_fields=["cancel_requested_at", "cancelled_by_label", "last_sequence"])
            enqueue_on_commit(SWEEP, expires=HINT_LIFETIME)
    run.refresh_from_db()
    return run


def continue_run(
    run: Run,
    *,
    actor: Actor,
    max_charge_microusd: int | None = None,
    include_cancelled: bool = False,
    retry_unknown: bool = False,
    retry_unknown_max: int | None = None,
    accept_duplicate_provider_charges: bool = False,
    accept_left_out: bool = False,
    dry_run: bool = False,
) -> Quote:
    """An open quote over the run's unfinished cells and retryable errors, at current prices; finished cells cost nothing again.

    It never starts. With `dry_run` the quote is not saved. Raises Conflict and Refused as `continuing.check_continuable` and
    `plan_reuse` do.
    """
    require(can_continue_run(actor, run), "Your role or key may read here, and not continue runs.")
    continuing.check_continuable(run)
    parts = continuing.parts_of(run)
    options = continuing.ContinueOptions(
        include_cancelled=include_cancelled,
        retry_unknown=retry_unknown,
        retry_unknown_max=retry_unknown_max,
        accept_duplicate_provider_charges=accept_duplicate_provider_charges,
        accept_left_out=accept_left_out,
    )
    reuse = continuing.plan_reuse(run, parts, options)
    body = continuing.pinned_request(run)
    body.pop("max_charge_microusd", None)
    if max_charge_microusd is not None:
        body["max_charge_microusd"] = str(max_charge_microusd)
    quote = build_quote(run.workspace, actor=actor, request=parse_request(body), parts=parts, reuse=reuse)
    quote.name = run.name
    if not dry_run:
        quote.save(force_insert=True)
    return quote


def rerun_request(run: Run) -> dict[str, Any]:  # lint: actors (only reads)
    """The request that quotes the same setup again: the same version, subjects and tasks."""
    return continuing.pinned_request(run)
