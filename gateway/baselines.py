"""Answers that need no model: the floor under every score.

`random-choice` picks one of the options, or where there are none one of the version's distinct answers, all alike. `most-frequent-answer`
always gives the version's commonest answer. Both write the answer as the benchmark's grader reads it.
"""

import hashlib
from collections import Counter
from collections.abc import Callable
from typing import Any

from catalog.enums import Grader
from catalog.graders import written_answer
from catalog.models import BenchmarkVersion, TaskContent
from catalog.queries import manifest_of
from common.canonical import canonical_json

RANDOM_CHOICE = "random-choice"
MOST_FREQUENT_ANSWER = "most-frequent-answer"
NAMES = (RANDOM_CHOICE, MOST_FREQUENT_ANSWER)

type Baseline = Callable[[str, dict[str, Any], Any], str]
"""From a task's ID, values and reference to the answer's text. The reference is never used: a baseline sees what a model sees."""


def make_baseline(name: str, *, seed: int, version: BenchmarkVersion) -> Baseline:
    """The baseline of that name over the version's answers, which are read once. An answer depends on the seed and the task's ID alone."""
    if name not in NAMES:
        raise ValueError(f"no baseline {name!r}")
    options = manifest_of(version)["grader_options"]
    has_letters = version.grader == Grader.MULTIPLE_CHOICE
    answers: dict[str, Any] = {}
    counts: Counter[str] = Counter()
    for reference in TaskContent.objects.filter(task__version=version).values_list("reference", flat=True).iterator():
        text = canonical_json(reference)
        answers.setdefault(text, reference)
        counts[text] += 1
    distinct = sorted(answers)

    def write(answer: Any, choices: Any) -> str:
        return written_answer(version.grader, options, answer, choices)

    def random_choice(task_id: str, values: dict[str, Any], reference: Any) -> str:
        choices = values.get("choices")
        draw = int.from_bytes(hashlib.sha256(f"{seed}\0{task_id}".encode()).digest()[:8])
        if has_letters and choices:
            return write(chr(ord("A") + draw % len(choices)), choices)
        return write(answers[distinct[draw % len(distinct)]], choices)

    def most_frequent_answer(task_id: str, values: dict[str, Any], reference: Any) -> str:
        return write(commonest, values.get("choices"))

    if name == RANDOM_CHOICE:
        return random_choice
    commonest = answers[min(distinct, key=lambda text: (-counts[text], text))] if distinct else ""
    return most_frequent_answer
