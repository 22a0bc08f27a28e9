"""What each model of a run made of each task, held as numbers alone, and the tasks on which models disagree. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

type Mask = NDArray[np.bool_]

SHOWN = ("any", "a_only", "b_only", "all_wrong", "all_right", "errors")
"""Which tasks can be asked for."""


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """One row a subject, in the order of `subjects` (their indexes), one column a task, in the order of the benchmark's list."""

    subjects: tuple[int, ...]
    values: NDArray[np.float32]
    """The mean score of a task's attempts: 1 right, 0 wrong; NaN unless each of them is graded."""
    has_error: Mask
    """Where an attempt ended in an error."""

    @classmethod
    def of(
        cls, subjects: Sequence[tuple[int, int]], samples: Iterable[tuple[int, int, str, float | None]], *, first: int, tasks: int, k: int
    ) -> "Verdicts":
        """Of subjects (key and index) and samples (subject's key, position in the run, status, score) with `k` attempts at each task."""
        place = {key: row for row, (key, _) in enumerate(subjects)}
        shape = (len(subjects), tasks)
        size = len(subjects) * tasks
        cells: list[int] = []
        scores: list[float] = []
        failed: list[int] = []
        for key, position, status, score in samples:
            cell = place[key] * tasks + position - first
            if status == "graded" and score is not None:
                cells.append(cell)
                scores.append(score)
            elif status == "error":
                failed.append(cell)
        at = np.asarray(cells, dtype=np.intp)
        sums = np.bincount(at, weights=np.asarray(scores, dtype=np.float64), minlength=size)
        graded = np.bincount(at, minlength=size)
        values = np.where(graded == k, sums / k, np.nan).astype(np.float32).reshape(shape)
        has_error = np.zeros(size, dtype=bool)
        has_error[failed] = True
        return cls(tuple(index for _, index in subjects), values, has_error.reshape(shape))

    @property
    def tasks(self) -> int:
        return self.values.shape[1]

    def row(self, subject_index: int) -> NDArray[np.float32]:
        """One subject's values. Raises ValueError for an index that no subject has."""
        values: NDArray[np.float32] = self.values[self.subjects.index(subject_index)]
        return values

    def shown(self, show: str, a: int, b: int) -> Mask:
        """Where the tasks are that are asked for.

        `a_only` where subject `a` has a higher value than `b`, both finished: with one attempt, where only `a` is right. `any` where
        any two subjects that finished differ. `all_wrong` and `all_right` where every subject finished. `errors` where one ended in one.
        """
        if show == "a_only":
            return np.greater(self.row(a), self.row(b))
        if show == "b_only":
            return np.greater(self.row(b), self.row(a))
        if show == "errors":
            return np.asarray(self.has_error.any(axis=0))
        finished = np.isfinite(self.values)
        least = np.where(finished, self.values, np.inf).min(axis=0, initial=np.inf)
        most = np.where(finished, self.values, -np.inf).max(axis=0, initial=-np.inf)
        by_all = finished.all(axis=0) & (len(self.subjects) > 0)
        return {"any": most > least, "all_wrong": by_all & (most == 0), "all_right": by_all & (least == 1)}[show]

    def cell(self, row: int, task: int) -> dict[str, Any]:
        """What a subject made of a task: `right`, `wrong`, `mixed` (a score between), `error` or `unfinished`, and the score."""
        value = float(self.values[row, task])
        if value != value:
            return {"verdict": "error" if self.has_error[row, task] else "unfinished", "score": None}
        return {"verdict": "right" if value == 1 else "wrong" if value == 0 else "mixed", "score": round(value, 6)}


def page_of_places(places: NDArray[np.intp], after: int | None, limit: int) -> tuple[list[int], int | None]:
    """Up to `limit` of these ascending places past `after`, and after which the next page begins; None on the last."""
    start = 0 if after is None else int(np.searchsorted(places, after, side="right"))
    found: list[int] = places[start : start + limit].tolist()
    return found, found[-1] if start + limit < places.size else None
