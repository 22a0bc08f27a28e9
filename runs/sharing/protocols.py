"""What must be alike for scores to be compared, and the scores themselves as they are kept. Pure."""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from runs.statistics.means import Values

SCHEMA = "evalrouter.protocol.v1"

FULL, PART = "full", "part"


def protocol_of(
    *,
    profile_id: str,
    version_sha256: str,
    tasks: int,
    population: int,
    task_list_sha256: str,
    output_limit: int,
    output_format: str,
    attempts: int,
    grading: int,
) -> dict[str, Any]:
    """The protocol of a result on one benchmark version. Results are alike where all of it is equal."""
    return {
        "schema": SCHEMA,
        "profile_id": profile_id,
        "version_sha256": version_sha256,
        "coverage": FULL if tasks == population else PART,
        "tasks": tasks,
        "population": population,
        "task_list_sha256": task_list_sha256,
        "output_limit": output_limit,
        "output_format": output_format,
        "attempts": attempts,
        "grading": grading,
    }


def differences(protocol: Mapping[str, Any], *, output_limit: int) -> list[dict[str, str]]:
    """How a protocol differs from the version's own, whose output limit is given: codes as comparisons name them, with words.

    The version's own: all tasks, its output limit, the default format, one attempt, the first grading.
    """
    found = []
    if protocol["coverage"] != FULL:
        said = f"{protocol['tasks']:,} of {protocol['population']:,} tasks"
        found.append({"code": "task_selection_differs", "words": f"{said}, list {protocol['task_list_sha256'][:8]}"})
    if protocol["output_limit"] != output_limit:
        said = f"answers up to {protocol['output_limit']:,} tokens instead of {output_limit:,}"
        found.append({"code": "output_limit_differs", "words": said})
    if protocol["output_format"] != "default":
        found.append({"code": "output_format_differs", "words": f"the output format {protocol['output_format']}"})
    if protocol["attempts"] != 1:
        found.append({"code": "attempts_differ", "words": f"{protocol['attempts']} attempts a task, their mean"})
    if protocol["grading"] != 1:
        found.append({"code": "grading_differs", "words": f"graded again: grading {protocol['grading']}"})
    return found


def pack_scores(scores: Values) -> bytes:
    """The score of each task, NaN where it has none, in so few bytes that twenty entries are read at once."""
    return zlib.compress(np.ascontiguousarray(scores, dtype="<f8").tobytes(), 6)


def unpack_scores(packed: bytes) -> Values:
    return np.frombuffer(zlib.decompress(bytes(packed)), dtype="<f8").astype(np.float64)


def in_version_order(scores: Values, ordinals: Sequence[int]) -> Values:
    """Scores by position in a run, sorted by the tasks' places in the version: lists of the same tasks give the same order."""
    return scores[np.argsort(np.asarray(ordinals, dtype=np.int64), kind="stable")]
