"""Recorded answers: what a model once said, given again without a call."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gateway.enums import Agreement
from gateway.models import RecordedAnswer, RecordedModel

READ_AT_ONCE = 500
"""Answers of one statement."""
FORMATS = {
    "predictions": "a file of predictions",
    "openai": "an OpenAI Evals export",
    "oaieval": "an oaieval log",
    "promptfoo": "promptfoo results",
    "lm-eval": "an lm-evaluation-harness sample log",
    "inspect": "an Inspect log",
}


class RecordedText(NamedTuple):
    """One recorded answer as a call's record takes it."""

    text: str
    reasoning: str
    finish_reason: str


def read_answers(model_pk: int, task_pks: Sequence[int]) -> dict[int, RecordedText]:
    """The model's answers to the tasks, by the tasks' keys; a task without one is not among them."""
    return dict(_read(model_pk, task_pks))


def _read(model_pk: int, task_pks: Sequence[int]) -> Iterator[tuple[int, RecordedText]]:
    for start in range(0, len(task_pks), READ_AT_ONCE):
        rows = RecordedAnswer.objects.filter(model_id=model_pk, task_id__in=task_pks[start : start + READ_AT_ONCE])
        for task_id, *texts in rows.values_list("task_id", "text", "reasoning", "finish_reason"):
            yield task_id, RecordedText(*texts)


def recorded_words(model: RecordedModel) -> str:
    """What a reader of results must know of a recording."""
    source = FORMATS.get(str(model.source.get("format")), "a file")
    name = f" ({model.source['file']})" if model.source.get("file") else ""
    return f"recorded answers, not a live model, brought in from {source}{name}. What they once cost and how long they took is not known."


def agreement_of(correct: bool, readable: bool, was_correct: bool | None) -> Agreement:
    """How our verdict stands to the old one."""
    if was_correct is None:
        return Agreement.NO_OLD_VERDICT
    if not readable:
        return Agreement.OURS_UNREADABLE
    if correct:
        return Agreement.BOTH_RIGHT if was_correct else Agreement.ONLY_OURS
    return Agreement.ONLY_THEIRS if was_correct else Agreement.BOTH_WRONG
