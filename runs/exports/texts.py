"""Words that several exports have in common."""

from catalog.enums import ExportPolicy
from runs.documents import instant
from runs.exports.documents import ANSWERS_OVER
from runs.exports.source import Source
from runs.models import RunBenchmark

_STATUS = {
    "completed": "Every planned answer is finished.",
    "partial": "The run was interrupted: the figures are of what was finished.",
    "cancelled": "The run was cancelled: the figures are of what was finished.",
    "failed": "The run failed: too many answers ended in an error, or none could be graded.",
}
_POLICY = {
    ExportPolicy.NO_ANSWERS.value: "its licence keeps the reference answers, so they are not here",
    ExportPolicy.AGGREGATE.value: "its licence lets only aggregates leave, so none of its samples are here",
}


def status_words(source: Source) -> str:
    """Whether the result is whole, in a sentence."""
    return _STATUS.get(source.run.status, "")


def policy_words(benchmark: RunBenchmark) -> str:
    """What the benchmark's export policy kept, in a sentence; empty where it kept nothing."""
    kept = _POLICY.get(benchmark.version.export_policy)
    return f"{benchmark.version.profile_id}: {kept}." if kept else ""


def kept_words(source: Source) -> list[str]:
    """Sentences on what is not in an export, and why."""
    said = [policy_words(benchmark) for benchmark in source.benchmarks]
    if not source.has_answers and source.open_benchmarks:
        said.append(ANSWERS_OVER)
    return [each for each in said if each]


def readme(source: Source, title: str, how: str) -> bytes:
    """A README of a ZIP of other tools' files: what they are of, what is not in them, and how to read them."""
    models = ", ".join(subject.label for subject in source.subjects)
    benchmarks = ", ".join(benchmark.version.profile_id for benchmark in source.benchmarks)
    lines = [
        f"# {title} of result {source.result.number} of run {source.run.public_id}",
        f"{benchmarks}; {models}. Frozen {instant(source.result.created_at)}, SHA-256 of the result {source.result.sha256}.",
        status_words(source),
        "An error is missing, not wrong: it has no score here.",
        *kept_words(source),
        how,
    ]
    return ("\n\n".join(line for line in lines if line) + "\n").encode()
