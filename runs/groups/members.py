"""The results of a group as its documents name them: labels, entries, and comparisons whose subjects are members. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runs.groups.likeness import Protocol

if TYPE_CHECKING:
    from runs.statistics.means import Values


@dataclass(frozen=True, slots=True)
class Member:
    """One result: a model on a benchmark version, as a result version of a run froze it."""

    run_id: str
    run_name: str
    run_status: str
    version: int
    sha256: str
    subject_index: int
    benchmark_index: int
    subject: Mapping[str, Any]
    """Its entry in the frozen result."""
    protocol: Protocol
    scores: "Values | Sequence[float | None]" = ()
    """One value a task in the order of the tasks' ordinals, NaN where there is none; not read where nothing is compared anew."""
    reasons: Mapping[int, str] = field(default_factory=dict)
    """Why a place of `scores` is empty."""
    clusters: Sequence[str] = ()

    @property
    def charge_microusd(self) -> int:
        """What all of its answers cost, those that were taken over from an earlier run too."""
        charge = self.subject.get("answers_charge_microusd")
        return int(self.subject["charge_microusd"] if charge is None else charge)

    @property
    def has_external_charges(self) -> bool:
        return self.subject["kind"] in {"connection", "recorded"}


def labels_of(members: Sequence[Member]) -> list[str]:
    """The models' names; where two are the same, with the name of their run, or the first digits of its ID."""
    plain = [str(member.subject["label"]) for member in members]
    same = {label for label, count in Counter(plain).items() if count > 1}
    named = Counter((label, member.run_name) for label, member in zip(plain, members, strict=True))
    labels = []
    for label, member in zip(plain, members, strict=True):
        is_told_apart = member.run_name and named[label, member.run_name] == 1
        labels.append(label if label not in same else f"{label} · {member.run_name if is_told_apart else member.run_id[:8]}"[:240])
    return [label if labels.count(label) == 1 else f"{label[:230]} ({place + 1})" for place, label in enumerate(labels)]


def member_document(place: int, member: Member, label: str) -> dict[str, Any]:
    subject, counts = member.subject, member.subject["counts"]
    return {
        "index": place,
        "run_id": member.run_id,
        "run_name": member.run_name or None,
        "run_status": member.run_status,
        "version": member.version,
        "sha256": member.sha256,
        "subject_index": member.subject_index,
        "benchmark_index": member.benchmark_index,
        "profile_id": member.protocol.profile_id,
        "label": label,
        "kind": subject["kind"],
        "stopped": subject["stopped"],
        "headline": subject["headline"],
        "counts": counts,
        "coverage": round(counts["graded"] / counts["planned"], 10) if counts["planned"] else 0.0,
        "latency_ms": subject["latency_ms"],
        "charge_microusd": subject["charge_microusd"],
        "answers_charge_microusd": subject.get("answers_charge_microusd"),
        "protocol": {
            "tasks": member.protocol.task_count,
            "tasks_sha256": member.protocol.tasks_sha256,
            "output_format": member.protocol.output_format,
            "output_limit": member.protocol.output_limit,
            "attempts": member.protocol.attempts,
            "grading": member.protocol.grading,
        },
    }


def judged(compare: Mapping[str, Any], places: Sequence[int], members: Sequence[Member]) -> dict[str, Any]:
    """A comparison as a group shows it: `places` are the members in it, and its subjects are named by their places.

    No best is marked where too many answers are missing to name a winner.
    """
    document = {name: value for name, value in compare.items() if name != "run_id"}
    is_judged = compare["bounds"] is None
    ranking = []
    for row in compare["ranking"]:
        member = members[row["subject_index"]]
        ranking.append(
            {
                **row,
                "member": row["subject_index"],
                "run_id": member.run_id,
                "version": member.version,
                "best": is_judged and row["rank"] == 1,
                "cheapest_within_one_stderr": is_judged and row["cheapest_within_one_stderr"],
            }
        )
    return {"members": list(places), **document, "ranking": ranking}


def placed(compare: Mapping[str, Any], place_of: Mapping[int, int]) -> dict[str, Any]:
    """A run's own comparison with its subjects named by their places in a group."""

    def moved(rows: Sequence[Mapping[str, Any]] | None, *names: str) -> list[dict[str, Any]] | None:
        return None if rows is None else [{**row, **{name: place_of[row[name]] for name in names}} for row in rows]

    return {
        **compare,
        "ranking": moved(compare["ranking"], "subject_index"),
        "pairs": moved(compare["pairs"], "a", "b"),
        "excluded": moved(compare["excluded"], "subject_index"),
        "bounds": moved(compare["bounds"], "subject_index"),
    }
