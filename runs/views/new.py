"""A new evaluation: one page of steps. Its address carries the whole setup, so it can be left, shared in the team and come back to."""

from dataclasses import dataclass, replace
from typing import Any

from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from catalog import queries as catalog
from catalog.enums import VersionState
from catalog.models import BenchmarkVersion, ModelRoute, RouteRate
from common.errors import Forbidden, Refused
from common.web import is_fragment_request, page, redirect_to, render_page
from gateway import queries as gateway
from gateway.baselines import NAMES as BASELINES
from gateway.models import Connection, RecordedModel
from runs import actions, queries
from runs.compatibility import Refusal, route_refusal
from runs.enums import CoverageMode
from runs.forms import (
    DEFAULT_SAMPLE,
    EFFORTS,
    FIELD_OF_REFUSAL,
    MOST_ATTEMPTS,
    MOST_BENCHMARKS,
    MOST_SUBJECTS,
    REASONING_CHOICES,
    STEP_FIELDS,
    STEPS,
    Setup,
    SetupForm,
)
from runs.models import Run
from runs.requests import DEFAULT_CONCURRENCY
from runs.statistics import ASSUMED_DISAGREEMENT, smallest_difference
from runs.views.picking import all_task_ids, pick, picker_context
from runs.wording import refusal_words
from workspaces.actors import actor_of_user
from workspaces.models import Workspace
from workspaces.permissions import can_run, require
from workspaces.queries import get_workspace_of, required_workspace
from workspaces.requests import PersonRequest

BENCHMARKS_SHOWN = 50
RECORDED_SHOWN = 100
DRAFT = "evaluation_setup"
"""Where the session keeps the setup that was last worked on."""
MOST_KEPT = 8000
BASELINE_WORDS = {
    "random-choice": "Answers at random from a row's choices, or from the answers that the benchmark knows. The floor of a guess.",
    "most-frequent-answer": "Always gives the benchmark's most frequent answer. The floor of knowing the answers' distribution.",
}


@dataclass(frozen=True, slots=True)
class Option:
    """A model that can be chosen: `value` is what the form sends, `refusal` why it cannot run this benchmark."""

    value: str
    label: str
    is_chosen: bool
    route: ModelRoute | None = None
    rate: RouteRate | None = None
    connection: Connection | None = None
    note: str = ""
    refusal: Refusal | None = None


@page
@require_http_methods(["GET", "HEAD", "POST"])
def new_evaluation(request: PersonRequest) -> HttpResponse:
    """Set an evaluation up; a valid POST makes the quote and shows it."""
    if request.method == "POST":
        return _quote(request)
    workspace = _workspace(request, request.GET.get("workspace", ""))
    require(
        can_run(actor_of_user(request.user), workspace),
        "Viewers read results. Ask an admin of this workspace for the member role to run evaluations.",
    )
    setup = _setup(request)
    context = _context(request, workspace, setup)
    _remember(request, context)
    response = render_page(request, "runs/new_evaluation.html", context, partial=_partial(request))
    if is_fragment_request(request):
        response["HX-Replace-Url"] = f"{request.path}?{setup.query()}&workspace={workspace.public_id}"
    return response


def _remember(request: PersonRequest, context: dict[str, Any]) -> None:
    """Keep the setup in the session until it is quoted, and offer the last one again where the page is opened afresh."""
    workspace, setup, version = context["form_workspace"], context["setup"], context["version"]
    draft = request.session.get(DRAFT)
    if version is not None:
        kept = {
            "workspace": str(workspace.public_id),
            "query": setup.query(),
            "name": version.benchmark.name,
            "models": len(setup.subjects),
        }
        if kept != draft and len(kept["query"]) <= MOST_KEPT:
            request.session[DRAFT] = kept
    elif isinstance(draft, dict) and draft.get("workspace") == str(workspace.public_id) and not setup.query(without="step"):
        context["draft"] = draft


def _quote(request: PersonRequest) -> HttpResponse:
    workspace = _workspace(request, request.POST.get("workspace", ""))
    require(can_run(actor_of_user(request.user), workspace))
    data = request.POST.copy()
    ids = "" if data.getlist("more") else all_task_ids(_version(workspace, data.get("benchmark", "")), data)
    data["task_ids"] = ids or ""
    form = SetupForm(data)
    status = 422
    if form.is_valid():
        try:
            quote = actions.create_quote(workspace, actor=actor_of_user(request.user), request=form.as_request())
            request.session.pop(DRAFT, None)
            return redirect_to(request, reverse("runs:quote", args=[quote.public_id]))
        except Forbidden:
            raise
        except Refused as refusal:
            status = refusal.status
            form.add_error(FIELD_OF_REFUSAL.get(refusal.code), refusal_words(refusal))
    context = _context(request, workspace, Setup.from_query(request.POST), form=form)
    return render_page(request, "runs/new_evaluation.html", context, partial="setup", status=status)


def _partial(request: PersonRequest) -> str:
    """The part that htmx asked for by its target: what is chosen so far, the picker of tasks, the benchmarks found, or the step."""
    htmx = getattr(request, "htmx", None)
    return {"reach": "reach_answer", "picker": "picker_answer", "found": "found_answer", "benchmarks": "benchmarks"}.get(
        (htmx and htmx.target) or "", "setup"
    )


