"""Changes of state: starting a quote, cancelling a run, continuing it. Each asks on GET and acts on POST."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from common.errors import Forbidden, Refused
from common.web import page, redirect_to, render_page
from runs import actions, queries
from runs.documents import title_of
from runs.enums import RunStatus
from runs.forms import ContinueForm
from runs.permissions import can_cancel_run, can_continue_run
from runs.views.quote import quote_context
from runs.wording import refusal_words
from workspaces.actors import actor_of_user
from workspaces.permissions import require
from workspaces.requests import PersonRequest


@page
@require_POST
def start(request: PersonRequest, quote_id: UUID) -> HttpResponse:
    """Start the quote and show its run. A refused start shows why, and the quote stays open."""
    found = queries.get_quote_of_member(request.user, quote_id)
    try:
        run, _ = actions.start_run(found, actor=actor_of_user(request.user))
    except Forbidden:
        raise
    except Refused as refusal:
        context = quote_context(request, queries.get_quote_of_member(request.user, quote_id), refusal=refusal)
        return render_page(request, "runs/quote.html", context, partial="offer", status=refusal.status)
    return redirect_to(request, reverse("runs:report", args=[run.public_id]))


@page
@require_http_methods(["GET", "HEAD", "POST"])
def cancellation(request: PersonRequest, run_id: UUID) -> HttpResponse:
    """Ask whether to cancel, and cancel."""
    run = queries.get_run_of_member(request.user, run_id)
    actor = actor_of_user(request.user)
    require(can_cancel_run(actor, run))
    address = reverse("runs:report", args=[run.public_id])
    if request.method != "POST":
        return redirect_to(request, address) if run.is_ended else render_page(request, "runs/cancellation.html", {"run": run})
    try:
        actions.cancel_run(run, actor=actor)
    except Forbidden:
        raise
    except Refused as refusal:
        messages.warning(request, refusal.message)
    return redirect_to(request, address)


@page
@require_http_methods(["GET", "HEAD", "POST"])
def continuation(request: PersonRequest, run_id: UUID) -> HttpResponse:
    """Say what continuing would do, and quote it."""
    run = queries.get_run_of_member(request.user, run_id)
    actor = actor_of_user(request.user)
    require(can_continue_run(actor, run))
    is_post, context = request.method == "POST", {"run": run, "title": title_of(run)}
    form = ContinueForm(request.POST if is_post else None, initial={"include_cancelled": run.status == RunStatus.CANCELLED})
    if is_post and form.is_valid():
        chosen = form.cleaned_data
        try:
            quote = actions.continue_run(
                run,
                actor=actor,
                max_charge_microusd=chosen["cap"],
                include_cancelled=chosen["include_cancelled"],
                retry_unknown=chosen["unknown"] == "retry",
                accept_duplicate_provider_charges=chosen["accept_duplicates"],
                accept_left_out=chosen["unknown"] == "leave",
            )
        except Forbidden:
            raise
        except Refused as refusal:
            form.add_error("cap" if refusal.code == "cap_below_minimum" else None, refusal_words(refusal))
            form.ask(refusal.code)
            return render_page(request, "runs/continuation.html", context | {"form": form}, partial="form", status=refusal.status)
        return redirect_to(request, reverse("runs:quote", args=[quote.public_id]))
    if run.interruption is None:
        return redirect_to(request, reverse("runs:report", args=[run.public_id]))
    return render_page(request, "runs/continuation.html", context | {"form": form}, partial="form", status=422 if is_post else 200)
