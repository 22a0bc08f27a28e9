"""What owners publish of their results: choosing it, withdrawing it, and the leaderboard that everyone reads."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from catalog.queries import get_benchmark_of_member, latest_of, versions_of
from common.errors import Forbidden, Refused
from common.forms import add_refusal
from common.web import is_fragment_request, page, public_page, redirect_to, render_page
from runs import queries as run_queries
from runs.models import Run
from runs.permissions import can_publish_run, can_withdraw_publication
from runs.sharing import queries
from runs.sharing.candidates import candidates_of
from runs.sharing.forms import PublishForm
from runs.sharing.leaderboard import MOST_COMPARED, leaderboard_of
from runs.sharing.publishing import publish_result, withdraw_publication
from runs.sharing.rights import private_refusal
from workspaces.actors import actor_of_user
from workspaces.permissions import require
from workspaces.requests import PersonRequest


@public_page
@require_safe
def leaderboard(request: HttpRequest, slug: str) -> HttpResponse:
    """What owners of any workspace published on a benchmark, by version. The benchmark's page fetches its first table as a part."""
    user = request.user if request.user.is_authenticated else None
    benchmark = get_benchmark_of_member(user, slug)
    versions = list(versions_of(benchmark))
    wanted = request.GET.get("version", "")
    version = next((each for each in versions if str(each.number) == wanted), None) or latest_of(versions)
    tables = leaderboard_of(version) if version is not None else []
    is_part = is_fragment_request(request)
    shown = tables[:1] if is_part else tables
    context = {
        "benchmark": benchmark,
        "versions": versions,
        "version": version,
        "tables": shown,
        "more_tables": len(tables) - len(shown),
        "is_part": is_part,
        "most_compared": MOST_COMPARED,
    }
    return render_page(request, "runs/leaderboard.html", context, partial="board")


@page
@require_http_methods(["GET", "HEAD", "POST"])
def publishing(request: PersonRequest, run_id: UUID) -> HttpResponse:
    """Which models of the run's result can be published, which are, and the owner's consent."""
    run = run_queries.get_run_of_member(request.user, run_id)
    if request.method != "POST":
        return _page(request, run)
    actor = actor_of_user(request.user)
    require(can_publish_run(actor, run), "Only owners publish: it is done under the workspace's name.")
    result = run_queries.get_result(run)
    form = PublishForm(request.POST, candidates=candidates_of(run, result), name=run.workspace.name)
    if form.is_valid():
        data = form.cleaned_data
        try:
            made = publish_result(run, result, actor=actor, keys=data["models"], agreed_name=data["name"])
        except Forbidden:
            raise
        except Refused as refused:
            add_refusal(form, refused.message)
        else:
            count = len(made)
            said = (
                "Nothing new: it is published already."
                if not count
                else f"{count} {'entry is' if count == 1 else 'entries are'} published."
            )
            messages.success(request, said)
            return redirect_to(request, reverse("runs:publishing", args=[run.public_id]))
    return _page(request, run, form=form, status=422)


@page
@require_POST
def withdrawal(request: PersonRequest, run_id: UUID, publication_id: UUID) -> HttpResponse:
    """Take an entry off the leaderboard."""
    run = run_queries.get_run_of_member(request.user, run_id)
    actor = actor_of_user(request.user)
    require(can_withdraw_publication(actor, run.workspace), "Owners and admins withdraw what was published.")
    withdraw_publication(queries.get_publication(run, publication_id), actor=actor)
    messages.success(request, "The entry is withdrawn.")
    return redirect_to(request, reverse("runs:publishing", args=[run.public_id]))


def _page(request: PersonRequest, run: Run, *, form: PublishForm | None = None, status: int = 200) -> HttpResponse:
    actor = actor_of_user(request.user)
    result = run_queries.get_result(run) if run.is_ended else None
    refusal = private_refusal(run, "cannot be published")
    context: dict[str, Any] = {
        "run": run,
        "result": result,
        "refusal": refusal,
        "can_publish": can_publish_run(actor, run),
        "can_withdraw": can_withdraw_publication(actor, run.workspace),
    }
    if result is not None and not refusal:
        published = list(queries.publications_of(result))
        there = {(each.subject_id, each.version_id) for each in published}
        candidates = candidates_of(run, result)
        open_ones = [each for each in candidates if (each.subject.pk, each.benchmark.version_id) not in there]
        context |= {
            "published": published,
            "replaced": queries.replaced_among(published),
            "refused": [each for each in open_ones if each.refusal],
            "form": form or PublishForm(candidates=open_ones, name=run.workspace.name),
            "has_open": any(not each.refusal for each in open_ones),
            "benchmarks": list(run.benchmarks.all()),
        }
    return render_page(request, "runs/publishing.html", context, status=status)
