"""Keeping what was computed of a version when it was made."""

import structlog
from django.db import transaction

from catalog.models import BenchmarkVersion
from imports.health import compute_health
from imports.models import BenchmarkHealth

log = structlog.get_logger(__name__)


def record_health(version: BenchmarkVersion) -> None:
    """Compute the health of a version and keep it. A failure is logged: the benchmark is there and runs without it."""
    try:
        document = compute_health(version)
        with transaction.atomic():
            BenchmarkHealth.objects.update_or_create(version=version, defaults={"document": document})
    except Exception:
        log.exception("imports.health_failed", version=version.profile_id)
