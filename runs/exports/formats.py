"""The formats of exports: what each is, and what of a run is in it. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Format:
    """One kind of file that a result is exported as."""

    name: str
    title: str
    holds: str
    """What is in it, in a sentence for the report."""
    suffix: str
    """What the file's name ends in."""
    content_type: str
    has_samples: bool = True
    """It holds single samples, as far as the benchmark's export policy lets them leave."""


_ALL = (
    Format(
        "html", "Report", "One page to read, print or mail: figures, charts, every metric explained.", ".html", "text/html; charset=utf-8"
    ),
    Format(
        "bundle",
        "Signed bundle",
        "Results, samples, settings and prices in a signed ZIP that anybody can check.",
        ".zip",
        "application/zip",
    ),
    Format("json", "JSON", "The result and every sample, as programs read it.", ".json", "application/json"),
    Format("csv", "CSV of samples", "One row a sample, for a spreadsheet.", ".csv", "text/csv; charset=utf-8"),
    Format(
        "figures", "CSV of figures", "One row a figure: scores, intervals, counts, pairs.", "-figures.csv", "text/csv; charset=utf-8", False
    ),
    Format("summary", "Summary", "Identities, settings and figures as JSON, without samples.", "-summary.json", "application/json", False),
    Format("inspect", "Inspect logs", "One log for each model and benchmark, as Inspect reads them.", "-inspect.zip", "application/zip"),
    Format("lm-eval", "lm-evaluation-harness", "Results and sample logs in the form of that harness.", "-lm-eval.zip", "application/zip"),
)
FORMATS = {each.name: each for each in _ALL}
FORMAT_NAMES = tuple(FORMATS)
