"""Exports as CSV: one row a sample, and one row a figure. No cell of either is run by a spreadsheet."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from common.encoding import encode_json
from common.errors import Refused
from common.spreadsheets import plain_cell
from runs.exports.samples import parts_of_samples
from runs.exports.source import Source

COLUMNS = (
    "subject_index",
    "subject",
    "benchmark_index",
    "benchmark",
    "task_id",
    "ordinal",
    "position",
    "attempt",
    "group",
    "status",
    "correct",
    "score",
    "extracted",
    "reason",
    "error_code",
    "flags",
    "finish_reason",
    "input_tokens",
    "cached_input_tokens",
    "output_tokens",
    "reasoning_tokens",
    "estimated",
    "charge_microusd",
    "latency_ms",
    "origin",
    "response",
    "reference",
    "answers_expired",
)
FIGURE_COLUMNS = (
    "benchmark", "subject_index", "subject", "against_index", "against", "figure", "key", "group", "value", "low", "high", "method", "n"
)  # fmt: skip


def check_samples_may_leave(source: Source) -> None:
    """Raises Refused where no benchmark of the run lets its samples leave."""
    if not source.open_benchmarks:
        raise Refused(
            "export_not_permitted",
            "The benchmark's licence lets only aggregates leave: take `figures`, `html`, `summary` or `json`, which then hold no samples.",
        )


def csv_parts(source: Source) -> Iterator[bytes]:
    """A header and one line a sample; those of benchmarks whose policy lets only aggregates leave are not among them."""
    yield _lines([list(COLUMNS)])
    for part in parts_of_samples(source):
        yield _lines(_sample_row(source, sample) for sample in part)


def _sample_row(source: Source, sample: Mapping[str, Any]) -> list[Any]:
    flat = {
        **sample,
        **sample["usage"],
        "subject": sample["subject_label"],
        "benchmark": sample["profile_id"],
        "flags": " ".join(sample["flags"]),
        "answers_expired": not source.has_answers,
    }
    if flat["reference"] is not None and not isinstance(flat["reference"], str):
        flat["reference"] = encode_json(flat["reference"]).decode()
    return [_cell(flat[column]) for column in COLUMNS]


def figures_parts(source: Source) -> Iterator[bytes]:
    """A header and one line for each figure of the result and of its comparisons, as they were frozen."""
    yield _lines([list(FIGURE_COLUMNS)])
    for benchmark in source.benchmarks:
        name = {"benchmark": benchmark.version.profile_id}
        for subject in source.subjects_of(benchmark):
            yield _figures({**name, "subject_index": subject["index"], "subject": subject["label"]}, _of_subject(subject))
        if comparison := source.comparisons.get(benchmark.index):
            yield _figures(name, _of_comparison(comparison, {each["index"]: each["label"] for each in source.subjects_of(benchmark)}))
    composite = source.document.get("composite")
    for row in composite["subjects"] if composite else ():
        who = {"subject_index": row["index"], "subject": row["label"]}
        yield _figures(who, [{"figure": "composite", **_interval(row["interval"]), "value": row["value"]}])
    for row in composite["weights"] if composite else ():
        yield _figures({"benchmark": row["profile_id"]}, [{"figure": "weight", "key": "share", "value": row["share"]}])
    billing = source.document["billing"]
    yield _figures({}, ({"figure": "billing", "key": key, "value": billing[key]} for key in billing))


def _of_subject(subject: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for metric in subject["metrics"]:
        yield {"figure": "metric", "key": metric["metric"], **_estimate(metric)}
        yield {"figure": "stderr", "key": metric["metric"], "value": metric["stderr"], "n": metric["n"]}
    for group in subject["groups"]:
        yield {"figure": "group", "key": subject["headline"]["metric"], "group": group["group"], **_estimate(group)}
    for key, count in subject["counts"].items():
        yield {"figure": "count", "key": key, "value": count}
    if subject["bounds"]:
        yield {"figure": "bounds", "key": subject["headline"]["metric"], **subject["bounds"]}
    for each in subject["error_codes"]:
        yield {"figure": "error_code", "key": each["code"], "value": each["count"]}
    for key, value in subject["usage"].items():
        yield {"figure": "usage", "key": key, "value": value}
    for key in ("p50", "p95"):
        yield {"figure": "latency_ms", "key": key, "value": subject["latency_ms"][key]}
    yield {"figure": "charge_microusd", "value": subject["charge_microusd"]}


def _of_comparison(comparison: Mapping[str, Any], labels: Mapping[int, str]) -> Iterator[dict[str, Any]]:
    yield {"figure": "tasks_compared", "value": comparison["tasks_compared"], "n": comparison["tasks_planned"]}
    yield {"figure": "winner_named", "value": comparison["winner_named"]}
    for row in comparison["ranking"]:
        who = {"subject_index": row["subject_index"], "subject": row["label"]}
        yield {**who, "figure": "compared_score", "key": comparison["metric"], **_interval(row["interval"]), "value": row["score"]}
        yield {**who, "figure": "rank", "key": row["rank_label"], "group": row["group"], "value": row["rank"],
               "low": row["rank_range"][0], "high": row["rank_range"][1]}  # fmt: skip
    for pair in comparison["pairs"]:
        who = {
            "subject_index": pair["a"], "subject": labels.get(pair["a"]), "against_index": pair["b"], "against": labels.get(pair["b"])
        }  # fmt: skip
        yield {**who, "figure": "difference", **_interval(pair["interval"]), "value": pair["difference"]}
        for key in ("stderr", "both", "a_only", "b_only", "neither", "p_exact", "p_mid", "p_value", "p_holm", "separable"):
            yield {**who, "figure": "pair", "key": key, "value": pair[key], "method": pair["p_method"] if key == "p_value" else None}


def _estimate(metric: Mapping[str, Any]) -> dict[str, Any]:
    return {"value": metric["value"], "n": metric["n"], **_interval(metric["interval"])}


def _interval(interval: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: interval[name] for name in ("low", "high", "method")} if interval else {}


def _figures(common: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> bytes:
    return _lines([_cell({**common, **row}.get(column)) for column in FIGURE_COLUMNS] for row in rows)


def _cell(value: Any) -> Any:
    """The value as a cell that no spreadsheet runs: a text that begins like a formula gets an apostrophe before it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return plain_cell(value)


def _lines(rows: Iterable[list[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()
