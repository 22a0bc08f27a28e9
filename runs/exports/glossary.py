"""What the figures of a report mean, for somebody who has the file and nothing else."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from runs.wording import method_words, plain

_METRICS = {
    "accuracy": "The share of the scored tasks that were answered rightly, as the benchmark's grader reads the answers.",
    "accuracy_errors_wrong": (
        "A second figure: the share of right answers if every answer that ended in an error counted as a wrong one. "
        "An error says nothing about the model, so the headline leaves it out."
    ),
}
_PATTERNS = (
    (
        re.compile(r"pass@(\d+)"),
        "The chance that at least one of {0} attempts at a task is right, without bias (Chen et al. 2021), as the mean over the tasks.",
    ),
    (re.compile(r"pass\^(\d+)"), "The chance that all of {0} attempts at a task are right, as the mean over the tasks."),
)
_METHODS = {
    "wilson": "The score interval of a share (Wilson 1927). It is never of no width, also where all answers are right or all are wrong.",
    "t": "The mean with t times its standard error at both sides, kept within what the metric can be.",
    "clustered_t": (
        "The same with the standard error over clusters of related tasks, or over tasks where each was attempted several times: "
        "answers that belong together count for less than as many that do not."
    ),
    "bootstrap": "The middle 95% of the figure over 10,000 samples that were drawn again from the tasks, with a stored seed.",
    "author": "The standard error as the metric's author computes it.",
    "newcombe": "The interval of a paired difference of shares (Newcombe 1998, method 10).",
}
_TESTS = {
    "mcnemar_mid": "McNemar's test in its mid-p form: of the tasks that only one of the two got right, is the split further from even than "
    "chance would make it?",
    "t": "The t test of the mean difference.",
    "clustered_t": "The t test of the mean difference, over clusters of related tasks.",
    "bootstrap": "How often the difference changes its sign over the bootstrap's samples.",
}
_ALWAYS = (
    ("Interval", "Where the score could lie were other tasks of the same kind asked: 95 of 100 such intervals hold it."),
    ("Standard error", "How far the score would typically stray from one set of such tasks to another."),
    ("Scored", "Tasks whose answer came and could be judged. A score is over these alone."),
    ("Error", "No answer came, or none that could be judged. It is missing, not wrong."),
    ("Missing", "Planned and not done, because the run ended before."),
    ("Truncated", "Cut off at the answer limit. What was there is judged all the same."),
    ("Unreadable", "An answer in which the grader found nothing to compare. It is scored as wrong, and counted here."),
    ("Empty", "An answer without any text. It is scored as wrong, and counted here."),
    ("Charge", "What the answers cost, platform fee included. What a connection's own provider bills is not known here."),
)
_COMPARED = (
    ("Rank", "Score, then cost. A rank with a range says which ranks the model may have, as far as the adjusted tests can tell."),
    ("Letters", "Models that share a letter cannot be told apart on these tasks. A model may have several letters."),
    ("Difference", "Of two models on the tasks that both of them finished, task by task, in percentage points."),
    ("p", "How often a difference as large or larger would appear between two equally good models. Small means: hardly by chance."),
    (
        "Adjusted p",
        "The same after Holm's correction, since of many pairs some look different by chance. Below 0.05 the two count as different.",
    ),
    ("Bounds", "Where the score could lie were every missing answer wrong, or every one right. Shown where that is wide."),
)


def metric_words(key: str, name: str) -> str:
    """What a metric is, in a sentence."""
    if key in _METRICS:
        return _METRICS[key]
    for pattern, words in _PATTERNS:
        if found := pattern.fullmatch(key):
            return words.format(found[1])
    return f"The benchmark's own metric {key}, as the mean over its scored tasks." if name else plain(key)


def glossary(subjects: Iterable[Mapping[str, Any]], comparisons: Iterable[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Terms and definitions: of the metrics and methods that are there, and of everything that every report has."""
    subjects, comparisons = list(subjects), [each for each in comparisons if each["pairs"]]
    metrics = {metric["metric"]: metric["name"] for subject in subjects for metric in subject["metrics"]}
    methods = {metric["interval"]["method"] for subject in subjects for metric in subject["metrics"] if metric["interval"]}
    pairs = [pair for each in comparisons for pair in each["pairs"]]
    methods |= {pair["interval"]["method"] for pair in pairs if pair["interval"]}
    tests = {pair["p_method"] for pair in pairs if pair["p_method"]}
    terms = [(name, metric_words(key, name)) for key, name in metrics.items()]
    terms += [(f"Interval: {method_words(method)}", _METHODS.get(method, plain(method))) for method in sorted(methods)]
    terms += _ALWAYS
    if pairs:
        terms += _COMPARED
        terms += [(f"Test: {method_words(test)}", _TESTS.get(test, plain(test))) for test in sorted(tests)]
    return terms
