"""Links to a run's result: what there is, a preview of a new one as its reader will see it, making it, and revoking it."""

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import orjson
from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from common.errors import Forbidden, Refused
from common.forms import add_refusal
from common.web import page, redirect_to, render_page
from runs import queries as run_queries
from runs.models import ResultVersion, Run
from runs.permissions import can_publish_run, can_share_run
from runs.sharing import queries, reading
from runs.sharing.actions import check_choices, create_share, revoke_share
from runs.sharing.choices import private_names
from runs.sharing.forms import ShareForm
from runs.sharing.links import link_of
from runs.sharing.rights import benchmarks_with_samples, check_shareable, private_refusal
from workspaces.actors import actor_of_user
from workspaces.permissions import require
from workspaces.requests import PersonRequest

FIELD_OF_REFUSAL = {
    "invalid_title": "title",
    "samples_not_permitted": "shows_samples",
    "samples_not_available": "shows_samples",
    "invalid_expiry": "expires_in",
}


@page
@require_http_methods(["GET", "HEAD", "POST"])
def sharing(request: PersonRequest, run_id: UUID) -> HttpResponse:
    """The run's links, and the choices of a new one. POST makes it."""
    run = run_queries.get_run_of_member(request.user, run_id)
    if request.method != "POST":
        return _page(request, run)
    actor = actor_of_user(request.user)
    require(can_share_run(actor, run))
    check_shareable(run)
    result = run_queries.get_result(run)
    form = _form(run, result, request.POST)
    if form.is_valid():
        try:
            create_share(run, result, actor=actor, choices=form.choices, expires_at=form.expires_at)
        except Forbidden:
            raise
        except Refused as refused:
            add_refusal(form, refused.message, FIELD_OF_REFUSAL.get(refused.code))
        else:
            messages.success(request, "The link is made. Whoever has it can read what the preview showed.")
            return redirect_to(request, reverse("runs:sharing", args=[run.public_id]))
    return _page(request, run, form=form, status=422)


@page
@require_safe
def sharing_preview(request: PersonRequest, run_id: UUID) -> HttpResponse:
    """The page as whoever gets the link will see it, and the button that makes the link."""
    run = run_queries.get_run_of_member(request.user, run_id)
    actor = actor_of_user(request.user)
    require(can_share_run(actor, run))
    if private_refusal(run) or not run.is_ended:
        return redirect_to(request, reverse("runs:sharing", args=[run.public_id]))
    result = run_queries.get_result(run)
    form = _form(run, result, request.GET)
    if not form.is_valid():
        return _page(request, run, form=form, status=422)
    try:
        choices = check_choices(run, result, form.choices)
    except Refused as refused:
        add_refusal(form, refused.message, FIELD_OF_REFUSAL.get(refused.code))
        return _page(request, run, form=form, status=422)
    benchmark = reading.chosen_benchmark(run, request.GET.get("benchmark", ""))
    hidden = form.pairs()
    context = {
        "run": run,
        **reading.page_of_result(run, result, choices, benchmark),
        "is_preview": True,
        "hidden": hidden,
        "back": f"{reverse('runs:sharing', args=[run.public_id])}?{urlencode(hidden)}#new-link",
        "kept": urlencode(hidden),
    }
    return render_page(request, "runs/sharing_preview.html", context)


@page
@require_POST
def sharing_revocation(request: PersonRequest, run_id: UUID, share_id: UUID) -> HttpResponse:
    """The link stops working at once."""
    run = run_queries.get_run_of_member(request.user, run_id)
    actor = actor_of_user(request.user)
    require(can_share_run(actor, run))
    revoke_share(queries.get_share(run, share_id), actor=actor)
    messages.success(request, "The link is revoked. Who opens it finds nothing there.")
    return redirect_to(request, reverse("runs:sharing", args=[run.public_id]))


def _form(run: Run, result: ResultVersion, data: Any = None) -> ShareForm:
    return ShareForm(
        data,
        names=private_names(orjson.loads(result.document)["subjects"]),
        workspace_name=run.workspace.name,
        may_show_samples=bool(benchmarks_with_samples(run)),
    )


def _page(request: PersonRequest, run: Run, *, form: ShareForm | None = None, status: int = 200) -> HttpResponse:
    actor = actor_of_user(request.user)
    can_share = can_share_run(actor, run)
    refusal = private_refusal(run)
    result = run_queries.get_result(run) if run.is_ended else None
    if form is None and can_share and result is not None and not refusal:
        # Coming back from the preview, the address has what was chosen.
        form = _form(run, result, request.GET if "expires_in" in request.GET else None)
    now = timezone.now()
    rows = [
        {"share": share, "state": state, "link": link_of(share) if can_share and state == "live" else None}
        for share in queries.shares_of(run)
        if (state := share.state_at(now))
    ]
    context = {
        "run": run,
        "result": result,
        "form": form,
        "refusal": refusal,
        "can_share": can_share,
        "can_publish": can_publish_run(actor, run),
        "live": [row for row in rows if row["state"] == "live"],
        "ended": [row for row in rows if row["state"] != "live"],
        "policies": {each.version.export_policy for each in run.benchmarks.all()},
    }
    response = render_page(request, "runs/sharing.html", context, status=status)
    add_never_cache_headers(response)
    return response
