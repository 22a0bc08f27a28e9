"""The comparison that is shown before anybody has run one: recorded once, kept as `recorded.json` beside this file.

It was made by the product's own engine, graders and statistics on a benchmark of the starter catalog. Its subjects are the two baselines
and three small programs of ours that stand in for models; no model was asked, and pages say so. A test makes it again and compares.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from runs.enums import SubjectKind

PATH = Path(__file__).with_name("recorded.json")


@dataclass(frozen=True, slots=True)
class Solver:
    """Who answered: a baseline or a stand-in, and what it does."""

    index: int
    label: str
    about: str
    is_baseline: bool


@dataclass(frozen=True, slots=True)
class Recording:
    """`result` and `compare` are documents as the API serves them; each of `tasks` holds a prompt and every solver's graded answer."""

    benchmark: dict[str, Any]
    solvers: tuple[Solver, ...]
    result: dict[str, Any]
    compare: dict[str, Any]
    tasks: tuple[dict[str, Any], ...]


@lru_cache(maxsize=1)
def recorded_comparison() -> Recording:
    """The recording, read once a process."""
    kept = orjson.loads(PATH.read_bytes())
    kinds = {subject["index"]: subject["kind"] for subject in kept["result"]["subjects"]}
    solvers = tuple(
        Solver(index, solver["label"], solver["about"], kinds[index] == SubjectKind.BASELINE)
        for index, solver in enumerate(kept["solvers"])
    )
    return Recording(kept["benchmark"], solvers, kept["result"], kept["compare"], tuple(kept["tasks"]))
