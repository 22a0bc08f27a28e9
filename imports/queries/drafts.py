"""The wizard's drafts. A draft is its person's own, in the workspace it was begun in."""

from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from catalog.models import BenchmarkVersion
from common.ids import named_id
from imports.enums import CheckStatus, UploadStatus
from imports.models import ImportDraft, RowCheck, SourceFile, Upload, UploadFile
from workspaces.models import User, Workspace

DRAFTS_LISTED = 5


def get_draft_seen_by(user: User, draft_id: UUID | str) -> ImportDraft:
    """The draft in a workspace that the person is a member of, whoever's it is. Raises DoesNotExist for others and for expired ones."""
    return ImportDraft.objects.select_related("workspace", "version__benchmark", "user").get(
        public_id=named_id(draft_id), workspace__memberships__user=user, expires_at__gt=timezone.now()
    )


def drafts_of(user: User, workspace: Workspace) -> QuerySet[ImportDraft]:
    """The person's drafts in the workspace that can be continued, the last changed first."""
    found = ImportDraft.objects.filter(user=user, workspace=workspace, version__isnull=True, expires_at__gt=timezone.now())
    return found.order_by("-updated_at", "-id")


def expired_drafts(now: datetime) -> QuerySet[ImportDraft]:
    """Drafts of every workspace whose day is over."""
    return ImportDraft.objects.filter(expires_at__lte=now)


def latest_check(draft: ImportDraft, sha256: str, *, creates: bool = False) -> RowCheck | None:
    """The last check of the draft as it stands, or of making it into a benchmark."""
    return RowCheck.objects.filter(draft=draft, manifest_sha256=sha256, creates=creates).order_by("-id").first()


def has_passed(draft: ImportDraft, sha256: str) -> bool:
    check = latest_check(draft, sha256)
    return check is not None and check.status == CheckStatus.PASSED


def find_check(check_id: str) -> RowCheck | None:
    """The check of that public ID, of any workspace, with its draft; None where it is gone."""
    found = RowCheck.objects.select_related("draft__workspace", "draft__user", "draft__version__benchmark")
    return found.filter(public_id=named_id(check_id)).first()


def open_checks() -> QuerySet[RowCheck]:
    """Checks of every workspace that have not ended."""
    return RowCheck.objects.filter(status__in=[CheckStatus.QUEUED, CheckStatus.RUNNING])


def uploaded_files(workspace: Workspace) -> QuerySet[UploadFile]:
    """Files of completed uploads of the workspace, the newest first."""
    found = UploadFile.objects.filter(upload__workspace=workspace, upload__status=UploadStatus.COMPLETED, content__isnull=False)
    return found.select_related("upload", "content").order_by("-upload_id", "id")


def fetched_files(workspace: Workspace) -> QuerySet[SourceFile]:
    """Files that the workspace has fetched from elsewhere, the newest first."""
    return SourceFile.objects.filter(source_import__workspace=workspace).select_related("source_import", "content").order_by("-id")


def unfinished_files(user: User, workspace: Workspace) -> QuerySet[UploadFile]:
    """Files of the person's uploads that have not arrived whole and can be gone on with."""
    found = UploadFile.objects.filter(
        upload__workspace=workspace, upload__created_by=user, upload__status=UploadStatus.OPEN, upload__expires_at__gt=timezone.now()
    )
    return found.select_related("upload").order_by("-upload_id", "id")


def get_upload_seen_by(user: User, upload_id: UUID | str) -> Upload:
    """The upload in a workspace that the person is a member of. Raises DoesNotExist."""
    return Upload.objects.select_related("workspace", "created_by").get(public_id=named_id(upload_id), workspace__memberships__user=user)


def source_uri_of(version: BenchmarkVersion) -> str:
    """The name of the stored file that a private version was made from; empty where it was archived or never had one."""
    workspace = version.benchmark.workspace
    if workspace is None or version.source_file_id is None:
        return ""
    uploaded = uploaded_files(workspace).filter(content_id=version.source_file_id).first()
    if uploaded is not None:
        return uploaded.uri
    fetched = fetched_files(workspace).filter(content_id=version.source_file_id).first()
    return fetched.uri if fetched is not None else ""
