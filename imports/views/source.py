"""Step 1: a file from this computer, one that the workspace has already, a data set of the Hugging Face Hub, or a GitHub repository."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from common.errors import Conflict, Forbidden, Refused
from common.web import page, redirect_to, render_page
from imports import drafting, storage
from imports.actions.drafts import create_draft, set_source
from imports.actions.uploads import abandon_upload
from imports.actions.whole_uploads import upload_whole
from imports.limits import limits
from imports.models import ImportDraft
from imports.queries import drafts as queries
from imports.queries import uploads as uploads_queries
from imports.queries.capabilities import may_use_github, may_use_hub
from imports.sources.stored import StoredSource
from imports.views.browsing import hub_context
from imports.views.frame import actor_of, draft_of, elsewhere, importing_workspace, seen_by, step_url, stepper
from imports.views.repositories import github_context
from imports.wording import in_words
from workspaces.models import Workspace
from workspaces.requests import PersonRequest

SUFFIXES = ".jsonl,.ndjson,.json,.csv,.tsv,.parquet"
FILES_LISTED = 8


@page
@never_cache
@require_http_methods(["GET", "HEAD"])
def source(request: PersonRequest, draft_id: object = None) -> HttpResponse:
    """The first step, afresh or of a draft."""
    draft = draft_of(request, draft_id) if draft_id else None
    if draft is not None and (away := elsewhere(request, draft, "source")):
        return away
    workspace = draft.workspace if draft is not None else importing_workspace(request, request.GET.get("workspace", ""))
    return render_source(request, workspace, draft, kind=request.GET.get("source", ""))


def render_source(
    request: PersonRequest, workspace: Workspace, draft: ImportDraft | None, *, kind: str = "", status: int = 200, **more: Any
) -> HttpResponse:
    """The step's page; `more` says what went wrong with which form."""
    found = next((each for each in KINDS if each.value == kind and each.is_available(workspace)), KINDS[0])
    here = step_url(draft, "source") if draft is not None else reverse("imports:source")
    context: dict[str, Any] = {
        "draft": draft,
        "state": draft.state if draft is not None else {},
        "form_workspace": workspace,
        "step": "source",
        "steps": stepper(draft, "source"),
        "kind": found.value,
        "kind_template": found.template,
        "kinds": _kinds(here, workspace, found.value),
        "suffixes": SUFFIXES,
        "limits": limits(),
        "problems": {},
        "here": here,
    }
    context |= found.context(request, workspace)
    if draft is None:
        context["drafts"] = queries.drafts_of(request.user, workspace)[: queries.DRAFTS_LISTED]
    if kind == "github" or context["state"].get("source", {}).get("kind") == "github":
        context["has_lost_github"] = not may_use_github(workspace)
    target: str | None = getattr(request.htmx, "target", None)  # type: ignore[attr-defined]
    if target in ("hub", "github"):
        return render_page(request, found.template, context | more, status=status)
    return render_page(request, "imports/source.html", context | more, partial="wizard", status=status)


def _kinds(here: str, workspace: Workspace, chosen: str) -> list[dict[str, Any]]:
    return [
        {"value": kind.value, "label": kind.label, "href": f"{here}?source={kind.value}", "is_current": kind.value == chosen, "count": None}
        for kind in KINDS
        if kind.is_available(workspace)
    ]


