"""What a link shows of a frozen result, as a document of its own: built up from named fields, so that what a result gains later stays
inside until it is named here too. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from runs.comparing import MOST_DROPPED
from runs.sharing.choices import Choices, private_names, shown_labels
from runs.statistics import ACCURACY, Estimate, Interval
from runs.statistics.choosing import Difference
from runs.statistics.pairs import Table
from runs.summarizing import Side, summarize

SCHEMA = "evalrouter.shared.v1"

_BENCHMARK = ("profile_id", "slug", "version", "name")
_SUBJECT = (
    "index",
    "benchmark_index",
    "kind",
    "stopped",
    "headline",
    "metrics",
    "groups",
    "counts",
    "bounds",
    "error_codes",
    "latency_ms",
)
_COMPOSITE = ("index", "value", "stderr", "interval")
_SUBJECT_COST = ("usage", "charge_microusd", "answers_charge_microusd")
_COMPARISON = ("profile_id", "metric", "tasks_compared", "tasks_planned", "winner_named", "bounds", "dropped", "excluded", "notices")
_RANKED = ("rank", "rank_label", "rank_range", "group", "subject_index", "score", "stderr", "interval")
_RANKED_COST = ("charge_microusd", "cheapest_within_one_stderr")
_PAIR = (
    "a",
    "b",
    "difference",
    "stderr",
    "interval",
    "both",
    "a_only",
    "b_only",
    "neither",
    "p_exact",
    "p_mid",
    "p_value",
    "p_method",
    "p_holm",
    "separable",
)
_NOTICES = frozenset({"one_attempt", "few_clusters"})


def shown_result(
    document: Mapping[str, Any],
    comparison: Mapping[str, Any] | None,
    choices: Choices,
    *,
    benchmark_index: int,
    sha256: str,
    workspace_name: str,
) -> dict[str, Any]:
    """One benchmark of the result `document` (without its `sha256`), and its comparison, as the link shows them.

    The run's ID is left out on purpose: without it nobody can try costs until the hash fits.
    """
    labels = shown_labels(document["subjects"], choices)
    benchmarks = document["benchmarks"]
    subjects = [each for each in document["subjects"] if each.get("benchmark_index", 0) == benchmark_index]
    return {
        "schema": SCHEMA,
        "title": choices.title or ", ".join(str(each["name"]) for each in benchmarks),
        "workspace": workspace_name if choices.shows_workspace else None,
        "version": document["version"],
        "sha256": sha256,
        "status": document["status"],
        "grading": document["grading"],
        "output_format": document["selection"]["output_format"],
        "benchmark_index": benchmark_index,
        "benchmark": _picked(benchmarks[benchmark_index], _BENCHMARK),
        "benchmarks": [_picked(each, _BENCHMARK) for each in benchmarks],
        "coverage": dict(benchmarks[benchmark_index].get("coverage") or document["coverage"]),
        "subjects": [_shown_subject(each, labels, choices) for each in subjects],
        "comparison": _shown_comparison(comparison, labels, choices, has_private=bool(private_names(document["subjects"]))),
        "attempts_per_task": document.get("attempts_per_task", 1),
        "composite": _shown_composite(document.get("composite"), labels),
        "notices": _shown_notices(document),
    }


def _picked(source: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: source[name] for name in names if name in source}


def _shown_composite(composite: Mapping[str, Any] | None, labels: Mapping[int, str]) -> dict[str, Any] | None:
    """The weighted mean over the benchmarks, where weights were stated."""
    if not composite:
        return None
    rows = [{"label": labels[int(row["index"])], **_picked(row, _COMPOSITE)} for row in composite["subjects"]]
    return {"weights": [_picked(each, ("profile_id", "weight", "share")) for each in composite["weights"]], "subjects": rows}


def _shown_subject(subject: Mapping[str, Any], labels: Mapping[int, str], choices: Choices) -> dict[str, Any]:
    names = _SUBJECT + (_SUBJECT_COST if choices.shows_cost else ())
    return {"label": labels[int(subject["index"])], **_picked(subject, names)}


def _shown_comparison(
    comparison: Mapping[str, Any] | None, labels: Mapping[int, str], choices: Choices, *, has_private: bool
) -> dict[str, Any] | None:
    if comparison is None:
        return None
    names = _RANKED + (_RANKED_COST if choices.shows_cost else ())
    return {
        **_picked(comparison, _COMPARISON),
        "ranking": [{"label": labels[int(row["subject_index"])], **_picked(row, names)} for row in comparison["ranking"]],
        "pairs": [_picked(pair, _PAIR) for pair in comparison["pairs"]],
        "summary": _summary(comparison, labels) if has_private else comparison["summary"],
    }


def _summary(comparison: Mapping[str, Any], labels: Mapping[int, str]) -> str:
    """The comparison's sentence with the shown names: said anew from its figures, never by replacing words in it."""
    sides = [Side(row["subject_index"], labels[int(row["subject_index"])]) for row in comparison["ranking"]]
    places = {side.index: place for place, side in enumerate(sides)}
    pairs = {
        (places[pair["a"]], places[pair["b"]]): (_difference(pair, comparison), bool(pair["separable"])) for pair in comparison["pairs"]
    }
    planned, compared = comparison["tasks_planned"], comparison["tasks_compared"]
    is_share = comparison["metric"] == ACCURACY.key or comparison["bounds"] is not None
    return summarize(
        sides=sides,
        pairs=pairs,
        metric=ACCURACY if is_share else replace(ACCURACY, key=str(comparison["metric"]), low=None, high=None),
        compared=compared,
        planned=planned,
        left_out=len(comparison["excluded"]),
        has_too_few=planned - compared > MOST_DROPPED * planned,
    )


def _difference(pair: Mapping[str, Any], comparison: Mapping[str, Any]) -> Difference:
    bounds = pair["interval"]
    interval = Interval(bounds["low"], bounds["high"], bounds["method"], bounds["level"]) if bounds else None
    table = None if pair["both"] is None else Table(pair["both"], pair["a_only"], pair["b_only"], pair["neither"])
    estimate = Estimate(pair["difference"], comparison["tasks_compared"], pair["stderr"], interval)
    return Difference(estimate, pair["p_value"], pair["p_method"], table, pair["p_exact"], pair["p_mid"])


def _shown_notices(document: Mapping[str, Any]) -> list[str]:
    """Notices that name no private model: those of the whole result by their code, and those of models that the catalog names."""
    private = tuple(each.own for each in private_names(document["subjects"]))
    names = {str(subject["label"]) for subject in document["subjects"]} - set(private)
    public = tuple(f"{name}{sign}" for name in names for sign in (":", " is a baseline"))
    found = []
    for notice in document["notices"]:
        if notice in _NOTICES or (notice.startswith(public) and not (private and notice.startswith(private))):
            found.append(notice)
    return found
