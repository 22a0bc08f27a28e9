"""Bringing an old evaluation along: choose its files, see what was understood of them, confirm, and then where the verdicts agree."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from catalog import queries as catalog
from catalog.enums import Grader, VersionState
from catalog.models import BenchmarkVersion
from common.errors import Forbidden, Refused
from common.pages import page_of
from common.web import page, redirect_to, render_page
from gateway import queries as gateway
from gateway.enums import Agreement
from gateway.recorded import FORMATS as FORMAT_WORDS
from imports.actions.benchmarks import RIGHTS_STATEMENT
from imports.actions.drafts import NOT_IMPORTER
from imports.actions.recorded import RecordedReport, archive_recorded, check_recorded, import_recorded
from imports.actions.whole_uploads import upload_several
from imports.asking import CHOICES, COLUMN_ROLES, Asked
from imports.limits import limits
from imports.models import Upload
from imports.queries import drafts as queries
from imports.queries.recorded import agreement_of_model
from imports.queries.sources import sources_of_upload
from imports.views.frame import actor_of, importing_workspace
from imports.wording import in_words
from workspaces.models import Workspace
from workspaces.permissions import can_import, require
from workspaces.queries import required_workspace
from workspaces.requests import PersonRequest

SUFFIXES = ".json,.jsonl,.ndjson,.yaml,.yml,.eval,.csv,.tsv,.parquet"
ANSWERS_A_PAGE = 50
MODELS_LISTED = 50


@page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def recorded(request: PersonRequest) -> HttpResponse:
    """Choose the files of an old evaluation; they are stored and then looked at."""
    data = request.POST if request.method == "POST" else request.GET
    workspace = importing_workspace(request, data.get("workspace", ""))
    version = _version(workspace, data.get("benchmark", ""))
    if request.method != "POST":
        return _choose(request, workspace, version)
    files = [(file.name, file.size or 0, file.file) for file in request.FILES.getlist("files") if file.name and file.file is not None]
    if not files:
        return _choose(request, workspace, version, "Choose a file first.", 422)
    try:
        upload = upload_several(workspace, actor=actor_of(request), files=files)
    except Forbidden:
        raise
    except Refused as refusal:
        return _choose(request, workspace, version, in_words(refusal.message), refusal.status)
    query = f"?benchmark={version.profile_id}&format=predictions" if version is not None else ""
    return redirect_to(request, reverse("imports:recorded_files", args=[upload.public_id]) + query)


def _choose(
    request: PersonRequest, workspace: Workspace, version: BenchmarkVersion | None, problem: str = "", status: int = 200
) -> HttpResponse:
    context = {
        "form_workspace": workspace,
        "version": version,
        "suffixes": SUFFIXES,
        "problem": problem,
        "limits": limits(),
        "models": gateway.recorded_models_for(workspace)[:MODELS_LISTED],
    }
    return render_page(request, "imports/recorded.html", context, status=status)


@page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def recorded_files(request: PersonRequest, upload_id: object) -> HttpResponse:
    """What was understood of the files; a valid POST brings it in."""
    upload = queries.get_upload_seen_by(request.user, str(upload_id))
    require(can_import(actor_of(request), upload.workspace), NOT_IMPORTER)
    asked = Asked.of(request.POST if request.method == "POST" else request.GET)
    version, problem, status = _version(upload.workspace, asked.benchmark), "", 200
    report: RecordedReport | None = None
    try:
        sources = sources_of_upload(upload)
        wanted = asked.request(version)
        if request.method == "POST":
            made, models = import_recorded(upload.workspace, actor=actor_of(request), sources=sources, request=wanted)
            messages.success(request, _made_words(made, len(models)))
            if len(models) == 1:
                return redirect_to(request, reverse("imports:recorded_model", args=[models[0].public_id]))
            return redirect_to(request, reverse("catalog:benchmark", args=[made.benchmark.slug]))
        report = check_recorded(upload.workspace, actor=actor_of(request), sources=sources, request=wanted)
    except Forbidden:
        raise
    except Refused as refusal:
        problem, status = in_words(refusal.message), refusal.status if request.method == "POST" else 200
        if request.method == "POST":
            report = _report(upload, request, asked, version)
    context = _files_context(upload, asked, version, report, problem)
    return render_page(request, "imports/recorded_files.html", context, status=status)


def _report(upload: Upload, request: PersonRequest, asked: Asked, version: BenchmarkVersion | None) -> RecordedReport | None:
    """What is understood of the files even so, beside a refusal."""
    try:
        return check_recorded(upload.workspace, actor=actor_of(request), sources=sources_of_upload(upload), request=asked.request(version))
    except Refused:
        return None


def _version(workspace: Workspace, name: str) -> BenchmarkVersion | None:
    found = [version for version in catalog.find_versions(workspace, name) if version.state == VersionState.ACTIVE] if name else []
    return found[0] if len(found) == 1 else None


def _made_words(version: BenchmarkVersion, models: int) -> str:
    several = f"{models} recorded models are" if models != 1 else "1 recorded model is"
    return f"{several} ready to be run on {version.benchmark.name}, at no cost."


def _files_context(
    upload: Upload, asked: Asked, version: BenchmarkVersion | None, report: RecordedReport | None, problem: str
) -> dict[str, Any]:
    understood = report.understood if report is not None else {}
    is_predictions = (asked.format or understood.get("format")) == "predictions"
    return {
        "form_workspace": upload.workspace,
        "upload": upload,
        "files": list(upload.files.all()),
        "asked": asked,
        "version": version,
        "report": report,
        "understood": understood,
        "format_words": FORMAT_WORDS.get(understood.get("format", ""), ""),
        "problem": problem,
        "formats": CHOICES,
        "graders": [(value, label) for value, label in Grader.choices if report is None or value != Grader.MULTIPLE_CHOICE],
        "is_predictions": is_predictions,
        "columns": [(role, asked.columns.get(role, "")) for role in COLUMN_ROLES],
        "statement": RIGHTS_STATEMENT,
        "can_create": report is not None and (version is not None or report.grader is not None),
        "count": len(understood.get("models", [])),
    }


@page
@require_safe
def recorded_model(request: PersonRequest, model_id: object) -> HttpResponse:
    """A recorded model: item by item, where our verdict agrees with the one it had."""
    model = gateway.get_recorded_model_of_member(request.user, str(model_id))
    agreement = request.GET.get("agreement", "") if request.GET.get("agreement") in Agreement.values else ""
    search = request.GET.get("q", "").strip()[:200]
    found = gateway.recorded_answers_of(model, agreement=agreement, q=search)
    listed = page_of(found, order="id", cursor=request.GET.get("cursor"), limit=ANSWERS_A_PAGE)
    counted = agreement_of_model(model)
    context = {
        "model": model,
        "source_words": FORMAT_WORDS.get(str(model.source.get("format")), "a file"),
        "counted": counted,
        "agreements": [(kind.value, kind.label, counted.counts[kind.value]) for kind in Agreement],
        "agreement": agreement,
        "search": search,
        "is_filtered": bool(agreement or search),
        "answers": listed.rows,
        "next_cursor": listed.next_cursor,
        "cursor": request.GET.get("cursor"),
        "can_change": can_import(actor_of(request), model.workspace),
    }
    return render_page(request, "imports/recorded_model.html", context, partial="list")


@page
@require_POST
def recorded_archiving(request: PersonRequest, model_id: object) -> HttpResponse:
    """Take a recorded model from what can be run."""
    model = archive_recorded(gateway.get_recorded_model_of_member(request.user, str(model_id)), actor=actor_of(request))
    messages.success(request, f"{model.name} is archived. Runs of it stay.")
    return redirect_to(request, reverse("imports:recorded_model", args=[model.public_id]))


@page
@require_safe
def recorded_of_benchmark(request: PersonRequest, slug: str) -> HttpResponse:
    """The workspace's recorded models of a benchmark. The benchmark's page fetches it as a part."""
    benchmark = catalog.get_benchmark_of_member(request.user, slug)
    workspace = benchmark.workspace or required_workspace(request)
    latest = catalog.latest_of(list(catalog.versions_of(benchmark)))
    context = {
        "benchmark": benchmark,
        "of_workspace": workspace,
        "models": gateway.recorded_models_of_benchmark(workspace, benchmark)[:MODELS_LISTED],
        "version": latest,
        "can_add": latest is not None and benchmark.archived_at is None and can_import(actor_of(request), workspace),
    }
    return render_page(request, "imports/recorded_of_benchmark.html", context, partial="list")
