"""The pages of groups: the list, making one of results, its results, its comparison, and files."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from common.errors import Refused
from common.ids import named_id
from common.pages import page_of
from common.web import page, redirect_to, render_page
from runs import queries as run_queries
from runs.charts import cost_chart, differences_chart, ranking_chart, speed_chart
from runs.comparison.tables import compare_tables
from runs.enums import Decision, GroupKind
from runs.groups import queries
from runs.groups.actions import create_group
from runs.groups.documents import group_document, listed_document
from runs.groups.exporting import FORMATS, export_response
from runs.groups.forms import GroupForm
from runs.groups.likeness import Protocol, differences
from runs.groups.listing import page_of_groups
from runs.groups.queries import Found
from runs.groups.resolving import MOST, parse_key, resolve_several
from workspaces.actors import actor_of_user
from workspaces.models import Workspace
from workspaces.permissions import can_run, require
from workspaces.queries import get_workspace_of, required_workspace
from workspaces.requests import PersonRequest

GROUPS_A_PAGE = 25
TONES = {Decision.PASS: "good", Decision.FAIL: "bad", Decision.INCONCLUSIVE: "warn", "cannot_tell": "warn"}
OUTCOMES = {"pass": "Passes", "fail": "Fails", "cannot_tell": "Cannot tell"}
CHECKS = {"min_score": "Least score", "max_drop": "Largest drop", "min_coverage": "Least coverage"}
STATES = {"changed": "Not the result that was frozen", "gone": "No longer there", "pending": "Not finished yet"}


@page
@require_safe
def groups(request: PersonRequest) -> HttpResponse:
    """The workspace's groups, newest first: made from results, started together, compared over HTTP."""
    workspace = required_workspace(request)
    kind = request.GET.get("kind", "") if request.GET.get("kind") in GroupKind.values else ""
    cursor = request.GET.get("cursor")
    rows, next_cursor = page_of_groups(workspace, kinds=(kind,) if kind else GroupKind.values, cursor=cursor, limit=GROUPS_A_PAGE)
    context = {
        "groups": [_row(listed_document(row)) for row in rows],
        "next_cursor": next_cursor,
        "cursor": cursor,
        "kind": kind,
        "kinds": GroupKind.choices,
        "can_run": can_run(actor_of_user(request.user), workspace),
    }
    return render_page(request, "runs/groups/list.html", context, partial="list")


@page
@require_http_methods(["GET", "HEAD", "POST"])
def new_group(request: PersonRequest) -> HttpResponse:
    """Choose two to eight finished results and the baseline among them, then make the group. Choosing is in the address."""
    asked = request.POST if request.method == "POST" else request.GET
    keys = list(dict.fromkeys(asked.getlist("results")))[: 2 * MOST]
    references = [reference for reference in map(parse_key, keys) if reference is not None]
    workspace = _workspace(request, references[0].run_id if references else None)
    actor = actor_of_user(request.user)
    require(can_run(actor, workspace), "Your role may look at groups, and not make them.")
    chosen = resolve_several(workspace, references)
    form = GroupForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        cleaned = form.cleaned_data
        try:
            group = create_group(
                workspace,
                actor=actor,
                references=cleaned["results"],
                baseline=cleaned["baseline"],
                name=cleaned["name"],
                policy=form.policy,
            )
        except Refused as refused:
            form.add_error(None, refused.message)
        else:
            messages.success(request, "The group is made: its results are frozen, and no model was run again.")
            return redirect_to(request, reverse("runs:group_comparison", args=[group.public_id]))
    context = _choosing(request.GET, workspace, chosen, asked.get("baseline", ""))
    status = 422 if form.is_bound else 200
    return render_page(request, "runs/groups/new.html", {**context, "form": form}, partial="offered", status=status)


@page
@require_safe
def group(request: PersonRequest, group_id: UUID) -> HttpResponse:
    """The results of a group: a saved one, or a run of several models."""
    document = group_document(queries.find_group_of_member(request.user, group_id))
    return render_page(request, "runs/groups/group.html", _of_group(request, document, "runs"))


@page
@require_safe
def group_comparison(request: PersonRequest, group_id: UUID) -> HttpResponse:
    """How a group's results compare, and what its checks say."""
    document = group_document(queries.find_group_of_member(request.user, group_id))
    members = {member["index"]: member for member in document["members"]}
    context = {
        **_of_group(request, document, "comparison"),
        "sets": [
            _drawn(order, compared, members) for order, compared in enumerate(document["comparisons"]) if len(compared["members"]) > 1
        ],
        "against": [
            {**row, "member": members[row["member"]], "checks": _checks(document, row["member"])} for row in document["against_baseline"]
        ],
        "apart": [
            {"member": members[row["member"]], "differences": row["differences"], "checks": _checks(document, row["member"])}
            for row in document["unlike"]
        ],
    }
    return render_page(request, "runs/groups/comparison.html", context)


@page
@require_safe
def group_export(request: PersonRequest, group_id: UUID, file_format: str) -> HttpResponse:
    """The group as a file in one of FORMATS."""
    found = queries.find_group_of_member(request.user, group_id)
    if file_format not in FORMATS:
        raise Http404
    return export_response(found, file_format)


def _workspace(request: PersonRequest, run_id: UUID | None) -> Workspace:
    """The one that the form names, else that of the first chosen result, else the one the person works in."""
    if request.method == "POST":
        return get_workspace_of(request.user, named_id(request.POST.get("workspace")))
    return queries.workspace_of_results(request.user, run_id) or required_workspace(request)