def _file_context(request: PersonRequest, workspace: Workspace) -> dict[str, Any]:
    """What the workspace has, and how much more it may bring in."""
    held = limits()
    used = storage.used_bytes(workspace) + storage.reserved_bytes(workspace)
    return {
        "files": queries.uploaded_files(workspace)[:FILES_LISTED],
        "fetched": queries.fetched_files(workspace)[:FILES_LISTED],
        "unfinished": queries.unfinished_files(request.user, workspace)[:FILES_LISTED],
        "uploads_left": max(0, held.uploads_a_day - uploads_queries.count_since(workspace, timezone.now() - timedelta(days=1))),
        "sources": uploads_queries.count_active_sources(workspace),
        "used_bytes": used,
    }


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of source: where it can be used, what its form shows, and the template of the form."""

    value: str
    label: str
    template: str
    is_available: Callable[[Workspace], bool]
    context: Callable[[PersonRequest, Workspace], dict[str, Any]]


KINDS = (
    Kind("file", "A file", "imports/source_file.html", lambda workspace: True, _file_context),
    Kind("huggingface", "Hugging Face", "imports/source_hub.html", may_use_hub, lambda request, workspace: hub_context(request)),
    Kind("github", "GitHub", "imports/source_github.html", may_use_github, github_context),
)
"""In the order of their tabs. The address names one: `?source=huggingface`."""


@page
@require_POST
def upload(request: PersonRequest) -> HttpResponse:
    """A whole file in one form, which needs no script; afterwards it is looked at."""
    workspace, draft = target_of(request)
    file = request.FILES.get("file")
    if file is None or not file.name or file.file is None:
        return render_source(request, workspace, draft, kind="file", status=422, problems={"file": "Choose a file first."})
    try:
        stored = upload_whole(workspace, actor=actor_of(request), name=file.name, size=file.size or 0, stream=file.file)
    except Forbidden:
        raise
    except Refused as refusal:
        return render_source(request, workspace, draft, kind="file", status=refusal.status, problems={"file": in_words(refusal.message)})
    return begin(request, workspace, draft, stored_at(workspace, stored.uri), {"kind": "file"})


@page
@require_POST
def abandon(request: PersonRequest, upload_id: object) -> HttpResponse:
    """Give an upload up that has not arrived whole."""
    found = queries.get_upload_seen_by(request.user, str(upload_id))
    abandon_upload(found, actor=actor_of(request))
    messages.success(request, "The upload is given up, and its place is free again.")
    return redirect_to(request, reverse("imports:source"))


@page
@require_POST
def choose(request: PersonRequest) -> HttpResponse:
    """A file that the workspace has already: from an earlier upload or import, or one that script has just sent."""
    workspace, draft = target_of(request)
    uri = request.POST.get("source", "")
    kind = "huggingface" if uri.startswith("hf://") else "github" if uri.startswith("github://") else "file"
    try:
        found = stored_at(workspace, uri)
    except Refused as refusal:
        problems = {"chosen": in_words(refusal.message) if uri else "Choose one of the files."}
        return render_source(request, workspace, draft, kind=kind, status=422, problems=problems)
    return begin(request, workspace, draft, found, {"kind": kind})


stored_at = drafting.stored_source


def target_of(request: PersonRequest) -> tuple[Workspace, ImportDraft | None]:
    """The workspace that the form names, and the draft whose source is chosen anew, if it is one."""
    if draft_id := request.POST.get("draft", ""):
        draft = draft_of(request, draft_id)
        return draft.workspace, draft
    return importing_workspace(request, request.POST.get("workspace", "")), None


def begin(
    request: PersonRequest, workspace: Workspace, draft: ImportDraft | None, stored: StoredSource, looked: dict[str, Any]
) -> HttpResponse:
    """Put the stored file into the draft, or begin one with it, and go on to its preview."""
    looked = {**looked, "name": stored.name, "license": stored.license, **stored.origin}
    actor = actor_of(request)
    if draft is not None and draft.source == stored.uri:
        suggested: dict[str, Any] = {}
    else:
        suggested = drafting.suggested_state(stored)
    if stored.license:
        suggested["data_license"] = stored.license
    if draft is None:
        draft = create_draft(workspace, actor=actor, source=stored.uri, state={**suggested, "source": looked, "done": ["source"]})
    else:
        try:
            draft = set_source(draft, actor=actor, seen=seen_by(request), uri=stored.uri, looked=looked, suggested=suggested)
        except Conflict as refusal:
            if refusal.code != "draft_changed":
                raise
            trouble = "This draft was changed in another tab. The file is kept; choose it again below to put it into the draft."
            return render_source(request, workspace, draft_of(request, draft.public_id), status=409, trouble=trouble)
    return redirect_to(request, step_url(draft, "preview"))
