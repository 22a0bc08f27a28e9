"""Step 7: three rows as they will be delivered, what a model never receives, and the benchmark itself."""

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from common.errors import Forbidden, Refused
from common.web import page, redirect_to, render_page
from imports import drafting
from imports.actions.checking import nudge_checks, start_check
from imports.enums import CheckStatus
from imports.manifests import DEFAULT_LICENSE
from imports.models import ImportDraft, RowCheck
from imports.queries.drafts import latest_check
from imports.views.frame import actor_of, context_of, draft_of, elsewhere, step_url
from imports.wording import in_words
from workspaces.requests import PersonRequest


@page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def create(request: PersonRequest, draft_id: object) -> HttpResponse:
    """Read it once more, and create the benchmark with POST."""
    draft = draft_of(request, draft_id)
    if draft.version is not None:
        messages.success(
            request, f"{draft.version.profile_id} is ready, with {draft.version.task_count:,} tasks. Only this workspace sees it."
        )
    if away := elsewhere(request, draft, "create"):
        return away
    trouble = ""
    if request.method == "POST":
        try:
            start_check(draft, actor=actor_of(request), creates=True)
            return redirect_to(request, step_url(draft, "create"))
        except Forbidden:
            raise
        except Refused as refusal:
            trouble = in_words(refusal.message)
    return _answer(request, draft, trouble)


def _answer(request: PersonRequest, draft: ImportDraft, trouble: str) -> HttpResponse:
    sha256 = drafting.checked_sha256(draft)
    checked, making = latest_check(draft, sha256), latest_check(draft, sha256, creates=True)
    is_open = making is not None and _is_open(making)
    if making is not None and is_open:
        nudge_checks(draft, actor=actor_of(request))
        making.refresh_from_db()
        is_open = _is_open(making)
    if making is not None and making.refusal and not trouble:
        trouble = making.refusal["message"]
    report = (checked.report if checked is not None else None) or {}
    context = context_of(
        draft,
        "create",
        report=report,
        making=making,
        is_open=is_open,
        trouble=trouble,
        grader=drafting.grader_of(draft.state),
        limit=draft.state.get("max_output_tokens") or 256,
        license=draft.state.get("data_license") or DEFAULT_LICENSE,
        catalog=reverse("catalog:benchmarks"),
    )
    target = getattr(request.htmx, "target", None)  # type: ignore[attr-defined]
    return render_page(
        request,
        "imports/create.html",
        context,
        partial="progress" if target == "progress" else "wizard",
        status=422 if trouble and request.method == "POST" else 200,
    )


def _is_open(check: RowCheck) -> bool:
    return check.status in {CheckStatus.QUEUED, CheckStatus.RUNNING}