def _row(document: dict[str, Any]) -> dict[str, Any]:
    """A row of the list, with its words."""
    decision = document["decision"]
    return {
        **document,
        "kind_words": GroupKind(document["kind"]).label,
        "decision_words": Decision(decision).label if decision else "",
        "decision_tone": TONES.get(decision, "neutral"),
        "more": len(document["labels"]) - 1,
    }


def _of_group(request: HttpRequest, document: dict[str, Any], current: str) -> dict[str, Any]:
    """What both tabs show."""
    paths = {"runs": "runs:group", "comparison": "runs:group_comparison"}
    members = document["members"]
    tabs = [
        {"label": label, "href": reverse(paths[key], args=[document["id"]]), "is_current": key == current, "count": count}
        for key, label, count in (("runs", "Runs", len(members)), ("comparison", "Comparison", None))
    ]
    unlike = {row["member"]: row["differences"] for row in document["unlike"]}
    return {
        "group": _row(document),
        "members": [
            {**member, "state_words": STATES.get(member["state"], ""), "differences": unlike.get(member["index"], [])} for member in members
        ],
        "tabs": tabs,
        "is_started": document["kind"] == GroupKind.STARTED,
        "broken": [member for member in members if member["state"] in {"changed", "gone"}],
    }


def _checks(document: Mapping[str, Any], member: int) -> list[dict[str, Any]]:
    return [
        {**check, "words": CHECKS[check["check"]], "outcome_words": OUTCOMES[check["outcome"]], "tone": TONES.get(check["outcome"], "warn")}
        for check in document["checks"]
        if check["member"] == member
    ]


def _drawn(order: int, compared: Mapping[str, Any], members: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """One comparison with its tables and charts; the IDs of charts are counted on, since a page may hold several."""
    result = {"subjects": [{**members[place], "groups": []} for place in compared["members"]]}
    tables = compare_tables(result, compared)
    is_judged = compared["bounds"] is None and len(compared["ranking"]) > 1
    drawn = {"forest": ranking_chart(compared) if compared["ranking"] else None, "differences": differences_chart(compared)}
    planes = {"cost": cost_chart(result, compared), "speed": speed_chart(result, compared)}
    return {
        "id": order,
        "compare": compared,
        "ranking": tables["ranking"].rows,
        "pairs": tables["pairs"].rows,
        "best": {row["member"] for row in compared["ranking"] if row["best"]},
        "is_judged": is_judged,
        **{name: chart and replace(chart, id=f"{chart.id}-{order}") for name, chart in drawn.items()},
        **{name: plane and replace(plane, id=f"{plane.id}-{order}") for name, plane in planes.items()},
    }


def _choosing(query: QueryDict, workspace: Workspace, chosen: Sequence[Found], baseline: str) -> dict[str, Any]:
    """What is chosen, and a page of results to choose from: at first those of the chosen ones' benchmark version."""
    protocols = {each.key: queries.protocol_of(each) for each in chosen}
    keys = list(protocols)
    first = baseline if baseline in protocols else keys[0] if keys else ""
    default = protocols[first].profile_id if first else ""
    filters = {"benchmark": query.get("benchmark", default).strip()[:200], "model": query.get("model", "").strip()[:200]}
    runs = page_of(queries.results_offered(workspace, **filters), cursor=query.get("cursor"), limit=queries.RUNS_OFFERED)
    offered = queries.newest_results(workspace, [run.pk for run in runs.rows])
    return {
        "of_workspace": workspace,
        "chosen": [_choice(each, protocols[each.key], protocols.get(first), chosen) for each in chosen],
        "keys": keys,
        "kept": urlencode([("results", key) for key in keys]),
        "baseline": first,
        "offered": [
            _choice(each, queries.protocol_of(each), protocols.get(first), ()) | {"is_chosen": each.key in protocols} for each in offered
        ],
        "is_full": len(keys) >= MOST,
        "can_make": len(keys) > 1,
        "filters": filters,
        "benchmarks": _versions(workspace, default, filters["benchmark"]),
        "models": [(label, label) for label in queries.models_offered(workspace)],
        "next_cursor": runs.next_cursor,
        "cursor": query.get("cursor"),
    }


def _versions(workspace: Workspace, *more: str) -> list[tuple[str, str]]:
    """The benchmarks of the filter, with those that the address asks for by version."""
    known = run_queries.run_benchmarks(workspace)
    return [(each, each) for each in dict.fromkeys(more) if each and each not in dict(known)] + known


def _choice(found: Found, protocol: Protocol, first: Protocol | None, chosen: Sequence[Found]) -> dict[str, Any]:
    """A result as a row: `differences` to the baseline, and the address without it."""
    rest = urlencode([("results", each.key) for each in chosen if each.key != found.key])
    return {
        "key": found.key,
        "run": found.run,
        "version": found.result.number,
        "label": found.entry["label"],
        "index": found.subject.index,
        "headline": found.entry["headline"],
        "counts": found.entry["counts"],
        "benchmark": found.benchmark,
        "profile_id": protocol.profile_id,
        "tasks": protocol.task_count,
        "differences": [each.code for each in differences(first, protocol)] if first else [],
        "without": f"?{rest}" if rest else "?",
    }
