"""A run against an earlier one of the same benchmark version and models."""

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from common.pages import read_cursor, write_cursor
from common.web import is_fragment_request, page, render_page
from runs import documents, queries
from runs.charts.tradeoffs import cost_of_answers
from runs.comparison import queries as comparisons
from runs.comparison.earlier import earlier_of, earlier_runs, get_earlier_run
from runs.comparison.verdicts import page_of_places
from runs.differences import ModelDifference, difference_documents, differences
from runs.enums import SubjectKind
from runs.models import Run, Sample
from workspaces.requests import PersonRequest

TASKS_A_PAGE = 50
CALLED = {SubjectKind.MANAGED, SubjectKind.CONNECTION}
DIRECTIONS = (("any", "Changed"), ("to_wrong", "Right, now wrong"), ("to_right", "Wrong, now right"))
DIRECTIONS_OF_SEVERAL = (("any", "Changed"), ("to_wrong", "Right less often"), ("to_right", "Right more often"))


@page
@require_safe
def difference(request: PersonRequest, run_id: UUID) -> HttpResponse:
    """Both scores, their paired difference, and the tasks that flipped, for the last completed run of each model or the one asked for.

    Asked for by the report's link alone, it answers with that link where there is an earlier run, and with nothing where there is none.
    """
    run = queries.get_run_of_member(request.user, run_id)
    if is_fragment_request(request) and request.htmx.target == "earlier-run":  # type: ignore[attr-defined]
        has_earlier = run.is_ended and any(earlier_of(run, benchmark) for benchmark in run.benchmarks.all())
        return render_page(request, "runs/difference.html", {"run": run, "has_earlier": has_earlier}, partial="link")
    against = get_earlier_run(run, request.GET["against"]) if request.GET.get("against") else None
    result = documents.result_document(queries.get_result(run)) if run.is_ended else None
    found = differences(run, result, against=against) if result else []
    chosen = _chosen(request, found)
    several_benchmarks = len(run.benchmarks.all()) > 1
    models = [_model(each, document) for each, document in zip(found, difference_documents(found), strict=True)]
    context = {
        "run": run,
        "against": against,
        "earlier": _choices(run),
        "models": models,
        "several_benchmarks": several_benchmarks,
        "chosen": next((model for model in models if chosen and model["key"] == _key(chosen)), None),
        "model_links": _model_links(models, _key(chosen) if chosen else None, against, several_benchmarks=several_benchmarks),
        "kept": urlencode({"against": against.public_id}) if against else "",
    }
    if chosen and chosen.paired:
        context |= _flips(request, chosen)
    return render_page(request, "runs/difference.html", context)


def _choices(run: Run) -> list[Run]:
    """Earlier runs that this one can be set against, newest first."""
    found = {each.pk: each for benchmark in run.benchmarks.all() for each in earlier_runs(run, benchmark)}
    return [found[key] for key in sorted(found, reverse=True)]


def _chosen(request: PersonRequest, found: list[ModelDifference]) -> ModelDifference | None:
    """The model whose tasks are listed: the one asked for, else the first that changed on a task, else the first."""
    asked = request.GET.get("model", "")
    for each in found:
        if asked == _key(each):
            return each
    return next((each for each in found if each.paired and each.paired.change.any()), found[0] if found else None)


def _model_links(
    models: list[dict[str, Any]], chosen: str | None, against: Run | None, *, several_benchmarks: bool
) -> list[dict[str, Any]]:
    """Links to each model's tasks that changed; empty where one model has such."""
    options = []
    for model in models:
        flips = model["difference"]["flips"]
        if flips is None:
            continue
        label = (
            f"{model['difference']['label']}, {model['benchmark'].version.profile_id}"
            if several_benchmarks
            else model["difference"]["label"]
        )
        query = urlencode({"model": model["key"], **({"against": str(against.public_id)} if against else {})})
        is_current = model["key"] == chosen
        options.append({"label": label, "count": sum(flips.values()), "href": f"?{query}#flips", "is_current": is_current})
    return options if len(options) > 1 else []


def _key(each: ModelDifference) -> str:
    return f"{each.benchmark.index}-{each.subject.index}"


def _model(each: ModelDifference, document: dict[str, Any]) -> dict[str, Any]:
    """What the page shows of a model: the entry of the API, and what it was and cost then and now."""
    plans = [
        _plan_of(run, index) for run, index in ((each.earlier.run, each.earlier.subject.index), (each.benchmark.run, each.subject.index))
    ]
    return {
        "key": _key(each),
        "difference": document,
        "now": each.now,
        "before": each.before,
        "benchmark": each.benchmark,
        "earlier": each.earlier,
        "facts": [
            {
                "subject": subject,
                "result": result,
                "answers_1000_microusd": None if (cost := cost_of_answers(result)) is None else round(cost),
                "pricing": (plan or {}).get("pricing") or {},
                "reasoning": (plan or {}).get("reasoning") if subject.kind in CALLED else None,
                "output_limit": benchmark.output_limit,
                "attempts": run.attempts,
            }
            for subject, result, plan, benchmark, run in (
                (each.earlier.subject, each.before, plans[0], each.earlier.benchmark, each.earlier.run),
                (each.subject, each.now, plans[1], each.benchmark, each.benchmark.run),
            )
        ],
        "endpoint_changed": each.subject.connection_revision != each.earlier.subject.connection_revision,
    }


def _plan_of(run: Run, index: int) -> dict[str, Any] | None:
    found: dict[str, Any] | None = next((each for each in run.quote.plan_document["subjects"] if each["index"] == index), None)
    return found


def _flips(request: PersonRequest, chosen: ModelDifference) -> dict[str, Any]:
    """A page of the tasks on which the model changed, and links to the other kinds of change with how many there are."""
    assert chosen.paired is not None
    several = max(chosen.benchmark.run.attempts, chosen.earlier.run.attempts) > 1
    words = DIRECTIONS_OF_SEVERAL if several else DIRECTIONS
    direction = request.GET.get("flips", "")
    direction = direction if direction in dict(words) else "any"
    cursor = request.GET.get("cursor")
    places = chosen.paired.flipped(direction)
    positions = chosen.paired.now[places]
    after = int(read_cursor(Sample, "position", cursor)) if cursor else None
    listed, last = page_of_places(positions, after, TASKS_A_PAGE)
    then = dict(zip(positions.tolist(), chosen.paired.then[places].tolist(), strict=True))
    change = dict(zip(positions.tolist(), chosen.paired.change[places].tolist(), strict=True))
    tasks = comparisons.tasks_at(chosen.benchmark, listed)
    segments = []
    for key, label in words:
        query = request.GET.copy()
        query.pop("cursor", None)
        query["flips"] = key
        count = int(chosen.paired.flipped(key).size)
        segments.append({"label": label, "count": count, "href": f"?{query.urlencode()}#flips", "is_current": key == direction})
    return {
        "flips": [{"position": place, "then": then[place], "task": tasks[place], "is_better": change[place] > 0} for place in listed],
        "segments": segments,
        "cursor": cursor,
        "next_cursor": None if last is None else write_cursor(Sample, "position", last),
        "several_attempts": several,
    }
