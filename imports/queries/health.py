"""The health of benchmarks as it was computed."""

from typing import Any

from catalog.models import BenchmarkVersion
from catalog.queries import PUBLISHED
from imports.health import compute_health
from imports.models import BenchmarkHealth

COMPUTED_AT_ONCE = 2_000
"""Tasks up to which a health that is not stored yet is computed where it is asked for."""


def health_of(version: BenchmarkVersion) -> dict[str, Any] | None:
    """The version's health; None where it is not known yet or could not be computed. Nothing is written."""
    stored = BenchmarkHealth.objects.filter(version=version).values_list("document", flat=True).first()
    if stored is not None:
        return stored if "findings" in stored else None
    return compute_health(version) if version.task_count <= COMPUTED_AT_ONCE else None


def versions_without_health(limit: int) -> list[BenchmarkVersion]:
    """Published versions whose health was not computed yet, the newest first."""
    known = BenchmarkHealth.objects.values("version_id")
    missing = BenchmarkVersion.objects.filter(state__in=PUBLISHED).exclude(pk__in=known)
    return list(missing.select_related("benchmark").order_by("-pk")[:limit])
