"""What the holder of a link reads: the result as it is shown, and of samples what the version's rights let go. Never a call, an address, an
error's own text, or an ID of the workspace.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from catalog.enums import ExportPolicy
from catalog.queries import manifest_of
from catalog.rendering import render_messages
from runs import queries
from runs.browsing.filters import SampleFilter, filter_samples
from runs.documents import sample_document
from runs.models import ResultVersion, Run, RunBenchmark, Sample
from runs.models.sharing import Share
from runs.sharing.choices import Choices, shown_labels
from runs.sharing.laying import laid_out
from runs.sharing.queries import comparison_on, positions_around, shared_samples
from runs.sharing.rights import benchmarks_with_samples
from runs.sharing.showing import shown_result

_SAMPLE = (
    "subject_index",
    "attempt",
    "status",
    "correct",
    "score",
    "extracted",
    "reason",
    "error_code",
    "flags",
    "finish_reason",
    "latency_ms",
    "response",
    "reasoning",
    "grading",
    "content_expired",
)
_SAMPLE_COST = ("usage", "charge_microusd")


def choices_of(share: Share) -> Choices:
    return Choices(
        title=share.title,
        shows_samples=share.shows_samples,
        shows_cost=share.shows_cost,
        shows_workspace=share.shows_workspace,
        labels={int(index): label for index, label in share.labels.items()},
    )


def chosen_benchmark(run: Run, wanted: str) -> RunBenchmark:
    """The run's benchmark of that index, the first where it names none. Reads `benchmarks`."""
    benchmarks = list(run.benchmarks.all())
    return next((each for each in benchmarks if str(each.index) == wanted), benchmarks[0])


def shown_of(run: Run, result: ResultVersion, choices: Choices, benchmark: RunBenchmark) -> dict[str, Any]:
    """The result on one benchmark as a document. Reads the run's workspace."""
    return shown_result(
        orjson.loads(result.document),
        comparison_on(result, benchmark.version.profile_id),
        choices,
        benchmark_index=benchmark.index,
        sha256=result.sha256,
        workspace_name=run.workspace.name,
    )


def page_of_result(run: Run, result: ResultVersion, choices: Choices, benchmark: RunBenchmark) -> dict[str, Any]:
    """The context of the page that shows it."""
    has_samples = choices.shows_samples and benchmark in benchmarks_with_samples(run)
    return {
        **laid_out(shown_of(run, result, choices, benchmark)),
        "benchmark": benchmark,
        "benchmarks": list(run.benchmarks.all()),
        "frozen_at": result.created_at,
        "has_samples": has_samples,
    }


def title_of(share: Share, run: Run) -> str:
    """What the page is called."""
    return share.title or ", ".join(each.version.benchmark.name for each in run.benchmarks.all())


def labels_of(result: ResultVersion, choices: Choices) -> dict[int, str]:
    """Subject index to the name that is shown."""
    return shown_labels(orjson.loads(result.document)["subjects"], choices)


def samples_listed(run: Run, *, subject: int | None, show: str) -> Any:
    """The samples a list of the link shows, narrowed to one model and to failures or disagreements."""
    return filter_samples(shared_samples(run), run, SampleFilter(subject=subject, show=show))


def task_shown(run: Run, position: int, labels: Mapping[int, str], *, shows_cost: bool) -> dict[str, Any]:
    """One task with every model's answer, as far as the version's rights go. Raises DoesNotExist where they let no sample go.

    What is past its retention is None, and said to be; prompts are the catalog's and stay.
    """
    samples = queries.samples_of_task(run, position)
    allowed = {each.pk: each for each in benchmarks_with_samples(run)}
    benchmark = allowed.get(samples[0].run_benchmark_id) if samples else None
    if benchmark is None:
        raise Sample.DoesNotExist
    calls = queries.calls_of_samples(samples)
    task, version = samples[0].task, samples[0].run_benchmark.version
    return {
        "task": task,
        "position": position,
        "benchmark": benchmark,
        "policy": version.export_policy,
        "messages_sent": render_messages(manifest_of(version), task.content.values),
        "reference": task.content.reference if version.export_policy == ExportPolicy.FULL else None,
        "shows_reference": version.export_policy == ExportPolicy.FULL,
        "answers": [answer_shown(sample, labels, calls, shows_cost=shows_cost) for sample in samples],
        **_around(run, benchmark, position),
    }


def answer_shown(sample: Sample, labels: Mapping[int, str], calls: Mapping[Any, Sequence[Any]], *, shows_cost: bool) -> dict[str, Any]:
    """A sample's verdict and content, built up from named fields."""
    document = sample_document(sample, dict(calls))
    names = _SAMPLE + (_SAMPLE_COST if shows_cost else ())
    return {"label": labels[sample.subject.index], "kind": sample.subject.kind, **{name: document[name] for name in names}}


def _around(run: Run, benchmark: RunBenchmark, position: int) -> dict[str, int | None]:
    """The positions of the tasks before and after that have samples, inside the same benchmark: its tasks stand together in the run."""
    first = benchmark.first_position
    inside = range(first, first + benchmark.task_count)
    previous, following = positions_around(run, position)
    return {
        "number": position - first + 1,
        "previous": previous if previous in inside else None,
        "next": following if following in inside else None,
    }
