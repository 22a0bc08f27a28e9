"""The statistics of results: pure functions, without Django. Every figure of pages, API and exports comes from here.

What needs only counts is exported here and imports nothing heavy. What needs every value of a task is in `means`,
`bootstrap` and `choosing`, which import numpy; scipy is imported where a t distribution is asked for.
`choosing` picks the method for a case; the rest computes what it is told to.
"""

from runs.statistics.intervals import LEVEL, Estimate, Interval, Z, missing_bounds, wilson
from runs.statistics.metric import ACCURACY, Metric
from runs.statistics.pairs import Table, mcnemar, newcombe, newcombe_paired
from runs.statistics.planning import (
    ASSUMED_DISAGREEMENT,
    items_needed,
    more_items_needed,
    more_values_needed,
    smallest_difference,
    smallest_difference_seen,
    smallest_mean_difference,
)
from runs.statistics.ranking import ALPHA, holm, holm_factors, letters, rank_ranges

__all__ = [
    "ACCURACY",
    "ALPHA",
    "ASSUMED_DISAGREEMENT",
    "LEVEL",
    "Estimate",
    "Interval",
    "Metric",
    "Table",
    "Z",
    "holm",
    "holm_factors",
    "items_needed",
    "letters",
    "mcnemar",
    "missing_bounds",
    "more_items_needed",
    "more_values_needed",
    "newcombe",
    "newcombe_paired",
    "rank_ranges",
    "smallest_difference",
    "smallest_difference_seen",
    "smallest_mean_difference",
    "wilson",
]
