"""Keeping what was computed of a version when it was made."""

from importlib import import_module

import structlog
from django.db import transaction

from catalog.models import BenchmarkVersion
from imports.models import BenchmarkHealth

log = structlog.get_logger(__name__)


def record_health(version: BenchmarkVersion) -> None:
    """Compute the health of a version and keep it. A failure is logged: the benchmark is there and runs without it."""
    try:
        document = import_module("imports.health").compute_health(version)
        with transaction.atomic():
            BenchmarkHealth.objects.update_or_create(version=version, defaults={"document": document})
    except ModuleNotFoundError:
        return
    except Exception:
        log.exception("imports.health_failed", version=version.profile_id)
