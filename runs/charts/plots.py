"""The two charts of a comparison, from the documents that the API serves: scores with intervals, and paired differences around zero.

Values are shares from 0 to 1, shown in percent and in points.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from runs.charts.rows import Chart, Entry, lay_out

MOST_PAIRS = 6
"""With more pairs than this (five models and more) only those with the best are drawn."""

_SCORES_CAPTION = "Dots are scores, lines their 95% intervals. Models whose lines overlap may still differ on the tasks they share."
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
    return _scores(entries, subjects[order[0]]["headline"]["name"])


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
    return lay_out(
        [_pair_entry(pair, labels) for pair in pairs if pair["a"] == best or not is_long],
        chart_id="differences-chart",
        title=f"{labels[best]} against each other model" if is_long else "Differences between models",
        caption=_PAIRS_CAPTION,
        axis="points by which the first is ahead",
        columns=("Pair", "Difference in points", "95% interval", "Reading"),
        tick_words=_signed_points,
        holds=(0.0,),
    )


def _scores(entries: Sequence[Entry], name: str) -> Chart:
    return lay_out(
        entries,
        chart_id="scores-chart",
        title=f"{name} with 95% intervals",
        caption=_SCORES_CAPTION if len(entries) > 1 else "The dot is the score, the line its 95% interval.",
        axis=name,
        columns=("Model", name, "95% interval", "Reading"),
        tick_words=_percent,
    )


def _score_entry(index: int, label: str, headline: Mapping[str, Any], letters: str = "", *, is_left_out: bool = False) -> Entry:
    value, interval = headline["value"], headline["interval"]
    return Entry(
        label=label,
        value=value,
        low=interval and interval["low"],
        high=interval and interval["high"],
        words="no answer graded" if value is None else _percent(value, 1),
        interval_words=f"{100 * interval['low']:.1f} to {100 * interval['high']:.1f}" if interval else "",
        note="left out" if is_left_out else letters,
        remark="Left out of the comparison" if is_left_out else f"Group {', '.join(letters)}" if letters else "",
        series=index % 8 + 1,
    )


def _pair_entry(pair: Mapping[str, Any], labels: Mapping[int, str]) -> Entry:
    interval = pair["interval"]
    return Entry(
        label=labels[pair["a"]],
        against=labels[pair["b"]],
        value=pair["difference"],
        low=interval and interval["low"],
        high=interval and interval["high"],
        words=_signed_points(pair["difference"], 1),
        interval_words=f"{_points(interval['low'])} to {_points(interval['high'])}" if interval else "",
        remark="Told apart" if pair["separable"] else "Cannot be told apart",
        is_hollow=not pair["separable"],
    )


def _percent(share: float, decimals: int) -> str:
    return f"{100 * share:.{decimals}f}%"


def _points(share: float) -> str:
    return _signed_points(share, 1).lstrip("+")


def _signed_points(share: float, decimals: int) -> str:
    """Points with a sign and a true minus; zero has none."""
    text = f"{100 * share:+.{decimals}f}"
    return text.replace("-", "−") if float(text) else text[1:]
