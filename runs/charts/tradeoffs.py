"""Score against cost and score against time, with the models that nothing beats joined.

Scores are those of the comparison, over the tasks that all compared models finished, so that one model's luck with its tasks is not
another's loss. Baselines are lines, not points: they call no model. What a connection costs is not known here, so it is put aside.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from runs.charts.marks import series_of
from runs.charts.planes import Floor, Model, Plane, lay_out_plane, nothing_beats
from runs.charts.scales import finite
from runs.charts.words import percent_range, percent_words, time_tick, time_words, usd_tick, usd_words

MOST_DROPPED = 0.05
"""With a larger share of the tasks not finished by all, nothing is joined: no model is named as better then."""

ANSWERS = 1000
"""Costs are for so many answers: single ones cost too little to read."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """One of the two charts: what it reads of a subject, and its words."""

    id: str
    title: str
    axis: str
    column: str
    amount: Callable[[Mapping[str, Any]], float | None]
    words: Callable[[float | None], str]
    tick: Callable[[float], str]
    beaten: str
    """How another beats a model, in a sentence with {}."""
    joined: str
    """What the line joins, for the caption."""


@dataclass(frozen=True, slots=True)
class _Sorted:
    """A result's subjects by what a plane does with them, and scores by subject index."""

    models: list[Model]
    floors: list[Floor]
    aside: list[tuple[str, str, str]]
    """Not drawn: label, score and why."""


def cost_chart(result: Mapping[str, Any], compare: Mapping[str, Any] | None = None) -> Plane | None:
    """Score against the cost of 1,000 answers; None where no model has both, or none cost anything."""
    return _chart(_COST, result, compare)


def speed_chart(result: Mapping[str, Any], compare: Mapping[str, Any] | None = None) -> Plane | None:
    """Score against the median time of an answer; None where no model has both."""
    return _chart(_SPEED, result, compare)


def cost_of_answers(subject: Mapping[str, Any]) -> float | None:
    """Micro-USD for 1,000 answers, charged to this run or to one that it continues; None where they are billed elsewhere."""
    charge = subject.get("answers_charge_microusd", subject["charge_microusd"])
    answers = subject["counts"]["graded"]
    return None if charge is None or not answers else ANSWERS * int(charge) / answers


def _median_time(subject: Mapping[str, Any]) -> float | None:
    return finite(subject["latency_ms"]["p50"])


_COST = _Kind(
    id="cost-chart",
    title="Score against cost",
    axis="USD for 1,000 answers",
    column="USD for 1,000 answers",
    amount=cost_of_answers,
    words=lambda amount: "cost not known here" if amount is None else f"{usd_words(amount)} for 1,000 answers",
    tick=usd_tick,
    beaten="{} scores as high for less, or higher for as much",
    joined="no other scores as high for less",
)
_SPEED = _Kind(
    id="speed-chart",
    title="Score against time",
    axis="median time of an answer",
    column="Median time of an answer",
    amount=_median_time,
    words=lambda amount: "time not known" if amount is None else f"{time_words(amount)} an answer",
    tick=time_tick,
    beaten="{} scores as high in less time, or higher in as much",
    joined="no other scores as high in less time",
)


def _chart(kind: _Kind, result: Mapping[str, Any], compare: Mapping[str, Any] | None) -> Plane | None:
    parts = _sort(kind, result, compare)
    if not any(model.amount for model in parts.models):
        return None
    known = [(model.amount, model.score) for model in parts.models if model.amount is not None]
    is_judged = compare is None or compare["tasks_planned"] - compare["tasks_compared"] <= MOST_DROPPED * compare["tasks_planned"]
    floors = [floor.score for floor in parts.floors]
    unbeaten = iter(nothing_beats(known, floors))
    models = [replace(model, is_joined=is_judged and model.amount is not None and next(unbeaten)) for model in parts.models]
    readings = [_reading(kind, model, models, parts.floors, is_judged=is_judged) for model in models]
    name = next((subject["headline"]["name"] for subject in result["subjects"]), "Score")
    table = [
        (model.label, percent_words(model.score), _amount_words(kind, model.amount), reading)
        for model, reading in zip(models, readings, strict=True)
    ]
    table += [(floor.label, percent_words(floor.score), "—", "A baseline: it calls no model") for floor in parts.floors]
    table += [(label, score, "—", reason) for label, score, reason in parts.aside]
    return lay_out_plane(
        models,
        parts.floors,
        chart_id=kind.id,
        title=kind.title,
        description=_described(models, readings, parts),
        caption=_caption(kind, models, parts.floors, is_judged=is_judged),
        axis=kind.axis,
        upward=name,
        columns=("Model", name, kind.column, "Reading"),
        table=tuple(table),
        tick_words=kind.tick,
    )


