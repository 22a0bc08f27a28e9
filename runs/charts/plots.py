"""Scores with intervals, and paired differences around zero, from the documents that the API serves.

Values are shares from 0 to 1, shown in percent and in points.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runs.charts.marks import series_of
from runs.charts.rows import Chart, Entry, Point, lay_out, values_of
from runs.charts.scales import Scale, decimals_for, finite, scale_over
from runs.charts.words import percent_range, percent_words, points, signed_points

MOST_PAIRS = 6
"""With more pairs than this (five models and more) only those with the best are drawn."""

_SCORES_CAPTION = "Marks are scores, lines their 95% intervals. Models whose lines overlap may still differ on the tasks they share."
_PAIRS_CAPTION = "Dots are paired differences, lines their 95% intervals. Filled: told apart, after adjusting for the number of pairs."


def scores_chart(result: Mapping[str, Any], compare: Mapping[str, Any] | None = None) -> Chart:
    """A result's headlines, in the order of the comparison's ranking where there is one, those left out of it last."""
    letters = {row["subject_index"]: row["group"] for row in (compare["ranking"] if compare else [])}
    excluded = {each["subject_index"] for each in (compare["excluded"] if compare else [])}
    subjects = {subject["index"]: subject for subject in result["subjects"]}
    order = [*letters, *(index for index in subjects if index not in letters)]
    entries = [
        _score_entry(index, subjects[index]["label"], subjects[index]["headline"], letters.get(index, ""), is_left_out=index in excluded)
        for index in order
    ]
    return _scores(entries, subjects[order[0]]["headline"]["name"] if order else "Score")


def ranking_chart(compare: Mapping[str, Any]) -> Chart:
    """The scores over the compared tasks, as a comparison ranks them."""
    entries = [
        _score_entry(row["subject_index"], row["label"], {"value": row["score"], "interval": row["interval"]}, row["group"])
        for row in compare["ranking"]
    ]
    return _scores(entries, "Score")


def running_chart(headlines: Sequence[tuple[str, Mapping[str, Any]]]) -> Chart:
    """The scores so far: label and `runs.results.running_headline` of each subject."""
    return _scores([_score_entry(index, label, headline) for index, (label, headline) in enumerate(headlines)], "Score so far")


def differences_chart(compare: Mapping[str, Any]) -> Chart | None:
    """The paired differences of a comparison, the better model first; None without a pair.

    With more than six pairs only those with the best are drawn; the comparison's own table has them all.
    """
    pairs = compare["pairs"]
    if not pairs:
        return None
    labels = {row["subject_index"]: row["label"] for row in compare["ranking"]}
    best = compare["ranking"][0]["subject_index"]
    is_long = len(pairs) > MOST_PAIRS
    entries = [_pair_entry(pair, labels) for pair in pairs if pair["a"] == best or not is_long]
    scale = scale_over([*values_of(entries), 0.0])
    return lay_out(
        entries,
        scale,
        chart_id="differences-chart",
        title=f"{labels[best]} against each other model" if is_long else "Differences between models",
        caption=_PAIRS_CAPTION,
        axis="points by which the first is ahead",
        columns=("Pair", "Difference in points", "95% interval", "Reading"),
        tick_words=share_tick(scale, signed_points),
    )


def share_tick(scale: Scale, words: Callable[[float, int], str] = percent_words) -> Callable[[float], str]:
    """How the ticks of a scale of shares are written: with the decimals that tell neighbours apart."""
    decimals = decimals_for(100 * scale.step)
    return lambda value: words(value, decimals)


def _scores(entries: Sequence[Entry], name: str) -> Chart:
    scale = scale_over(values_of(entries))
    return lay_out(
        entries,
        scale,
        chart_id="scores-chart",
        title=f"{name} with 95% intervals",
        caption=_SCORES_CAPTION if len(entries) > 1 else "The mark is the score, the line its 95% interval.",
        axis=name,
        columns=("Model", name, "95% interval", "Reading"),
        tick_words=share_tick(scale),
    )


def _score_entry(index: int, label: str, headline: Mapping[str, Any], letters: str = "", *, is_left_out: bool = False) -> Entry:
    value, interval = finite(headline["value"]), headline["interval"]
    words = "no answer graded" if value is None else percent_words(value)
    detail = percent_range(interval["low"], interval["high"]) if interval else ""
    return Entry(
        label=label,
        points=(Point(value, interval and interval["low"], interval and interval["high"], words, series_of(index)),),
        words=words,
        detail=detail,
        note="left out" if is_left_out else "",
        letters=letters,
        remark="Left out of the comparison" if is_left_out else f"Group {', '.join(letters)}" if letters else "",
    )


def _pair_entry(pair: Mapping[str, Any], labels: Mapping[int, str]) -> Entry:
    value, interval = finite(pair["difference"]), pair["interval"]
    words = "not known" if value is None else signed_points(value)
    low, high = (interval["low"], interval["high"]) if interval else (None, None)
    return Entry(
        label=labels[pair["a"]],
        against=labels[pair["b"]],
        points=(Point(value, low, high, words, is_hollow=not pair["separable"]),),
        words=words,
        detail=f"{points(interval['low'])} to {points(interval['high'])}" if interval else "",
        remark="Told apart" if pair["separable"] else "Cannot be told apart",
    )
