"""Fetching from the Hugging Face Hub. A token is used for the request that it comes with; nothing keeps it and no page shows it again."""

from django.http import HttpResponse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from common.errors import Refused
from common.web import page
from imports.actions.fetching import fetch_hub
from imports.sources.hub_names import parse_reference
from imports.views.frame import actor_of
from imports.views.source import begin, render_source, stored_at, target_of
from imports.wording import in_words
from workspaces.requests import PersonRequest

FIELDS = {
    "invalid_source": "reference",
    "access_refused": "reference",
    "revision_unresolved": "reference",
    "token_required": "token",
    "config_required": "config",
    "unknown_config": "config",
    "split_required": "split",
    "unknown_split": "split",
    "incomplete_split": "split",
    "file_not_found": "path",
    "file_refused": "path",
    "unsupported_format": "path",
    "invalid_selection": "path",
    "too_many_files": "path",
    "import_too_many_files": "path",
}
"""Where a refusal is said; what concerns the dataset as a whole is said above the form."""


@page
@sensitive_post_parameters("token")
@require_POST
def fetch(request: PersonRequest) -> HttpResponse:
    """Fetch one file of a dataset at its commit, verified and under an accepted licence, and look at it."""
    workspace, draft = target_of(request)
    reference = request.POST.get("reference", "").strip()
    asked = {key: request.POST.get(key, "").strip()[:300] for key in ("config", "split", "path")}
    try:
        named = parse_reference(reference)
        taken = fetch_hub(
            workspace,
            actor=actor_of(request),
            source=f"hf://{named.repository}@{named.revision}",
            config=asked["config"] or None,
            split=asked["split"] or None,
            files=(asked["path"],) if asked["path"] else (),
            token=request.POST.get("token", "").strip(),
        ).source_import
    except Refused as refusal:
        if refusal.code == "forbidden":
            raise
        problems = {FIELDS.get(refusal.code, "hub"): in_words(refusal.message)}
        return render_source(
            request,
            workspace,
            draft,
            kind="huggingface",
            status=refusal.status,
            problems=problems,
            asked={"reference": reference[:300], **asked},
        )
    files = list(taken.files.all())
    if len(files) != 1:
        return render_source(request, workspace, draft, kind="huggingface", several=files, taken=taken)
    return begin(request, workspace, draft, stored_at(workspace, files[0].uri), {"kind": "huggingface"})
