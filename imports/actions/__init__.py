"""Every write of the imports, one module a use: `benchmarks`, `uploads`, `fetching`, `drafts`, `recorded`."""

from imports.actions.benchmarks import Report, check_benchmark, check_source, create_from_source, import_benchmark

__all__ = ["Report", "check_benchmark", "check_source", "create_from_source", "import_benchmark"]
