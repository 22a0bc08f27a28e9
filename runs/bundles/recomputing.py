"""The figures of a result, computed anew from a bundle's samples by the function that computed them first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runs.results import ResultInputs, Samples, SubjectInputs, Usage, build_result

FIGURES = {
    "headline": "the score",
    "metrics": "a metric",
    "groups": "the scores by group",
    "counts": "the counts",
    "bounds": "the bounds",
    "error_codes": "the errors",
}
"""What is compared, in words. Prices and times are not computed from the answers alone, and are covered by the signature."""


@dataclass(frozen=True, slots=True)
class Recomputed:
    """One subject: its figures as the result states them, and as the samples give them."""

    label: str
    stated: Mapping[str, Any]
    found: Mapping[str, Any]


def sample_columns(rows: list[tuple[Any, ...]], sample: Mapping[str, Any]) -> None:
    """Add one sample of the export to its subject's rows. Raises KeyError, TypeError and ValueError for what is no sample."""
    position, status, score, flags = sample["position"], sample["status"], sample["score"], sample["flags"]
    if type(position) is not int or position < 0 or status not in {"graded", "error", "inconclusive"} or not isinstance(flags, list):
        raise ValueError("no sample")
    if score is not None and (type(score) not in {int, float} or not 0 <= score <= 1):
        raise ValueError("no score")
    error = str(sample.get("error_code") or "")
    rows.append((position, status, score, error, "empty" in flags, "truncated" in flags, "unreadable" in flags, 0))


def figures_of(result: Mapping[str, Any], tasks: Mapping[str, Any], columns: Mapping[int, Sequence[tuple[Any, ...]]]) -> list[Recomputed]:
    """Each subject of the result beside what its samples give. Raises KeyError, TypeError and ValueError where they do not fit."""
    planned = result["coverage"]["planned"]
    groups, clusters = [str(group) for group in tasks["groups"]], [str(cluster) for cluster in tasks["clusters"]]
    if type(planned) is not int or any(len(names) not in {0, planned} for names in (groups, clusters)):
        raise ValueError("the tasks do not fit")
    subjects = result["subjects"]
    if set(columns) - {subject["index"] for subject in subjects} or planned > 1_000_000:
        raise ValueError("samples of nobody")
    for rows in columns.values():
        positions = [row[0] for row in rows]
        if len(set(positions)) != len(positions) or (positions and max(positions) >= planned):
            raise ValueError("a task twice, or one that was not planned")
    inputs = ResultInputs(
        run_id="",
        version=1,
        status="",
        benchmark={},
        task_count=planned,
        population=planned,
        subjects=[
            SubjectInputs(
                index=subject["index"],
                label=str(subject["label"])[:200],
                samples=Samples.of(columns[subject["index"]]) if columns.get(subject["index"]) else Samples(),
                usage=Usage(),
            )
            for subject in subjects
        ],
        groups=groups,
        clusters=clusters,
    )
    found = build_result(inputs)["subjects"]
    return [Recomputed(str(subject["label"])[:200], subject, each) for subject, each in zip(subjects, found, strict=True)]


def differing_figures(subject: Recomputed) -> list[str]:
    """The figures, in words, that the result states otherwise than the samples give them."""
    return [words for name, words in FIGURES.items() if subject.stated.get(name) != subject.found[name]]
