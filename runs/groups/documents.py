"""Groups as the API, the exports and the pages show them: those made from results, and runs of several models."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings

from common.canonical import sha256_text
from runs import queries as run_queries
from runs.documents import comparisons_of, instant
from runs.enums import GroupKind
from runs.groups.likeness import sets_of
from runs.groups.members import Member, judged, labels_of, member_document, placed
from runs.groups.queries import Found, Listed, protocol_of, results_in, results_of_runs
from runs.models import Run
from runs.models.groups import GroupMember, ResultGroup

READY, PENDING, CHANGED = "ready", "pending", "changed"
UNCHANGED, GONE = "unchanged", "gone"

NOT_COMPARED: dict[str, Any] = {
    "baseline": None,
    "unlike": [],
    "ranking": [],
    "pairs": [],
    "against_baseline": [],
    "comparisons": [],
    "policy": None,
    "decision": None,
    "checks": [],
    "reasons": [],
}


def listed_document(row: Listed) -> dict[str, Any]:
    """A row of the list."""
    if row.group is not None:
        return saved_row(row.group)
    assert row.run is not None
    return started_row(row.run)


def saved_row(group: ResultGroup) -> dict[str, Any]:
    """A group made from results, without its comparison."""
    members = list(group.members.all())
    return {
        **_head(group.public_id, group.kind, group.name, group.created_at),
        "status": READY if all(_state(member) == UNCHANGED for member in members) else CHANGED,
        "decision": group.decision or None,
        "baseline": group.baseline,
        "labels": [member.label for member in members],
        "profile_ids": _each_once([member.profile_id for member in members]),
    }


def started_row(run: Run) -> dict[str, Any]:
    """A run of several models, without its comparison."""
    return {
        **_head(run.public_id, GroupKind.STARTED, run.name, run.created_at),
        "status": READY if run.is_ended else PENDING,
        "decision": None,
        "baseline": None,
        "labels": [subject.label for subject in run.subjects.all()],
        "profile_ids": [benchmark.version.profile_id for benchmark in run.benchmarks.all()],
    }


def group_document(group: ResultGroup | Run) -> dict[str, Any]:
    """A group with its members and the comparison."""
    return started_document(group) if isinstance(group, Run) else saved_document(group)


def saved_document(group: ResultGroup) -> dict[str, Any]:
    """What was frozen, and whether the results are still those that were frozen."""
    frozen = group.frozen
    states = {member.index: _state(member, reads_document=True) for member in group.members.all()}
    members = [{**member, "state": states.get(member["index"], GONE)} for member in frozen["members"]]
    status = READY if all(member["state"] == UNCHANGED for member in members) else CHANGED
    named = {**saved_row(group), "status": status, "sha256": group.sha256}
    return {**named, **frozen, "members": _with_ranks(members, frozen["comparisons"])}


def started_document(run: Run) -> dict[str, Any]:
    """The latest result of a run of several models, or of the newest run that continues it; nothing is frozen and nothing computed anew."""
    newest = run_queries.newest_continuation(run)
    results = results_of_runs(run.workspace, [newest.public_id])
    row = {**started_row(run), "status": READY if results else PENDING, "sha256": None}
    if not results:
        members = [_pending(place, subject.label, newest) for place, subject in enumerate(run.subjects.all())]
        return {**row, **NOT_COMPARED, "members": members, "summary": "The run has not ended yet. Its models are compared when it has."}
    members_ = [_bare(each) for each in results_in(results[-1])]
    labels = [str(member.subject["label"]) for member in members_]
    if len({member.benchmark_index for member in members_}) == 1:
        labels = labels_of(members_)
    documents = [member_document(place, member, labels[place]) | {"state": UNCHANGED} for place, member in enumerate(members_)]
    frozen = {each["profile_id"]: each for each in comparisons_of(results[-1])}
    comparisons = [_own(frozen, members_, places) for places in sets_of([member.protocol for member in members_])]
    return {
        **row,
        **NOT_COMPARED,
        "members": _with_ranks(documents, comparisons),
        "ranking": comparisons[0]["ranking"],
        "pairs": comparisons[0]["pairs"],
        "comparisons": comparisons,
        "summary": comparisons[0]["summary"] if len(comparisons) == 1 else "Each benchmark is compared by itself.",
    }


def _own(frozen: Mapping[str, Mapping[str, Any]], members: Sequence[Member], places: Sequence[int]) -> dict[str, Any]:
    """The run's frozen comparison of its models on one benchmark."""
    compared = frozen[members[places[0]].protocol.profile_id]
    place_of = {members[place].subject_index: place for place in places}
    return judged(placed(compared, place_of), places, members)


def ranked(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with its members in the order of score, then cost: those of the first comparison first."""
    order = [row["member"] for compared in document["comparisons"] for row in compared["ranking"]]
    by_index = {member["index"]: member for member in document["members"]}
    rest = sorted((index for index in by_index if index not in order), key=lambda index: _order(by_index[index]))
    return {**document, "members": [by_index[index] for index in [*order, *rest]]}


def _order(member: Mapping[str, Any]) -> tuple[float, int, int]:
    value = (member["headline"] or {}).get("value")
    return -(value if value is not None else -1.0), int(member["charge_microusd"] or 0), member["index"]


def _with_ranks(members: Sequence[Mapping[str, Any]], comparisons: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The members with their rank among those they are compared with; null for one that stands alone."""
    ranks = {row["member"]: row["rank_label"] for compared in comparisons if len(compared["members"]) > 1 for row in compared["ranking"]}
    return [{**member, "rank_label": ranks.get(member["index"])} for member in members]


def _bare(found: Found) -> Member:
    """A member without its values."""
    return Member(
        run_id=str(found.run.public_id),
        run_name=found.run.name,
        run_status=found.run.status,
        version=found.result.number,
        sha256=found.result.sha256,
        subject_index=found.subject.index,
        benchmark_index=found.benchmark.index,
        subject=found.entry,
        protocol=protocol_of(found),
    )


def _pending(place: int, label: str, run: Run) -> dict[str, Any]:
    named = {"index": place, "run_id": str(run.public_id), "run_name": run.name or None, "run_status": run.status, "subject_index": place}
    empty = ("version", "sha256", "benchmark_index", "profile_id", "kind", "stopped", "headline", "counts", "coverage", "latency_ms")
    more = ("charge_microusd", "answers_charge_microusd", "protocol", "rank_label")
    return {**named, "label": label, **dict.fromkeys((*empty, *more)), "state": PENDING}


def _state(member: GroupMember, *, reads_document: bool = False) -> str:
    """Whether the result is the one that was frozen; with `reads_document` its text is hashed too."""
    if member.result is None:
        return GONE
    is_same = member.result.sha256 == member.result_sha256
    if is_same and reads_document:
        is_same = sha256_text(member.result.document) == member.result_sha256
    return UNCHANGED if is_same else CHANGED


def _head(public_id: object, kind: str, name: str, created_at: Any) -> dict[str, Any]:
    return {
        "id": str(public_id),
        "kind": str(kind),
        "name": name or None,
        "created_at": instant(created_at),
        "report_url": f"{settings.SITE_URL}/evaluations/groups/{public_id}",
    }


def _each_once(texts: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(texts))