def _sort(kind: _Kind, result: Mapping[str, Any], compare: Mapping[str, Any] | None) -> _Sorted:
    ranked = {row["subject_index"]: (row["score"], row["interval"]) for row in (compare["ranking"] if compare else [])}
    excluded = {each["subject_index"] for each in (compare["excluded"] if compare else [])}
    parts = _Sorted([], [], [])
    for subject in result["subjects"]:
        index, label, headline = subject["index"], subject["label"], subject["headline"]
        score, interval = ranked.get(index, (headline["value"], headline["interval"]))
        score = finite(score)
        if score is None or index in excluded or (subject["stopped"] and compare is None):
            reason = "No answer graded" if score is None else "Left out of the comparison"
            parts.aside.append((label, "—" if score is None else percent_words(score), reason))
        elif subject.get("kind") == "baseline":
            parts.floors.append(Floor(label, series_of(index), score))
        else:
            amount = finite(kind.amount(subject))
            detail = f" ({percent_range(interval['low'], interval['high'])})" if interval else ""
            low, high = (interval["low"], interval["high"]) if interval else (None, None)
            words = f"{percent_words(score)}{detail}, {kind.words(amount)}"
            parts.models.append(Model(label, series_of(index), score, low, high, amount, words))
    return parts


def _amount_words(kind: _Kind, amount: float | None) -> str:
    return "not known here" if amount is None else usd_words(amount) if kind is _COST else time_words(amount)


def _reading(kind: _Kind, model: Model, models: Sequence[Model], floors: Sequence[Floor], *, is_judged: bool) -> str:
    if model.amount is None:
        return "Not compared: what it costs is not known here" if kind is _COST else "Not compared"
    if model.is_joined:
        return "Nothing beats it"
    if not is_judged:
        return "Not judged: too many answers are missing"
    rivals = [other for other in models if other.amount is not None and other.amount <= model.amount and other.score >= model.score]
    rivals = [other for other in rivals if (other.amount, other.score) != (model.amount, model.score)]
    if rivals:
        # The one that shows most: the highest score, then the least amount.
        best = max(rivals, key=lambda other: (other.score, -(other.amount or 0.0)))
        return kind.beaten.format(best.label)
    best_floor = max(floors, key=lambda floor: floor.score)
    return f"Not better than the baseline {best_floor.label}"


def _described(models: Sequence[Model], readings: Sequence[str], parts: _Sorted) -> str:
    said = [f"{model.label}: {model.words}. {reading}." for model, reading in zip(models, readings, strict=True)]
    said += [f"{floor.label}: {percent_words(floor.score)}, a baseline." for floor in parts.floors]
    said += [f"{label}: {reason.lower()}." for label, _, reason in parts.aside]
    return " ".join(said)


def _caption(kind: _Kind, models: Sequence[Model], floors: Sequence[Floor], *, is_judged: bool) -> str:
    said = []
    if len({(model.amount, model.score) for model in models if model.is_joined}) > 1:
        said.append(f"The line joins the models that nothing beats: {kind.joined}.")
    elif not is_judged:
        said.append("No models are joined: too many answers are missing to name one as better.")
    if any(model.low is not None for model in models):
        said.append("Upright lines are 95% intervals; models that cannot be told apart may change places.")
    if any(model.amount is None for model in models):
        said.append("A connection is billed by its own provider, so what it costs is not known here.")
    if floors:
        said.append("Dashed: baselines, which call no model.")
    return " ".join(said)
