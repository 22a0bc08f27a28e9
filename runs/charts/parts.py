"""Charts that take a result apart: the score of each group of tasks, and how long the answers took."""

from collections.abc import Mapping, Sequence
from typing import Any

from runs.charts.marks import Key, series_of, shape_of
from runs.charts.plots import share_tick
from runs.charts.rows import Chart, Entry, Point, lay_out, values_of
from runs.charts.scales import amounts_scale, finite, scale_over
from runs.charts.words import natural_order, percent_range, percent_words, time_tick, time_words

MOST_GROUPS = 40
"""With more groups only the largest are drawn; the table has them all."""

_TIMES_CAPTION = (
    "Marks are medians: half of the answers came within that time. Thick bars hold the middle half of the answers, "
    "thin lines reach from 5% to 95% of them."
)


def groups_chart(result: Mapping[str, Any]) -> Chart | None:
    """The score of each model on each group of tasks, groups by name; None without groups."""
    subjects = [subject for subject in result["subjects"] if subject["groups"]]
    sizes = {group["group"]: group["planned"] for subject in subjects for group in subject["groups"]}
    if not sizes:
        return None
    cells = [{group["group"]: group for group in subject["groups"]} for subject in subjects]
    names = sorted(sizes, key=natural_order)
    largest = set(sorted(sizes, key=lambda name: -sizes[name])[:MOST_GROUPS])
    entries = [_group_entry(name, sizes[name], subjects, cells) for name in names if name in largest]
    scale = scale_over(values_of(entries))
    metric = subjects[0]["headline"]["name"]
    is_cut = f" The {MOST_GROUPS} largest of {len(sizes)} groups." if len(sizes) > MOST_GROUPS else ""
    return lay_out(
        entries,
        scale,
        chart_id="groups-chart",
        title=f"{metric} by group of tasks",
        caption=f"Marks are scores, lines their 95% intervals; with few tasks in a group they are wide.{is_cut}",
        axis=metric,
        columns=("Group", "Tasks", *(subject["label"] for subject in subjects)),
        tick_words=share_tick(scale),
        table=[(name or "—", f"{sizes[name]:,}", *(_cell_words(its.get(name)) for its in cells)) for name in names],
        description=" ".join(_extremes(subject["label"], subject["groups"]) for subject in subjects),
        key=_key(subjects) if len(subjects) > 1 else (),
    )


def latency_chart(result: Mapping[str, Any]) -> Chart | None:
    """How long each model's graded answers took; None where no model answered. Baselines call no model, so they have no times."""
    subjects = [subject for subject in result["subjects"] if subject.get("kind") != "baseline"]
    entries = [_time_entry(subject) for subject in subjects]
    times = values_of(entries)
    if not any(times):
        return None
    return lay_out(
        entries,
        amounts_scale(times),
        chart_id="latency-chart",
        title="Time of an answer",
        caption=_TIMES_CAPTION,
        axis="time from a request to its whole answer",
        columns=("Model", "Median", "95% within", "Middle half"),
        tick_words=time_tick,
        table=[_times_told(subject) for subject in subjects],
    )


def _group_entry(name: str, size: int, subjects: Sequence[Mapping[str, Any]], cells: Sequence[Mapping[str, Any]]) -> Entry:
    is_alone = len(subjects) == 1
    points = tuple(_cell_point(subject, its.get(name), with_label=not is_alone) for subject, its in zip(subjects, cells, strict=True))
    cell = cells[0].get(name) if is_alone else None
    value, interval = (finite(cell["value"]), cell["interval"]) if cell else (None, None)
    return Entry(
        label=name or "no group",
        points=points,
        words="" if not is_alone else "no answer graded" if value is None else percent_words(value),
        detail=percent_range(interval["low"], interval["high"]) if interval else "",
        note=f"{size:,} task{'s' if size != 1 else ''}",
    )


def _cell_point(subject: Mapping[str, Any], cell: Mapping[str, Any] | None, *, with_label: bool) -> Point:
    value, interval = (finite(cell["value"]), cell["interval"]) if cell else (None, None)
    low, high = (interval["low"], interval["high"]) if interval else (None, None)
    words = "" if value is None else f"{subject['label']} {percent_words(value)}" if with_label else percent_words(value)
    return Point(value, low, high, words, series_of(subject["index"]))


def _cell_words(cell: Mapping[str, Any] | None) -> str:
    value = finite(cell["value"]) if cell else None
    if cell is None or value is None:
        return "—"
    interval = cell["interval"]
    return f"{percent_words(value)} ({percent_range(interval['low'], interval['high'])})" if interval else percent_words(value)


def _extremes(label: str, groups: Sequence[Mapping[str, Any]]) -> str:
    """A sentence on a model's best and worst group: every figure would be too long to listen to."""
    known = [group for group in groups if finite(group["value"]) is not None]
    if not known:
        return f"{label}: no answer graded."
    best, worst = max(known, key=lambda group: group["value"]), min(known, key=lambda group: group["value"])
    if best["value"] == worst["value"]:
        return f"{label}: {percent_words(best['value'])} in every group."
    return (
        f"{label}: best {best['group']} with {percent_words(best['value'])}, worst {worst['group']} with {percent_words(worst['value'])}."
    )


def _key(subjects: Sequence[Mapping[str, Any]]) -> tuple[Key, ...]:
    numbers = [series_of(subject["index"]) for subject in subjects]
    return tuple(
        Key(series, shape_of(series), subject["label"], _headline_words(subject["headline"]))
        for series, subject in zip(numbers, subjects, strict=True)
    )


def _headline_words(headline: Mapping[str, Any]) -> str:
    value = finite(headline["value"])
    return "" if value is None else percent_words(value)


def _time_entry(subject: Mapping[str, Any]) -> Entry:
    times = subject["latency_ms"]
    p50, p95, quantiles = times["p50"], times["p95"], times.get("quantiles") or {}
    words = "no answer graded" if p50 is None else time_words(p50)
    box = (quantiles["p25"], quantiles["p75"]) if quantiles else None
    return Entry(
        label=subject["label"],
        points=(Point(p50, quantiles.get("p5", p50), p95, words, series_of(subject["index"]), box=box),),
        words=words,
        detail="" if p95 is None else f"95% in {time_words(p95)}",
    )


def _times_told(subject: Mapping[str, Any]) -> tuple[str, ...]:
    times = subject["latency_ms"]
    quantiles = times.get("quantiles")
    middle = f"{time_words(quantiles['p25'])} to {time_words(quantiles['p75'])}" if quantiles else "—"
    p50, p95 = ("—" if value is None else time_words(value) for value in (times["p50"], times["p95"]))
    return subject["label"], p50, p95, middle
