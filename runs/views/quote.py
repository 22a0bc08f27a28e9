"""A quote: what will be run, what it may cost and what it can show."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from billing.queries import get_wallet
from common.errors import Refused
from common.web import is_fragment_request, page, render_page
from runs import documents, queries
from runs.enums import QuoteStatus
from runs.models import Quote
from workspaces.actors import actor_of_user
from workspaces.permissions import can_run
from workspaces.requests import PersonRequest

STOP_POLLING = 286


@page
@require_safe
def quote(request: PersonRequest, quote_id: UUID) -> HttpResponse:
    """The quote's page. Its countdown fetches itself until the quote is started or expired."""
    found = queries.get_quote_of_member(request.user, quote_id)
    context = quote_context(request, found)
    is_over = is_fragment_request(request) and not context["is_open"]
    return render_page(request, "runs/quote.html", context, partial="offer", status=STOP_POLLING if is_over else 200)


def quote_context(request: PersonRequest, found: Quote, *, refusal: Refused | None = None) -> dict[str, Any]:
    """What the page shows; `refusal` is why a start was refused just now."""
    now = timezone.now()
    document = documents.quote_document(found)
    plan = document["plan"]
    weights = plan.get("weights") or []
    for part, weight in zip(plan["benchmarks"], weights, strict=False):
        part["share"] = weight / sum(weights)
    labels = {subject["index"]: subject["label"] for subject in plan["subjects"]}
    wallet = get_wallet(found.workspace)
    seconds_left = max(0, int((found.expires_at - now).total_seconds()))
    return {
        "quote": found,
        "document": document,
        "plan": plan,
        "calls": plan["total_tasks"] * plan["attempts_per_task"] * len(plan["subjects"]),
        "kept": plan["continuation"] or plan.get("reuse"),
        "evidence": [
            {**each, "label": labels[each["subject_index"]], "benchmark": part["name"] if len(plan["benchmarks"]) > 1 else ""}
            for part in plan["benchmarks"]
            for each in part["evidence"] or []
        ],
        "most_microusd": min(found.ceiling_microusd, found.cap_microusd) if found.cap_microusd is not None else found.ceiling_microusd,
        "cap_binds": found.cap_microusd is not None and found.cap_microusd < found.ceiling_microusd,
        "has_external": any(subject["external_charges"] for subject in plan["subjects"]),
        "is_free": found.ceiling_microusd == 0,
        "is_started": found.status == QuoteStatus.STARTED,
        "is_open": found.status == QuoteStatus.OPEN and found.expires_at > now,
        "seconds_left": seconds_left,
        "minutes_left": seconds_left // 60,
        "edit_url": _edit_url(found),
        "run": found.run if found.status == QuoteStatus.STARTED else None,
        "available_microusd": wallet.available_microusd,
        "refusal": refusal,
        "can_run": can_run(actor_of_user(request.user), found.workspace),
    }


def _edit_url(found: Quote) -> str:
    """Where the setup can be changed: the new-evaluation page, or the interrupted run that is to be continued."""
    if found.source_run is not None:
        return reverse("runs:continuation", args=[found.source_run.public_id])
    return f"{reverse('runs:new_evaluation')}?quote={found.public_id}"
