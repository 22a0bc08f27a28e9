"""The health of a benchmark: what its rows say about it as a measure, before any model has run on it."""

from imports.health.computing import compute_health, health_of_rows
from imports.health.rows import Finding, HealthRow, Severity

__all__ = ["Finding", "HealthRow", "Severity", "compute_health", "health_of_rows"]
