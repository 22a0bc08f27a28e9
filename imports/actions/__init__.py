"""Every write of the imports, one module a use: `benchmarks`, `uploads`, `fetching`, `drafts`, `recorded`."""

from imports.actions.benchmarks import MAX_ACTIVE, MAX_CREATED_A_DAY, Report, check_benchmark, import_benchmark

__all__ = ["MAX_ACTIVE", "MAX_CREATED_A_DAY", "Report", "check_benchmark", "import_benchmark"]
