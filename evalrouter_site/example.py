"""The real result on the landing page, computed from its counts by the product's own statistics.

The recorded outputs of four models on the test questions of GSM8K (Cobbe et al. 2021, "Training Verifiers to Solve Math Word Problems"),
graded by the `numeric` grader.
"""

from functools import lru_cache
from typing import Any

from runs.statistics import Table, mcnemar, newcombe_paired, wilson

TASKS = 1319
RIGHT = {"175B, verification": 742, "6B, verification": 515, "175B, fine-tuning": 458, "6B, fine-tuning": 286}
PAIR = ("6B, verification", "175B, fine-tuning")
ONLY_FIRST, ONLY_SECOND = 209, 152


@lru_cache(maxsize=1)
def example_result() -> dict[str, Any]:
    """The rows of the drawing, and the paired comparison of the two in the middle."""
    rows = []
    for index, (label, right) in enumerate(RIGHT.items(), start=1):
        interval = wilson(right, TASKS)
        rows.append({"label": label, "series": index, "value": right / TASKS, "low": interval.low, "high": interval.high, "right": right})
    both = RIGHT[PAIR[0]] - ONLY_FIRST
    difference, interval = newcombe_paired(Table(both, ONLY_FIRST, ONLY_SECOND, TASKS - both - ONLY_FIRST - ONLY_SECOND))
    exact, _ = mcnemar(ONLY_FIRST, ONLY_SECOND)
    return {
        "tasks": TASKS,
        "rows": rows,
        "pair": {
            "first": PAIR[0],
            "second": PAIR[1],
            "points": difference * 100,
            "low": interval.low * 100,
            "high": interval.high * 100,
            "p": exact,
        },
    }
