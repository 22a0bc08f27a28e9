"""A frozen comparison as plain tables: columns with a name and a unit, rows of plain values. Pure.

Shares and differences are between 0 and 1, amounts are micro-USD, times milliseconds. Pages lay these rows out, files write them as they
are, so that a figure has one source.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runs.charts.tradeoffs import cost_of_answers
from runs.charts.words import natural_order

type Document = Mapping[str, Any]
type Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """`unit` is one of `text`, `count`, `share`, `difference`, `p`, `microusd`, `milliseconds` and `truth`."""

    key: str
    title: str
    unit: str = "text"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows hold a value for each column's key, None where there is none."""

    key: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that is said of the models of a run on one benchmark version."""

    profile_id: str
    benchmark: Document
    benchmark_index: int
    profile_ids: tuple[str, ...]
    """Of all the versions of the run, in its order."""
    document: Document
    """The frozen comparison, as the API serves it."""
    result: Document
    """The frozen result with the subjects on this version alone."""
    tables: dict[str, Table] = field(default_factory=dict)

    @property
    def is_judged(self) -> bool:
        """Whether an order is named: several models, and not too many answers missing."""
        return self.document["bounds"] is None and len(self.document["ranking"]) > 1


RANKING = (
    Column("rank", "Rank"),
    Column("rank_low", "Best rank it may have", "count"),
    Column("rank_high", "Worst rank it may have", "count"),
    Column("letters", "Letters: who shares one cannot be told apart"),
    Column("model_index", "Model index", "count"),
    Column("model", "Model"),
    Column("kind", "Kind"),
    Column("score", "Score on the compared tasks", "share"),
    Column("stderr", "Standard error", "share"),
    Column("low", "95% interval, low", "share"),
    Column("high", "95% interval, high", "share"),
    Column("method", "Interval method"),
    Column("tasks", "Tasks compared", "count"),
    Column("planned", "Answers planned", "count"),
    Column("graded", "Answers scored", "count"),
    Column("correct", "Right answers", "count"),
    Column("errors", "Errors", "count"),
    Column("missing", "Missing", "count"),
    Column("truncated", "Truncated", "count"),
    Column("unreadable", "Unreadable", "count"),
    Column("charge_microusd", "Charge", "microusd"),
    Column("answers_1000_microusd", "Cost of 1,000 answers", "microusd"),
    Column("p50_ms", "Median time", "milliseconds"),
    Column("p95_ms", "95% within", "milliseconds"),
    Column("cheapest_near_best", "Cheapest within one standard error of the best", "truth"),
    Column("left_out", "Left out because"),
)
PAIRS = (
    Column("a_index", "First model, index", "count"),
    Column("a", "First model"),
    Column("b_index", "Second model, index", "count"),
    Column("b", "Second model"),
    Column("difference", "Difference, first minus second", "difference"),
    Column("stderr", "Standard error", "difference"),
    Column("low", "95% interval, low", "difference"),
    Column("high", "95% interval, high", "difference"),
    Column("method", "Interval method"),
    Column("both", "Both right", "count"),
    Column("a_only", "Only the first right", "count"),
    Column("b_only", "Only the second right", "count"),
    Column("neither", "Neither right", "count"),
    Column("p_value", "p", "p"),
    Column("p_method", "Test"),
    Column("p_exact", "Exact p", "p"),
    Column("p_holm", "p adjusted for the number of pairs (Holm)", "p"),
    Column("separable", "Told apart", "truth"),
    Column("tasks_needed", "More tasks needed at this difference (estimate)", "count"),
)
GROUPS = (
    Column("group", "Group of tasks"),
    Column("tasks", "Tasks in the group", "count"),
    Column("model_index", "Model index", "count"),
    Column("model", "Model"),
    Column("scored", "Tasks scored", "count"),
    Column("score", "Score", "share"),
    Column("low", "95% interval, low", "share"),
    Column("high", "95% interval, high", "share"),
    Column("method", "Interval method"),
)


def compare_tables(result: Document, document: Document) -> dict[str, Table]:
    """`ranking`, `pairs` and `groups` of a comparison. `result` holds the subjects on its version."""
    subjects = {subject["index"]: subject for subject in result["subjects"]}
    labels = {index: subject["label"] for index, subject in subjects.items()}
    return {
        "ranking": Table("ranking", "Ranking", RANKING, tuple(_ranking_rows(subjects, document))),
        "pairs": Table("pairs", "Differences between models", PAIRS, tuple(_pair_row(pair, labels) for pair in document["pairs"])),
        "groups": Table("groups", "Score by group of tasks", GROUPS, tuple(_group_rows(result["subjects"]))),
    }


def _ranking_rows(subjects: Mapping[int, Document], document: Document) -> list[Row]:
    """In the order of the ranking; those left out come last, with their score over the tasks they finished and the reason."""
    rows = []
    ranked = {entry["subject_index"] for entry in document["ranking"]}
    for entry in document["ranking"]:
        rows.append(
            {
                "rank": entry["rank_label"],
                "rank_low": entry["rank_range"][0],
                "rank_high": entry["rank_range"][1],
                "letters": entry["group"],
                "score": entry["score"],
                "stderr": entry.get("stderr"),
                **_limits(entry["interval"]),
                "tasks": document["tasks_compared"],
                "cheapest_near_best": entry["cheapest_within_one_stderr"],
                "left_out": None,
                **_of_subject(subjects[entry["subject_index"]]),
            }
        )
    reasons = {each["subject_index"]: each["reason"] for each in document["excluded"]}
    for index, subject in subjects.items():
        if index not in ranked:
            headline = subject["headline"] or {}
            own = {"score": headline.get("value"), "stderr": headline.get("stderr"), **_limits(headline.get("interval"))}
            named = dict.fromkeys(("rank", "rank_low", "rank_high", "letters"))
            rows.append(
                {**named, **own, "tasks": 0, "cheapest_near_best": False, "left_out": reasons.get(index, "missing"), **_of_subject(subject)}
            )
    return rows


def _of_subject(subject: Document) -> Row:
    counts, times = subject["counts"], subject["latency_ms"] or {}
    cost = cost_of_answers(subject)
    return {
        "model_index": subject["index"],
        "model": subject["label"],
        "kind": subject.get("kind"),
        **{name: counts.get(name) for name in ("planned", "graded", "correct", "errors", "missing", "truncated", "unreadable")},
        "charge_microusd": int(subject["charge_microusd"]),
        "answers_1000_microusd": None if cost is None else round(cost),
        "p50_ms": times.get("p50"),
        "p95_ms": times.get("p95"),
    }


def _limits(interval: Document | None) -> Row:
    return {name: interval[name] if interval else None for name in ("low", "high", "method")}


def _pair_row(pair: Document, labels: Mapping[int, str]) -> Row:
    copied = ("difference", "stderr", "both", "a_only", "b_only", "neither", "p_value", "p_method", "p_exact", "p_holm", "separable")
    return {
        "a_index": pair["a"],
        "a": labels[pair["a"]],
        "b_index": pair["b"],
        "b": labels[pair["b"]],
        **{name: pair.get(name) for name in copied},
        **_limits(pair["interval"]),
        "tasks_needed": pair.get("tasks_needed"),  # of results that were frozen before there was such a figure there is none
    }


def _group_rows(subjects: Sequence[Document]) -> list[Row]:
    """One row a group and model, groups by name."""
    names = sorted({group["group"] for subject in subjects for group in subject["groups"]}, key=natural_order)
    found = [{group["group"]: group for group in subject["groups"]} for subject in subjects]
    return [
        {
            "group": name,
            "tasks": group["planned"],
            "model_index": subject["index"],
            "model": subject["label"],
            "scored": group["n"],
            "score": group["value"],
            **_limits(group["interval"]),
        }
        for name in names
        for subject, groups in zip(subjects, found, strict=True)
        if (group := groups.get(name)) is not None
    ]


def pair_matrix(comparison: Comparison) -> list[Row]:
    """The pairs as a square in the order of the ranking: each row's model less the column's, None on the diagonal."""
    known: dict[tuple[int, int], Row] = {}
    for pair in comparison.tables["pairs"].rows:
        a, b = pair["a_index"], pair["b_index"]
        known[a, b] = {"difference": pair["difference"], "low": pair["low"], "high": pair["high"], **_told(pair)}
        known[b, a] = {
            "difference": _negative(pair["difference"]),
            "low": _negative(pair["high"]),
            "high": _negative(pair["low"]),
            **_told(pair),
        }
    models = [row for row in comparison.tables["ranking"].rows if row["left_out"] is None]
    return [
        {
            "model_index": row["model_index"],
            "model": row["model"],
            "cells": [{"model": other["model"], **known.get((row["model_index"], other["model_index"]), {})} for other in models],
        }
        for row in models
    ]


def _told(pair: Row) -> Row:
    return {"p_holm": pair["p_holm"], "separable": pair["separable"]}


def _negative(value: float | None) -> float | None:
    return None if value is None else 0.0 - value


def group_matrix(comparison: Comparison) -> list[Row]:
    """The groups as rows with one cell for each model, in the order of the ranking; None where a model has none."""
    order = [row["model_index"] for row in comparison.tables["ranking"].rows]
    cells: dict[str, dict[int, Row]] = {}
    for row in comparison.tables["groups"].rows:
        cells.setdefault(row["group"], {})[row["model_index"]] = row
    return [
        {"group": name, "tasks": max(row["tasks"] for row in its.values()), "cells": [its.get(index) for index in order]}
        for name, its in cells.items()
    ]
