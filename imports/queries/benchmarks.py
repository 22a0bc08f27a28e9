"""What a workspace has imported."""

from datetime import datetime

from django.db.models import QuerySet

from catalog.models import Benchmark, DataFile
from workspaces.models import Workspace


def private_benchmarks_of(workspace: Workspace) -> QuerySet[Benchmark]:
    """All private benchmarks of the workspace, archived ones too."""
    return Benchmark.objects.filter(workspace=workspace)


def count_created_since(workspace: Workspace, since: datetime) -> int:
    return private_benchmarks_of(workspace).filter(created_at__gte=since).count()


def count_active(workspace: Workspace) -> int:
    return private_benchmarks_of(workspace).filter(archived_at__isnull=True).count()


def has_file(workspace: Workspace, sha256: str) -> bool:
    """Whether the workspace has stored this content before."""
    return DataFile.objects.filter(workspace=workspace, sha256=sha256).exists()
