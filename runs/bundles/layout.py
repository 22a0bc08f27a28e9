"""What is in a bundle, by name. `docs/bundles.md` says the same to whoever reads one."""

import re
from collections.abc import Iterable

SCHEMA = "evalrouter.bundle.v1"
MANIFEST = "manifest.json"
SIGNATURE = "manifest.sig"
RESULT = "result.json"
SUMMARY = "summary.json"
QUOTE = "quote.json"
SAMPLES = "samples.jsonl"
README = "README.md"
MOST_BENCHMARKS = 8

_BENCHMARK = re.compile(r"benchmark-([0-9]{1,2})\.json")


def benchmark_file(index: int) -> str:
    """The manifest of one of the run's benchmarks, by its index."""
    return f"benchmark-{index}.json"


def tasks_file(index: int) -> str:
    """The groups and clusters of that benchmark's tasks; left out where its licence lets only aggregates leave, as its samples are."""
    return f"tasks-{index}.json"


def benchmarks_in(names: Iterable[str]) -> list[int]:
    """The indexes of the benchmarks whose manifests are among these files."""
    return sorted(int(found[1]) for name in names if (found := _BENCHMARK.fullmatch(name)))
