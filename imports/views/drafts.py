"""What is done with a draft as a whole: go on with it, give it up, or begin one from a benchmark that is there."""

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from catalog.models import Benchmark
from catalog.queries import get_benchmark_of_member, get_version, split_profile_id
from common.errors import Forbidden, Refused
from common.web import page, redirect_to
from imports.actions.drafts import NOT_IMPORTER, discard_draft, duplicate_version
from imports.views.frame import actor_of, draft_of, elsewhere, first_open, importing_workspace, step_url
from workspaces.permissions import can_import
from workspaces.requests import PersonRequest


@page
@never_cache
@require_safe
def draft(request: PersonRequest, draft_id: object) -> HttpResponse:
    """Where the draft is to be gone on with."""
    found = draft_of(request, draft_id)
    return elsewhere(request, found, "source") or redirect_to(request, step_url(found, first_open(found)))


@page
@require_POST
def discard(request: PersonRequest, draft_id: object) -> HttpResponse:
    """Give it up."""
    discard_draft(draft_of(request, draft_id), actor=actor_of(request))
    messages.success(request, "The draft is gone. The file stays in the workspace and can be chosen again.")
    return redirect_to(request, reverse("imports:source"))


@page
@require_POST
def duplicate(request: PersonRequest) -> HttpResponse:
    """A draft from a private benchmark of the person's, by its profile ID, opened where most is changed."""
    profile_id = request.POST.get("benchmark", "").strip()
    if not profile_id:
        importing_workspace(request, request.POST.get("workspace", ""))
        raise Refused("benchmark_required", "Name the private benchmark to copy, by its ID.")
    slug, _ = split_profile_id(profile_id)
    benchmark = get_benchmark_of_member(request.user, slug)
    if benchmark.workspace is None:
        raise Benchmark.DoesNotExist
    if not can_import(actor_of(request), benchmark.workspace):
        raise Forbidden(NOT_IMPORTER)
    made = duplicate_version(get_version(benchmark.workspace, profile_id), actor=actor_of(request))
    messages.success(
        request, f"This is a draft with everything of {profile_id}. Change what you like; the benchmark itself stays as it is."
    )
    return redirect_to(request, step_url(made, "mapping"))
