"""From results to what a comparison reads of them: one value a task, in the same order for all results on the same tasks."""

from collections.abc import Sequence

import numpy as np

from common.errors import Conflict
from runs.groups.likeness import Protocol, sets_of
from runs.groups.members import Member
from runs.groups.queries import Found, cells_of, protocol_of
from runs.statistics.means import Values, item_means
from runs.strata import strata


def members_of(found: Sequence[Found]) -> list[Member]:
    """The results with their values. One query for each result's answers, and one for the clusters of each set of alike ones."""
    protocols = [protocol_of(each) for each in found]
    clusters: dict[int, list[str]] = {}
    for places in sets_of(protocols):
        shared = _clusters(found[places[0]])
        clusters |= dict.fromkeys(places, shared)
    return [_member(each, protocols[place], clusters[place]) for place, each in enumerate(found)]


def _member(found: Found, protocol: Protocol, clusters: Sequence[str]) -> Member:
    place_of = {ordinal: place for place, ordinal in enumerate(sorted(found.benchmark.ordinals()))}
    cells = [(place_of[ordinal], status, score) for ordinal, status, score in cells_of(found)]
    graded = [(place, score) for place, status, score in cells if status == "graded" and score is not None]
    reasons: dict[int, str] = {}
    for reason in ("inconclusive", "error"):
        reasons |= dict.fromkeys((place for place, status, _ in cells if status == reason), reason)
    scores = item_means([place for place, _ in graded], [score for _, score in graded], protocol.task_count, protocol.attempts)
    _check_figure(found, scores)
    return Member(
        run_id=str(found.run.public_id),
        run_name=found.run.name,
        run_status=found.run.status,
        version=found.result.number,
        sha256=found.result.sha256,
        subject_index=found.subject.index,
        benchmark_index=found.benchmark.index,
        subject=found.entry,
        protocol=protocol,
        scores=scores,
        reasons=reasons,
        clusters=clusters,
    )


def _check_figure(found: Found, scores: Values) -> None:
    """Raise Conflict `result_not_reproduced` unless the answers give the frozen score: what is compared is what was frozen, or nothing."""
    known, frozen = scores[np.isfinite(scores)], found.entry["headline"]["value"]
    value = float(known.mean()) if known.size else None
    if (value is None) == (frozen is None) and abs((value or 0.0) - (frozen or 0.0)) < 1e-9:
        return
    raise Conflict(
        "result_not_reproduced",
        f"The answers of {found.entry['label']} in run {found.run.public_id} do not give the score that version {found.result.number} of "
        "its result froze, so it is not compared. Name another version of the result.",
        details={"run_id": str(found.run.public_id), "version": found.result.number},
    )


def _clusters(found: Found) -> list[str]:
    """The cluster of each task in the order of the ordinals; empty where the version has none."""
    _, by_position = strata(found.benchmark)
    return [cluster for _, cluster in sorted(zip(found.benchmark.ordinals(), by_position, strict=True))] if by_position else []
