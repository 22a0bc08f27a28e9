"""A shown result as its page lays it out: rows, and the charts that the report has. Reads shown documents alone. Pure."""

from collections.abc import Mapping
from typing import Any

from runs.charts import cost_chart, differences_chart, groups_chart, latency_chart, scores_chart, speed_chart
from runs.charts.words import natural_order

COUNTS = ("errors", "missing", "truncated", "unreadable", "empty")
"""Columns that a narrow screen leaves out where they are 0 for every model."""


def laid_out(shown: Mapping[str, Any]) -> dict[str, Any]:
    """The context of `shared/body.html`."""
    compare, subjects = shown["comparison"], shown["subjects"]
    has_cost = any("charge_microusd" in subject for subject in subjects)
    return {
        "shown": shown,
        "compare": compare,
        "rows": _ranked(shown),
        "labels": {subject["index"]: subject["label"] for subject in subjects},
        "has_cost": has_cost,
        "zero_columns": {name for name in COUNTS if not any(subject["counts"].get(name) for subject in subjects)},
        "is_judged": compare is not None and compare["bounds"] is None and len(compare["ranking"]) > 1,
        "forest": scores_chart(shown, compare) if compare and compare["ranking"] else None,
        "differences": differences_chart(compare) if compare else None,
        "cost": cost_chart(shown, compare) if compare and has_cost else None,
        "speed": speed_chart(shown, compare) if compare else None,
        "groups": groups_chart(shown),
        "latency": latency_chart(shown),
        "group_rows": _by_group(shown),
        "metric_rows": _by_metric(shown),
        "error_rows": _by_error(shown),
    }


def _ranked(shown: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row a model in the order of the ranking; those that the comparison leaves out come last, with the reason."""
    subjects = {subject["index"]: subject for subject in shown["subjects"]}
    compare = shown["comparison"]
    if not compare:
        return [{"subject": subject, "entry": None, "excluded": None} for subject in subjects.values()]
    rows = [{"subject": subjects.pop(entry["subject_index"]), "entry": entry, "excluded": None} for entry in compare["ranking"]]
    reasons = {each["subject_index"]: each["reason"] for each in compare["excluded"]}
    return rows + [{"subject": subject, "entry": None, "excluded": reasons.get(index)} for index, subject in subjects.items()]


def _by_group(shown: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row a group of tasks, with each model's score in the order of the subjects."""
    cells = [{group["group"]: group for group in subject["groups"]} for subject in shown["subjects"]]
    names = sorted({name for groups in cells for name in groups}, key=natural_order)
    return [{"name": name, "cells": [groups.get(name) for groups in cells]} for name in names]


def _by_metric(shown: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row a figure beside the headline (of several attempts, with errors counted as wrong), with each model's in their order."""
    cells = [{metric["metric"]: metric for metric in subject["metrics"]} for subject in shown["subjects"]]
    names = {key: metric["name"] for metrics in cells for key, metric in metrics.items()}
    headlines = {subject["headline"]["metric"] for subject in shown["subjects"]}
    return [{"name": name, "cells": [metrics.get(key) for metrics in cells]} for key, name in names.items() if key not in headlines]


def _by_error(shown: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row an error class, with each model's count in the order of the subjects; the most frequent first."""
    counts = [{each["code"]: each["count"] for each in subject["error_codes"]} for subject in shown["subjects"]]
    rows = [{"code": code, "cells": [each.get(code, 0) for each in counts]} for code in {code for each in counts for code in each}]
    return sorted(rows, key=lambda row: (-sum(row["cells"]), str(row["code"])))
