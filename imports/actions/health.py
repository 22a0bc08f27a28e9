"""Computing the health that versions do not have yet: those of the public catalog, and any whose computing was cut off."""

from imports.models import BenchmarkHealth
from imports.queries.health import versions_without_health
from imports.recording import record_health
from workspaces.actors import Actor
from workspaces.enums import ActorKind
from workspaces.permissions import is_platform_staff, require

AT_ONCE = 10


def compute_missing_health(*, actor: Actor, limit: int = AT_ONCE) -> int:
    """Compute and keep the health of up to `limit` versions that have none; gives how many now have one.

    A version whose health cannot be computed is noted as such, so that it is not tried again at each sweep.
    """
    require(actor.kind == ActorKind.SYSTEM or is_platform_staff(actor))
    versions = versions_without_health(limit)
    for version in versions:
        record_health(version)
    known = set(BenchmarkHealth.objects.filter(version__in=versions).values_list("version_id", flat=True))
    BenchmarkHealth.objects.bulk_create(
        (BenchmarkHealth(version=version, document={"failed": True}) for version in versions if version.pk not in known),
        ignore_conflicts=True,
    )
    return len(known)
