"""How much of its storage a workspace uses, and what is promised to uploads and fetches under way.

Whatever brings bytes in reserves them first, under a key of its own, and gives them back when it has ended, however it ended.
"""

from django.db import transaction
from django.db.models import QuerySet, Sum
from django.utils import timezone

from catalog.models import DataFile
from common.errors import Refused
from imports.limits import limits
from imports.models import UPLOAD_LIFE, StorageReservation
from workspaces.actors import Actor
from workspaces.models import Workspace
from workspaces.permissions import can_import, require


def used_bytes(workspace: Workspace) -> int:
    """Bytes of the files that the workspace has stored; each content counts once."""
    return DataFile.objects.filter(workspace=workspace).aggregate(sum=Sum("bytes"))["sum"] or 0


def reserved_bytes(workspace: Workspace) -> int:
    """Bytes that are promised and not given back."""
    return _live(workspace).aggregate(sum=Sum("bytes"))["sum"] or 0


def reserve(workspace: Workspace, key: str, bytes: int, *, actor: Actor) -> StorageReservation:
    """Promise the bytes to what the key names, for a day. The same key again is the same reservation, made as large as it now must be.

    Raises `Forbidden`, and `Refused` `storage_limit` (413) where it does not fit.
    """
    require(can_import(actor, workspace))
    with transaction.atomic():
        # Under the workspace's lock, so that two cannot both be promised its last bytes.
        workspace = Workspace.objects.select_for_update().get(pk=workspace.pk)
        used, others, allowance = used_bytes(workspace), _bytes_of_others(workspace, key), limits().storage_bytes
        if used + others + bytes > allowance:
            message = (
                f"This needs {bytes:,} bytes of storage. The workspace has {allowance:,}, of which {used:,} are used"
                f" and {others:,} are reserved by what is under way."
            )
            details = {"needed_bytes": bytes, "used_bytes": used, "reserved_bytes": others, "allowance_bytes": allowance}
            raise Refused("storage_limit", message, status=413, details=details)
        reservation, _ = StorageReservation.objects.update_or_create(
            workspace=workspace, key=key, defaults={"bytes": bytes, "expires_at": timezone.now() + UPLOAD_LIFE}
        )
    return reservation


def release(workspace: Workspace, key: str) -> None:
    """Give the reservation back; where there is none, nothing happens."""
    StorageReservation.objects.filter(workspace=workspace, key=key).delete()


def release_expired() -> None:
    """Give back, in every workspace, what nobody has given back in its time."""
    StorageReservation.objects.filter(expires_at__lte=timezone.now()).delete()


def _live(workspace: Workspace) -> QuerySet[StorageReservation]:
    return StorageReservation.objects.filter(workspace=workspace, expires_at__gt=timezone.now())


def _bytes_of_others(workspace: Workspace, key: str) -> int:
    return _live(workspace).exclude(key=key).aggregate(sum=Sum("bytes"))["sum"] or 0
