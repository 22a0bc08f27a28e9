"""Clearing away stored files that nothing names: what is left where a process ended between a file and its row."""

from datetime import timedelta

from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Exists, ForeignObjectRel, OuterRef, QuerySet
from django.utils import timezone

from catalog.models import DataFile
from catalog.storing import forget_content, private_folder
from workspaces.models import Workspace

PATIENCE = timedelta(hours=24)
"""Nothing takes longer from its file to its row, or from its row to what names it."""


def unused_files(workspace: Workspace) -> QuerySet[DataFile]:
    """The workspace's old rows of files that no other row names, of whatever table."""
    files = DataFile.objects.filter(workspace=workspace, created_at__lt=timezone.now() - PATIENCE)
    for relation in DataFile._meta.get_fields(include_hidden=True):
        if isinstance(relation, ForeignObjectRel):
            named = relation.related_model._base_manager.filter(**{relation.field.name: OuterRef("pk")})
            files = files.exclude(Exists(named))
    return files


def delete_unused_rows(workspace: Workspace) -> None:
    """Delete rows of files that nothing names, and their bytes."""
    for stored in unused_files(workspace):
        with transaction.atomic():
            # Who makes a row for stored content holds this lock, and so finds either the row or none.
            Workspace.objects.select_for_update().get(pk=workspace.pk)
            is_gone = unused_files(workspace).filter(pk=stored.pk).delete()[0]
        if is_gone:
            forget_content(workspace, stored.sha256)


def delete_unnamed_content(workspace: Workspace) -> None:
    """Delete old bytes that no row keeps."""
    folder = private_folder(workspace)
    try:
        names = default_storage.listdir(folder)[1]
    except FileNotFoundError:
        return
    known = set(DataFile.objects.filter(workspace=workspace).values_list("sha256", flat=True))
    for name in set(names) - known:
        if _is_old(f"{folder}/{name}"):
            forget_content(workspace, name)


def _is_old(key: str) -> bool:
    try:
        return default_storage.get_modified_time(key) < timezone.now() - PATIENCE
    except FileNotFoundError:
        return False
