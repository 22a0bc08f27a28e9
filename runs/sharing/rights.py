"""What may leave the workspace by a link: nothing of a private benchmark, and of samples what the version's export policy lets go."""

from collections.abc import Sequence

from catalog.enums import ExportPolicy
from catalog.models import BenchmarkVersion
from common.errors import Conflict, Refused
from runs.models import Run, RunBenchmark

PRIVATE = "private_benchmark"


def private_refusal(run: Run, what: str = "cannot be shared") -> str:
    """Why nothing of the run may leave its workspace; empty where its benchmarks are all public. Reads `benchmarks`."""
    private = [each.version.benchmark.name for each in run.benchmarks.all() if each.version.benchmark.is_private]
    if not private:
        return ""
    names = private[0] if len(private) == 1 else f"{', '.join(private[:-1])} and {private[-1]}"
    verb = "is a private benchmark" if len(private) == 1 else "are private benchmarks"
    return f"{names} {verb}, and a result on it {what}. Export it and hand the file to whom you trust."


def check_shareable(run: Run) -> None:
    """Raise Refused (`private_benchmark`) or Conflict (`result_not_ready`) unless the run's result may be shared."""
    if words := private_refusal(run):
        raise Refused(PRIVATE, words)
    if not run.is_ended:
        raise Conflict("result_not_ready", "The run has not ended yet; its result can be shared when it has.")


def lets_samples_go(version: BenchmarkVersion) -> bool:
    """Whether a link may show samples of the version: never where its licence lets only aggregates leave."""
    return not version.benchmark.is_private and version.export_policy != ExportPolicy.AGGREGATE


def benchmarks_with_samples(run: Run) -> Sequence[RunBenchmark]:
    """The run's benchmarks of which samples may be shown, in order."""
    return [each for each in run.benchmarks.all() if lets_samples_go(each.version)]


def check_samples(run: Run, grading: int) -> None:
    """Raise Refused (`samples_not_permitted`) where no benchmark of the run lets samples go, or (`samples_not_available`) for a result
    that was graded again: a link's samples bear the verdicts of the first grading.
    """
    if not benchmarks_with_samples(run):
        raise Refused(
            "samples_not_permitted",
            "The benchmark's licence lets only aggregates leave, so a link cannot show samples. Share it without them.",
        )
    if grading != 1:
        raise Refused("samples_not_available", "This result was graded again, and a link can show its figures, not its samples.")
