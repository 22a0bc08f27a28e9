"""An export as one HTML file: no script, nothing from outside, charts drawn by the templates of the report, light and dark, for paper too.

Everything but the failures comes from the frozen documents. Of these a few are listed, in the order of the tasks: the other exports have
all.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from catalog.graders import describe
from runs.charts import STYLE_SHEETS, cost_chart, differences_chart, groups_chart, latency_chart, scores_chart, speed_chart
from runs.charts.words import natural_order
from runs.exports import queries
from runs.exports.glossary import glossary, metric_words
from runs.exports.samples import documents_of
from runs.exports.source import Source
from runs.exports.texts import kept_words, status_words
from runs.models import RunBenchmark

MOST_FAILURES = 200
"""Failures in a file, whatever the run's size."""
FAILURES_EACH = 10
"""Of one model on one benchmark."""
EXCERPT = 160
"""Characters of a question or an answer that are shown."""
STATIC = Path(settings.BASE_DIR) / "static"


def html_parts(source: Source) -> Iterator[bytes]:
    """The file in parts."""
    yield render_to_string("runs/export.html", context_of(source)).encode()


def context_of(source: Source) -> dict[str, Any]:
    run, document = source.run, source.document
    sections = [_section(source, benchmark) for benchmark in source.benchmarks]
    names = [benchmark.version.benchmark.name for benchmark in source.benchmarks]
    return {
        "styles": _styles(),
        "source": source,
        "run": run,
        "title": run.name or ", ".join(names),
        "result": document,
        "plan": source.plan,
        "status": status_words(source),
        "kept": kept_words(source),
        "sections": sections,
        "subjects": [
            {"subject": subject, "pricing": source.planned_subjects[subject.index]["pricing"], "usage": _usage(source, subject.index)}
            for subject in source.subjects
        ],
        "estimated": sum(each["usage"]["estimated_calls"] for each in document["subjects"]),
        "has_external": any(each.get("kind") == "connection" for each in document["subjects"]),
        "glossary": glossary(document["subjects"], source.comparisons.values()),
    }


def _usage(source: Source, index: int) -> dict[str, int]:
    """A model's tokens, and what it was charged, over all benchmarks."""
    mine = [each for each in source.document["subjects"] if each["index"] == index]
    sums = {
        name: sum(each["usage"][name] for each in mine)
        for name in ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_tokens")
    }
    return {**sums, "charge_microusd": sum(int(each["charge_microusd"]) for each in mine)}


def _section(source: Source, benchmark: RunBenchmark) -> dict[str, Any]:
    """One benchmark: what its part of the file shows."""
    part = source.parts[benchmark.index]
    subjects = part["subjects"]
    found = source.comparisons.get(benchmark.index)
    compare = found if found and len(subjects) > 1 else None
    manifest = source.manifests[benchmark.index]
    charts: dict[str, tuple[Callable[..., Any], Sequence[Any]]] = {
        "groups": (groups_chart, [part]),
        "latency": (latency_chart, [part]),
    }
    if compare:
        charts |= {
            "forest": (scores_chart, [part, compare]),
            "differences": (differences_chart, [compare]),
            "cost": (cost_chart, [part, compare]),
            "speed": (speed_chart, [part, compare]),
        }
    return {
        "benchmark": benchmark,
        "version": benchmark.version,
        "manifest": manifest,
        "grader": describe(manifest["grader"], manifest["grader_options"]),
        "subjects": subjects,
        "labels": {subject["index"]: subject["label"] for subject in subjects},
        "coverage": part["coverage"],
        "compare": compare,
        "is_judged": compare is not None and compare["bounds"] is None and len(compare["ranking"]) > 1,
        "rows": _ranked(subjects, compare),
        "metrics": [
            {**metric, "subject": subject, "words": metric_words(metric["metric"], metric["name"])}
            for subject in subjects
            for metric in subject["metrics"]
        ],
        "group_rows": _group_rows(subjects),
        "error_rows": _error_rows(subjects),
        "failures": _failures(source, benchmark),
        "charts": {name: _named(draw(*given), benchmark.index) for name, (draw, given) in charts.items()},
    }


def _named(chart: Any, index: int) -> Any:
    """The chart with an ID that no other section of the file has."""
    return replace(chart, id=f"{chart.id}-{index}") if chart is not None else None


def _ranked(subjects: Sequence[Mapping[str, Any]], compare: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """One row a model, in the order of the ranking; those that the comparison leaves out come last, with the reason."""
    left = {subject["index"]: subject for subject in subjects}
    rows = [{"subject": left.pop(entry["subject_index"]), "entry": entry} for entry in compare["ranking"]] if compare else []
    reasons = {each["subject_index"]: each["reason"] for each in compare["excluded"]} if compare else {}
    return rows + [{"subject": subject, "entry": None, "excluded": reasons.get(index)} for index, subject in left.items()]


def _group_rows(subjects: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row a group of tasks, with each model's score in the order of the subjects."""
    cells = [{group["group"]: group for group in subject["groups"]} for subject in subjects]
    names = sorted({name for its in cells for name in its}, key=natural_order)
    return [{"name": name, "cells": [its.get(name) for its in cells]} for name in names]


def _error_rows(subjects: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row an error class, with each model's count in the order of the subjects; the most frequent first."""
    counts = [{each["code"]: each["count"] for each in subject["error_codes"]} for subject in subjects]
    rows = [{"code": code, "cells": [its.get(code, 0) for its in counts]} for code in {code for its in counts for code in its}]
    return sorted(rows, key=lambda row: (-sum(row["cells"]), row["code"]))


def _failures(source: Source, benchmark: RunBenchmark) -> list[dict[str, Any]]:
    """Of each model the first answers that are wrong or missing for an error, and how many it has; none where samples may not leave."""
    if benchmark not in source.open_benchmarks:
        return []
    share = max(1, min(FAILURES_EACH, MOST_FAILURES // max(1, len(source.document["subjects"]))))
    by_index = {subject.index: subject for subject in source.subjects}
    found = []
    for figures in source.subjects_of(benchmark):
        counts = figures["counts"]
        total = (counts["incorrect"] or 0) + counts["errors"]
        if total:
            samples = documents_of(source, queries.failures_of(by_index[figures["index"]], benchmark, share))
            found.append(
                {"label": figures["label"], "index": figures["index"], "total": total, "samples": [_excerpt(each) for each in samples]}
            )
    return found


def _excerpt(sample: Mapping[str, Any]) -> dict[str, Any]:
    """A failure as the file shows it: how the question begins, how the answer ends, what was read and what was expected."""
    asked, said, reference = sample["messages"][-1]["content"], sample["response"] or "", sample["reference"]
    expected = " or ".join(map(str, reference)) if isinstance(reference, list) else reference
    return {
        **sample,
        "asked": asked if len(asked) <= EXCERPT else f"{asked[:EXCERPT]}…",
        "said": said if len(said) <= EXCERPT else f"…{said[-EXCERPT:]}",
        "expected": expected,
    }


@lru_cache(maxsize=1)
def _styles() -> SafeString:
    """What the charts need of our own style sheets, without the address of the typeface: the file has nothing from outside."""
    text = "".join((STATIC / name).read_text() for name in STYLE_SHEETS)
    return SafeString(re.sub(r"@font-face\s*\{[^}]*\}|/\*.*?\*/|\s+", " ", text, flags=re.DOTALL))
