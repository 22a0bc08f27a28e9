"""What a plan says of subjects that are recordings: that no model is asked, and which tasks have no answer."""

from collections.abc import Sequence

from gateway.queries import count_answers
from runs.resolving import ResolvedSubject


def answers_of(subjects: Sequence[ResolvedSubject], ordinals: Sequence[int] | None) -> list[int | None]:
    """For each subject how many of the planned tasks it has a recorded answer to; None for one that is no recording."""
    return [count_answers(subject.recorded, ordinals) if subject.recorded else None for subject in subjects]


def recorded_warnings(subjects: Sequence[ResolvedSubject], answers: Sequence[int | None], tasks: int) -> list[dict[str, str]]:
    """The plan's warnings of all recordings among the subjects."""
    found = []
    for subject, count in zip(subjects, answers, strict=True):
        if count is None:
            continue
        covered = f"They cover {count:,} of the {tasks:,} tasks; nothing is called and nothing is charged."
        found.append({"code": "recorded_answers", "message": f"{subject.label}: recorded answers, not a live model. {covered}"})
        if missing := tasks - count:
            have = "1 task has" if missing == 1 else f"{missing:,} tasks have"
            message = f"{subject.label}: {have} no recorded answer. They will be errors, not wrong answers."
            found.append({"code": "recorded_answers_missing", "message": message})
    return found
