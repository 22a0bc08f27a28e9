"""The figures of a result, computed anew from a bundle's samples by the function that computed them first."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from runs.results import ResultInputs, Samples, SubjectInputs, Usage, build_result, composite_document

MOST_TASKS = 1_000_000
MOST_ATTEMPTS = 16
MOST_WEIGHT = 1e9
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
    """One model on one benchmark: its figures as the result states them, and as the samples give them."""

    label: str
    profile_id: str
    """The benchmark's; empty where the result has only one."""
    stated: Mapping[str, Any]
    found: Mapping[str, Any]


def sample_columns(rows: list[tuple[Any, ...]], sample: Mapping[str, Any], first_position: int) -> None:
    """Add one sample of the export to its model's rows. Raises KeyError, TypeError and ValueError for what is no sample."""
    position, status, score, flags = sample["position"], sample["status"], sample["score"], sample["flags"]
    if type(position) is not int or status not in {"graded", "error", "inconclusive"} or not isinstance(flags, list):
        raise ValueError("no sample")
    if score is not None and (type(score) not in {int, float} or not 0 <= score <= 1):
        raise ValueError("no score")
    error = str(sample.get("error_code") or "")
    place = position - first_position
    rows.append((place, status, score, error, "empty" in flags, "truncated" in flags, "unreadable" in flags, 0))


@dataclass(frozen=True, slots=True)
class Tasks:
    """A benchmark's tasks as `tasks-N.json` says them, checked: where they stand in the run, and what divides their figures."""

    count: int
    first_position: int
    attempts: int
    groups: list[str]
    clusters: list[str]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        """Raises KeyError, TypeError and ValueError for what no bundle has."""
        count, first, attempts = document["tasks"], document["first_position"], document["attempts"]
        groups, clusters = [str(group) for group in document["groups"]], [str(cluster) for cluster in document["clusters"]]
        if any(type(each) is not int for each in (count, first, attempts)) or first < 0 or not 1 <= attempts <= MOST_ATTEMPTS:
            raise ValueError("the tasks are none")
        if not 0 <= count <= MOST_TASKS or any(len(names) not in {0, count} for names in (groups, clusters)):
            raise ValueError("the tasks do not fit")
        return cls(count, first, attempts, groups, clusters)


def figures_of(
    result: Mapping[str, Any], tasks: Mapping[int, Tasks], columns: Mapping[tuple[int, int], Sequence[tuple[Any, ...]]]
) -> list[Recomputed]:
    """Each model on each benchmark whose tasks are here, as the result states it and as its samples give it.

    `tasks` are by the benchmark's index, `columns` by subject and benchmark index. Raises KeyError, TypeError and ValueError where they do
    not fit together.
    """
    stated = {(subject["index"], subject["benchmark_index"]): subject for subject in result["subjects"]}
    if set(columns) - set(stated) or len(stated) != len(result["subjects"]) or {key[1] for key in columns} - set(tasks):
        raise ValueError("samples of nobody")
    profiles = profiles_of(result)
    names = profiles if len(profiles) > 1 else [""]
    return [figures for index, its in sorted(tasks.items()) for figures in _of_benchmark(index, names[index], its, stated, columns)]


def profiles_of(result: Mapping[str, Any]) -> list[str]:
    """The IDs of the result's benchmarks, as far as it names them."""
    listed = result.get("benchmarks")
    return [str(each.get("profile_id", ""))[:120] for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def _of_benchmark(
    index: int,
    profile_id: str,
    tasks: Tasks,
    stated: Mapping[tuple[int, int], Mapping[str, Any]],
    columns: Mapping[tuple[int, int], Sequence[tuple[Any, ...]]],
) -> list[Recomputed]:
    subjects = [subject for (_, its), subject in stated.items() if its == index]
    found = _figures(tasks, subjects, [_samples(tasks, columns.get((subject["index"], index), ())) for subject in subjects])
    return [Recomputed(str(subject["label"])[:200], profile_id, subject, each) for subject, each in zip(subjects, found, strict=True)]


def _samples(tasks: Tasks, rows: Sequence[tuple[Any, ...]]) -> Samples:
    times = Counter(row[0] for row in rows)
    if any(count > tasks.attempts or not 0 <= place < tasks.count for place, count in times.items()):
        raise ValueError("a task too often, or one that was not planned")
    return Samples.of(rows) if rows else Samples()


def _figures(tasks: Tasks, subjects: Sequence[Mapping[str, Any]], samples: Sequence[Samples]) -> list[dict[str, Any]]:
    inputs = ResultInputs(
        run_id="",
        version=1,
        status="",
        benchmark={},
        task_count=tasks.count,
        population=tasks.count,
        subjects=[
            SubjectInputs(index=subject["index"], label=str(subject["label"])[:200], samples=its, usage=Usage())
            for subject, its in zip(subjects, samples, strict=True)
        ],
        attempts=tasks.attempts,
        groups=tasks.groups,
        clusters=tasks.clusters,
    )
    found: list[dict[str, Any]] = build_result(inputs)["subjects"]
    return found


def is_composite_right(result: Mapping[str, Any], figures: Sequence[Recomputed]) -> bool:
    """Whether the composite score that the result states is what these figures and its own weights give; so where it states none.

    Raises KeyError, TypeError and ValueError for what is no composite, and where not every benchmark's figures are there.
    """
    stated = result.get("composite")
    if not stated:
        return True
    profiles, weights = profiles_of(result), [each["weight"] for each in stated["weights"]]
    if any(type(weight) not in {int, float} or not 0 < weight < MOST_WEIGHT for weight in weights):
        raise ValueError("no weights")
    # What stopped a model is no figure of the samples; that the composite leaves it out for that is.
    found = [
        [{**each.found, "stopped": each.stated.get("stopped")} for each in figures if each.profile_id == profile] for profile in profiles
    ]
    documents = [{"benchmark": {"profile_id": profile}, "subjects": its} for profile, its in zip(profiles, found, strict=True)]
    return bool(composite_document(documents, weights) == stated)


def differing_figures(subject: Recomputed) -> list[str]:
    """The figures, in words, that the result states otherwise than the samples give them."""
    return [words for name, words in FIGURES.items() if subject.stated.get(name) != subject.found[name]]