def _workspace(request: PersonRequest, workspace_id: str) -> Workspace:
    """The workspace that the form names, else the session's. Raises Workspace.DoesNotExist for one the person is not in."""
    return get_workspace_of(request.user, workspace_id) if workspace_id else required_workspace(request)


def _setup(request: PersonRequest) -> Setup:
    """The setup of an earlier run or quote where the address names one, else what the address itself carries.

    With `reuse` the run's finished answers are to be taken over, and `step` and `attempts` say what is to be changed.
    """
    query = request.GET
    if run_id := query.get("from", ""):
        run = queries.get_run_of_member(request.user, run_id)
        setup = Setup.from_quote(run.quote.request_document, run.quote.plan_document)
        setup.reuse_from = str(run.public_id) if query.get("reuse") else ""
        setup.step = query["step"] if query.get("step") in STEPS else setup.step
        setup.attempts = query.get("attempts", setup.attempts)
        return setup
    if quote_id := query.get("quote", ""):
        quote = queries.get_quote_of_member(request.user, quote_id)
        return Setup.from_quote(quote.request_document, quote.plan_document)
    return Setup.from_query(query)


def _context(request: PersonRequest, workspace: Workspace, setup: Setup, *, form: SetupForm | None = None) -> dict[str, Any]:
    version = _version(workspace, setup.benchmark)
    further = [found for found in (_version(workspace, name) for name in setup.more) if found is not None and found != version]
    setup.more = list(dict.fromkeys(each.profile_id for each in further))
    is_adding = version is not None and request.GET.get("adding", "") != "" and len(setup.more) + 1 < MOST_BENCHMARKS
    search = request.GET.get("q", "").strip()[:100]
    context: dict[str, Any] = {
        "setup": setup,
        "form": form,
        "form_workspace": workspace,
        "version": version,
        "search": search,
        "missing_benchmark": setup.benchmark if setup.benchmark and version is None else "",
        "other_query": _query(setup, tasks="", task_ids="", step="models", **({} if is_adding else {"benchmark": "", "more": []})),
        "is_adding": is_adding,
        "further": [{"version": each, "without": _without(setup, each.profile_id)} for each in further],
    }
    step = "benchmark" if is_adding else _step(setup, version, form)
    setup.step = step if version is not None else ""
    context["step"] = step
    if version is None or step == "benchmark":
        context["steps"] = _steps(setup, version, step, 0, workspace)
        context["taken"] = [setup.benchmark, *setup.more] if is_adding else []
        context["benchmarks"] = catalog.catalog_entries(workspace, q=search, status=VersionState.ACTIVE)[:BENCHMARKS_SHOWN]
        return context
    if form is None and setup.sample_count == str(DEFAULT_SAMPLE):
        setup.sample_count = str(min(DEFAULT_SAMPLE, version.task_count))  # a small benchmark has no default sample
    picked = pick(version, setup, request.POST if form else request.GET)
    is_picked = setup.coverage == CoverageMode.TASKS
    total = (
        len(picked.tasks) if is_picked else version.task_count if setup.task_total is None else min(setup.task_total, version.task_count)
    )
    attempts = int(setup.attempts) if setup.attempts.isdecimal() and 1 <= int(setup.attempts) <= MOST_ATTEMPTS else 1
    totals = [total, *(_total_of(each, setup) for each in further)]
    options = _options(workspace, [version, *further], setup, attempts)
    if step == "tasks" and not further:
        context |= picker_context(version, picked, request.GET)
    return context | {
        "picked": picked,
        "is_fragment": is_fragment_request(request),
        "chosen": [option for group in options.values() for option in group if option.is_chosen],
        "hidden": setup.pairs(but_step=step),
        "steps": _steps(setup, version, step, sum(totals), workspace),
        "next_step": STEPS[STEPS.index(step) + 1] if step != STEPS[-1] else "",
        "manifest": catalog.manifest_of(version),
        "options": options,
        "most_subjects": MOST_SUBJECTS,
        "reasoning_choices": REASONING_CHOICES,
        "default_concurrency": DEFAULT_CONCURRENCY,
        "task_total": sum(totals),
        "population": version.task_count + sum(each.task_count for each in further),
        "most_attempts": MOST_ATTEMPTS,
        "attempts": attempts,
        "weighted": [
            {"version": each, "weight": setup.weights[place] if place < len(setup.weights) else ""}
            for place, each in enumerate([version, *further])
        ],
        "chosen_count": len(setup.subjects),
        "call_total": sum(totals) * len(setup.subjects) * attempts,
        "smallest_difference": smallest_difference(min(totals), ASSUMED_DISAGREEMENT) if all(totals) else None,
        "fewest_tasks": min(totals),
        "can_add": len(setup.more) + 1 < MOST_BENCHMARKS and setup.coverage != CoverageMode.TASKS,
        "reused_run": _reused_run(request, setup),
        "without_reuse": f"?{_query(setup, reuse_from='')}&workspace={workspace.public_id}",
        "assumed_disagreement": ASSUMED_DISAGREEMENT,
    }


