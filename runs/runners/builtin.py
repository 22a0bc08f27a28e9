"""The runner of benchmarks graded by one of the five built-in graders: one call an attempt, one verdict."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from catalog.graders import Verdict, compile_grader
from catalog.models import BenchmarkVersion, Task
from catalog.queries import manifest_of
from catalog.rendering import render_messages
from gateway.metering import Price, worst_case


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """One attempt at a task in memory: what it asks, what is compared, and how large its prompt is."""

    position: int
    """The task's place in the run."""
    task_pk: int
    ordinal: int
    task_id: str
    prompt_bytes: int
    message_count: int
    values: dict[str, Any]
    reference: Any
    attempt: int = 1
    cell: int = 0
    """The attempt's number among all of its subject."""

    def at_attempt(self, attempt: int, attempts: int) -> "TaskSpec":
        """The same task at one of its attempts."""
        return replace(self, attempt=attempt, cell=self.position * attempts + attempt - 1)


class BuiltinRunner:
    """Works a version's tasks for one subject after another; holds what is the same for all of them."""

    def __init__(self, version: BenchmarkVersion) -> None:
        self.version = version
        self.manifest = manifest_of(version)
        self._grade: Callable[..., Verdict] = compile_grader(version.grader, self.manifest["grader_options"])

    def tasks(self, ordinals: dict[int, int]) -> list[TaskSpec]:
        """The tasks of `ordinals` (ordinal to position), by position, at their first attempt."""
        rows = Task.objects.filter(version=self.version, ordinal__in=ordinals).values_list(
            "pk", "ordinal", "task_id", "prompt_bytes", "message_count", "content__values", "content__reference"
        )
        specs = [
            TaskSpec(ordinals[ordinal], pk, ordinal, task_id, prompt_bytes, messages, values, reference)
            for pk, ordinal, task_id, prompt_bytes, messages, values, reference in rows
        ]
        specs.sort(key=lambda spec: spec.position)
        return specs

    @staticmethod
    def worst_case(spec: TaskSpec, output_limit: int, price: Price) -> int:
        """The most that one attempt may be charged in micro-USD: the worst case of its one call."""
        return worst_case(spec.prompt_bytes, spec.message_count, output_limit, price)

    def messages(self, spec: TaskSpec) -> list[dict[str, str]]:
        """What the model receives."""
        return render_messages(self.manifest, spec.values)

    def grade(self, spec: TaskSpec, answer: str) -> Verdict:
        """The verdict on an answer."""
        choices: Sequence[str] | None = spec.values.get("choices")
        return self._grade(answer, spec.reference, choices)
