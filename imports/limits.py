"""How much a workspace may bring in, as the settings say."""

from dataclasses import dataclass

from django.conf import settings


@dataclass(frozen=True, slots=True)
class Limits:
    """Every limit of the imports. Sizes are bytes, counts are of one workspace, a day is the last 24 hours."""

    max_file_bytes: int
    """Of one file that is uploaded or fetched."""
    max_benchmark_bytes: int
    """Of the file that a benchmark is built from."""
    max_rows: int
    max_files: int
    """Of one upload or one import."""
    uploads_a_day: int
    open_uploads: int
    active_sources: int
    """Completed uploads that are not archived."""
    created_a_day: int
    """Private benchmarks."""
    active_benchmarks: int
    storage_bytes: int
    least_available_microusd: int
    """What must be available to begin an upload; 0 asks for nothing."""
    github_max_bytes: int


def limits() -> Limits:
    """The limits that hold now."""
    return Limits(
        max_file_bytes=settings.UPLOAD_MAX_BYTES,
        max_benchmark_bytes=settings.BENCHMARK_MAX_BYTES,
        max_rows=settings.BENCHMARK_MAX_ROWS,
        max_files=settings.UPLOAD_MAX_FILES,
        uploads_a_day=settings.UPLOADS_A_DAY,
        open_uploads=settings.UPLOADS_OPEN,
        active_sources=settings.UPLOADS_ACTIVE,
        created_a_day=settings.BENCHMARKS_CREATED_A_DAY,
        active_benchmarks=settings.BENCHMARKS_ACTIVE,
        storage_bytes=settings.WORKSPACE_STORAGE_BYTES,
        least_available_microusd=settings.UPLOAD_LEAST_AVAILABLE_MICROUSD,
        github_max_bytes=settings.GITHUB_MAX_BYTES,
    )
