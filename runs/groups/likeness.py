"""Whether two results may be compared at all: the same tasks, asked and graded in the same way. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

DEFAULT_FORMAT = "default"


@dataclass(frozen=True, slots=True)
class Protocol:
    """How a result was made, as far as it decides what its score may be compared with. Alike results have equal protocols."""

    profile_id: str
    tasks_sha256: str
    """Of the sorted ordinals of the planned tasks: the order in which they are worked makes no difference."""
    task_count: int
    output_limit: int
    attempts: int = 1
    output_format: str = DEFAULT_FORMAT
    grading: int = 1
    metric: str = "accuracy"
    grader: str = ""
    """Its name and options as one text; follows from the version."""
    prompt: str = ""
    """A hash of what the model is told; follows from the version."""

    @property
    def slug(self) -> str:
        return self.profile_id.rpartition("@")[0]


@dataclass(frozen=True, slots=True)
class Unlike:
    """One way in which a result was made otherwise than another: `code` is stable and public, both sides are in words."""

    code: str
    message: str
    baseline: str
    other: str

    def document(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message, "baseline": self.baseline, "other": self.other}


def differences(baseline: Protocol, other: Protocol) -> list[Unlike]:
    """Everything in which the other result was made otherwise; empty where the two are alike.

    Of another benchmark only that is said: its tasks, prompt and grader are its own. Tasks of different versions are not matched either.
    """
    if baseline.slug != other.slug:
        return [_unlike("benchmark_differs", "They are of different benchmarks", baseline.profile_id, other.profile_id)]
    found = []
    if baseline.profile_id != other.profile_id:
        found.append(_unlike("version_differs", "The benchmark's version differs", baseline.profile_id, other.profile_id))
        if baseline.prompt != other.prompt:
            found.append(_unlike("prompt_differs", "The versions ask in different words", baseline.profile_id, other.profile_id))
        if baseline.grader != other.grader:
            found.append(_unlike("grader_differs", "The versions grade differently", baseline.profile_id, other.profile_id))
    elif baseline.tasks_sha256 != other.tasks_sha256:
        found.append(_unlike("task_selection_differs", "They ran different tasks", _tasks(baseline), _tasks(other)))
    if baseline.metric != other.metric:
        found.append(_unlike("metric_differs", "The metric differs", baseline.metric, other.metric))
    if baseline.grading != other.grading:
        found.append(
            _unlike("grading_differs", "The answers were graded another time", f"grading {baseline.grading}", f"grading {other.grading}")
        )
    if baseline.output_format != other.output_format:
        found.append(_unlike("output_format_differs", "The output format differs", baseline.output_format, other.output_format))
    if baseline.output_limit != other.output_limit:
        words = (f"{each.output_limit:,} tokens" for each in (baseline, other))
        found.append(_unlike("output_limit_differs", "Answers were cut at different lengths", *words))
    if baseline.attempts != other.attempts:
        found.append(_unlike("attempts_differ", "The tasks were asked a different number of times", *map(_attempts, (baseline, other))))
    return found


def sets_of(protocols: Sequence[Protocol]) -> list[list[int]]:
    """The places of results that are alike, each place in one set; sets and places in the order given."""
    sets: list[list[int]] = []
    for place, protocol in enumerate(protocols):
        alike = next((each for each in sets if not differences(protocols[each[0]], protocol)), None)
        if alike is None:
            sets.append([place])
        else:
            alike.append(place)
    return sets


def _unlike(code: str, words: str, baseline: str, other: str) -> Unlike:
    return Unlike(code, f"{words}: {other}, and {baseline} for the baseline.", baseline, other)


def _tasks(protocol: Protocol) -> str:
    return f"{protocol.task_count:,} task{'' if protocol.task_count == 1 else 's'} ({protocol.tasks_sha256[:8]})"


def _attempts(protocol: Protocol) -> str:
    return "once" if protocol.attempts == 1 else f"{protocol.attempts} times"
