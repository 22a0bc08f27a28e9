"""Uploads of a workspace, and how many it has of each kind."""

from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from common.ids import named_id
from imports.enums import UploadStatus
from imports.models import Upload, UploadFile
from workspaces.models import Workspace

ANY = ""


def uploads_for(workspace: Workspace, status: str = ANY) -> QuerySet[Upload]:
    """The workspace's uploads with their files, newest first: all, or those of one status. An open one that is overdue is expired."""
    uploads = Upload.objects.filter(workspace=workspace).select_related("created_by").prefetch_related("files__content").order_by("-id")
    overdue = Q(status=UploadStatus.OPEN, expires_at__lte=timezone.now())
    if status == UploadStatus.EXPIRED:
        return uploads.filter(Q(status=UploadStatus.EXPIRED) | overdue)
    if status == UploadStatus.OPEN:
        return uploads.filter(status=UploadStatus.OPEN).exclude(overdue)
    return uploads.filter(status=status) if status else uploads


def get_upload(workspace: Workspace, upload_id: UUID | str) -> Upload:
    """The workspace's upload by its public ID. Raises Upload.DoesNotExist."""
    return uploads_for(workspace).get(public_id=named_id(upload_id))


def get_upload_file(workspace: Workspace, upload_id: UUID | str, name: str) -> UploadFile:
    """One file of the workspace's upload, with the upload. Raises UploadFile.DoesNotExist."""
    files = UploadFile.objects.filter(upload__workspace=workspace).select_related("upload__workspace", "content")
    return files.get(upload__public_id=named_id(upload_id), name=name)


def status_of(upload: Upload) -> UploadStatus:
    """Its status now: an open one that is overdue has expired, whether or not that was written yet."""
    if upload.status == UploadStatus.OPEN and upload.expires_at <= timezone.now():
        return UploadStatus.EXPIRED
    return UploadStatus(upload.status)


def count_open(workspace: Workspace) -> int:
    return uploads_for(workspace, UploadStatus.OPEN).count()


def count_since(workspace: Workspace, since: datetime) -> int:
    """Uploads begun since then, whatever became of them."""
    return Upload.objects.filter(workspace=workspace, created_at__gte=since).count()


def count_active_sources(workspace: Workspace) -> int:
    """Completed uploads that are not archived."""
    return uploads_for(workspace, UploadStatus.COMPLETED).count()


def overdue_uploads() -> QuerySet[Upload]:
    """Open uploads of every workspace whose time is over."""
    return Upload.objects.filter(status=UploadStatus.OPEN, expires_at__lte=timezone.now()).select_related("workspace")


def is_open(upload_id: UUID | str) -> bool:
    """Whether the upload with this public ID, of any workspace, still takes bytes."""
    return Upload.objects.filter(public_id=named_id(upload_id), status=UploadStatus.OPEN).exists()