def _total_of(version: BenchmarkVersion, setup: Setup) -> int:
    """How many of a further benchmark's tasks are asked."""
    return version.task_count if setup.task_total is None else min(setup.task_total, version.task_count)


def _without(setup: Setup, profile_id: str) -> str:
    """The query of the setup without one of its further benchmarks."""
    return _query(setup, more=[each for each in setup.more if each != profile_id], weights=[])


def _reused_run(request: PersonRequest, setup: Setup) -> Run | None:
    """The run whose answers are to be taken over, where the person may see it."""
    try:
        return queries.get_run_of_member(request.user, setup.reuse_from) if setup.reuse_from else None
    except Run.DoesNotExist:
        return None


def _query(setup: Setup, **changed: Any) -> str:
    return replace(setup, **changed).query()


def _step(setup: Setup, version: BenchmarkVersion | None, form: SetupForm | None) -> str:
    """The step that is open: the first with something to put right, the one that the address names, else the first open question."""
    if version is None:
        return "benchmark"
    if form is not None:
        return next((step for step in STEPS[1:] if any(name in form.errors for name in STEP_FIELDS[step])), "settings")
    return setup.step or "models"


def _steps(setup: Setup, version: BenchmarkVersion | None, step: str, total: int, workspace: Workspace) -> list[dict[str, str]]:
    """The stepper: what is done leads back with everything that is chosen."""
    has_tasks = total > 0
    notes = {
        "benchmark": _named(setup, version) if version else "",
        "models": f"{len(setup.subjects)} chosen" if setup.subjects else "",
        "tasks": f"{total:,} task{'' if total == 1 else 's'}" if has_tasks and version else "",
    }
    done = {
        "benchmark": version is not None,
        "models": bool(setup.subjects),
        "tasks": has_tasks and STEPS.index(step) > 2,
        "settings": False,
    }
    words = {"benchmark": "Benchmark", "models": "Models", "tasks": "Tasks", "settings": "Settings"}
    found = []
    for name in STEPS:
        state = "current" if name == step else "done" if done[name] else "todo"
        href = f"?{_query(setup, step=name)}&workspace={workspace.public_id}" if version is not None and name != step else ""
        found.append({"label": words[name], "state": state, "href": href, "note": notes.get(name, "") if name != step else ""})
    return [*found, {"label": "Quote", "state": "todo", "href": "", "note": ""}]


def _named(setup: Setup, version: BenchmarkVersion) -> str:
    return f"{version.benchmark.name} + {len(setup.more)}" if setup.more else version.benchmark.name


def _version(workspace: Workspace, name: str) -> BenchmarkVersion | None:
    found = [version for version in catalog.find_versions(workspace, name) if version.state == VersionState.ACTIVE] if name else []
    return found[0] if len(found) == 1 else None


def _options(workspace: Workspace, versions: list[BenchmarkVersion], setup: Setup, attempts: int) -> dict[str, list[Option]]:
    """The models that there are. Recorded answers are offered where there is one benchmark and one attempt: they hold no more."""
    chosen, version = set(setup.subjects), versions[0]
    limit = int(setup.max_output_tokens) if setup.max_output_tokens.isdecimal() else None
    reasoning: dict[str, object] = {"effort": setup.reasoning} if setup.reasoning in EFFORTS else {}
    if setup.reasoning == "budget":
        reasoning = {"budget_tokens": setup.reasoning_budget}
    managed = []
    now = timezone.now()
    for route in catalog.active_routes():
        rate = catalog.current_rate(route, now)
        if rate is None:
            continue
        value = f"managed:{route.route_id}"
        refusals = (
            route_refusal(each, route, output_limit=each.max_output_tokens if limit is None else limit, reasoning=reasoning)
            for each in versions
        )
        refusal = next((each for each in refusals if each is not None), None)
        managed.append(Option(value, route.name, value in chosen, route=route, rate=rate, refusal=refusal))
    own = []
    for connection in gateway.connections_for(workspace):
        value = f"connection:{connection.public_id}"
        unchecked = None if connection.checked_at else Refusal("connection_unchecked", "Check this connection before it is quoted.")
        own.append(Option(value, connection.name, value in chosen, connection=connection, refusal=unchecked))
    floors = [Option(f"baseline:{name}", name, f"baseline:{name}" in chosen, note=BASELINE_WORDS.get(name, "")) for name in BASELINES]
    recorded = [
        Option(f"recorded:{model.public_id}", model.name, f"recorded:{model.public_id}" in chosen, note=_recorded_note(model, version))
        for model in gateway.recorded_models_of_version(workspace, version)[:RECORDED_SHOWN]
        if len(versions) == 1 and attempts == 1
    ]
    return {"managed": managed, "connections": own, "baselines": floors, "recorded": recorded}


def _recorded_note(model: RecordedModel, version: BenchmarkVersion) -> str:
    """What a recording covers, in words."""
    covered = "all" if model.answer_count == version.task_count else f"{model.answer_count:,} of the"
    return f"Recorded answers to {covered} {version.task_count:,} tasks · free, no model is called"
