"""What a report offers to take away: each format with what it holds now, and the file where it was made already."""

from dataclasses import dataclass
from typing import Any

from runs.exports import queries
from runs.exports.formats import FORMATS, Format
from runs.exports.source import are_answers_over, lets_samples_leave
from runs.exports.texts import policy_words
from runs.models import Export, ResultVersion, Run


@dataclass(frozen=True, slots=True)
class Offer:
    """One format. `export` is the file as it is kept; None where nobody has asked for it yet."""

    format: Format
    is_permitted: bool
    export: Export | None


def offers_of(run: Run, result: ResultVersion) -> dict[str, Any]:
    """The formats in the order that people look for them, and what of the run is in none of them and why."""
    benchmarks = queries.benchmarks_of(run)
    made, are_over = queries.exports_of(result), are_answers_over(run)
    some_leave = any(map(lets_samples_leave, benchmarks))
    offers = [_offer(format, made.get(format.name), some_leave=some_leave, are_over=are_over) for format in FORMATS.values()]
    return {
        "offers": offers,
        "policies": [words for benchmark in benchmarks if (words := policy_words(benchmark))],
        "answers_over": are_over and some_leave,
        "answers_until": run.content_expires_at if some_leave and not are_over else None,
    }


def _offer(format: Format, export: Export | None, *, some_leave: bool, are_over: bool) -> Offer:
    is_stale = export is not None and export.has_answers and are_over
    return Offer(format, format.name != "csv" or some_leave, None if is_stale else export)
