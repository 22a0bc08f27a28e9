"""Which of a run's subjects are ahead of which, in the shape of the API's comparison. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from runs.statistics import ACCURACY, Metric


@dataclass(frozen=True, slots=True)
class ComparedSubject:
    """One subject's value of each planned task, by position: None where the task has no grade."""

    index: int
    label: str
    scores: Sequence[float | None]
    charge_microusd: int = 0
    stopped: str = ""
    """The code it was stopped with: it is left out and listed."""
    external_charges: bool = False
    """What it cost is not known here: it is never called the cheapest."""
    reasons: Mapping[int, str] = field(default_factory=dict)
    """Why a position has no score: `error`, `inconclusive` or `excluded`; `missing` where nothing is said."""


@dataclass(frozen=True, slots=True)
class CompareInputs:
    """The subjects to compare on one benchmark version. `clusters` names each planned task's, by position; empty where there are none."""

    run_id: str
    profile_id: str
    subjects: Sequence[ComparedSubject]
    metric: Metric = ACCURACY
    clusters: Sequence[str] = ()
    attempts: int = 1
    seed: int = 0
    """Of the bootstrap."""
