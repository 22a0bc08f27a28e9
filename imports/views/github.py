"""Fetching a data file of a GitHub repository, at the commit that was looked at."""

from django.http import HttpResponse
from django.views.decorators.http import require_POST

from common.errors import Refused
from common.web import page
from imports.actions import github
from imports.queries.github import Named
from imports.views.frame import actor_of
from imports.views.repositories import named_in
from imports.views.source import begin, render_source, stored_at, target_of
from imports.wording import in_words
from workspaces.requests import PersonRequest


@page
@require_POST
def fetch_github(request: PersonRequest) -> HttpResponse:
    """Fetch the file, verified, and look at it."""
    workspace, draft = target_of(request)
    named = named_in(request.POST) or Named()
    try:
        taken = github.fetch_github(
            workspace,
            actor=actor_of(request),
            named=named,
            revision=request.POST.get("commit", "").strip(),
            path=request.POST.get("path", "").strip()[:1000],
        ).source_import
    except Refused as refusal:
        if refusal.code == "forbidden":
            raise
        problems = {"github": in_words(refusal.message)}
        status = 422 if refusal.code == "github_imports_disabled" else refusal.status
        return render_source(request, workspace, draft, kind="github", status=status, problems=problems)
    return begin(request, workspace, draft, stored_at(workspace, taken.files.all()[0].uri), {"kind": "github"})
