"""What a workspace brings in: uploads, files fetched from the Hub and from GitHub with their receipts, and the wizard's drafts.

Files lie in the workspace's private storage by their content (`catalog.models.DataFile`) and are never shared with another workspace.
"""

from datetime import timedelta
from typing import Any

from django.db import models
from django.utils import timezone

from catalog.models import BenchmarkVersion, DataFile
from common.ids import new_id
from imports.enums import SCHEMES, CheckStatus, SourceKind, UploadStatus
from workspaces.models import User, Workspace

UPLOAD_LIFE = timedelta(hours=24)
DRAFT_LIFE = timedelta(hours=24)


def _upload_end() -> Any:
    return timezone.now() + UPLOAD_LIFE


def _draft_end() -> Any:
    return timezone.now() + DRAFT_LIFE


class Upload(models.Model):
    """Files a workspace sends in. Open until it is completed; a completed one takes a source slot until it is archived, for good."""

    public_id = models.UUIDField(default=new_id, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="uploads")
    status = models.CharField(max_length=12, choices=UploadStatus.choices, default=UploadStatus.OPEN)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(default=_upload_end)
    """When an upload that is still open ends."""
    completed_at = models.DateTimeField(null=True)
    archived_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["workspace", "status", "-id"], name="uploads_of_workspace")]

    def __str__(self) -> str:
        return f"upload {self.public_id}"


class UploadFile(models.Model):
    """One file of an upload: what was announced, what has arrived, and once verified its content and how it is read."""

    upload = models.ForeignKey(Upload, on_delete=models.CASCADE, related_name="files")
    name = models.CharField(max_length=255)
    bytes = models.PositiveBigIntegerField()
    """As announced; more is never taken."""
    received = models.PositiveBigIntegerField(default=0)
    staging_key = models.CharField(max_length=255, blank=True)
    """The folder where what has arrived lies until the upload is completed; another one each time the file is begun anew."""
    parts = models.JSONField(default=list)
    """The stored parts in their order: [[key, bytes], …]. Together they are what was received."""
    content = models.ForeignKey(DataFile, on_delete=models.PROTECT, null=True, related_name="+")
    rows = models.PositiveIntegerField(null=True)
    reading = models.JSONField(default=dict)
    """How it was read: {"format", "encoding", "delimiter", "header", "columns", "warnings"}."""

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["upload", "name"], name="upload_file_once")]

    def __str__(self) -> str:
        return self.name

    @property
    def uri(self) -> str:
        """The name that a manifest gives it; reads `upload`."""
        return f"workspace://{self.upload.public_id}/{self.name}"


class SourceImport(models.Model):
    """Files fetched from elsewhere at one frozen commit, with the receipt that says what was taken. A receipt never changes."""

    public_id = models.UUIDField(default=new_id, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="source_imports")
    kind = models.CharField(max_length=12, choices=SourceKind.choices)
    repository = models.CharField(max_length=200)
    """`owner/name`."""
    commit = models.CharField(max_length=40)
    selection_sha256 = models.CharField(max_length=64)
    """Of the canonical JSON of kind, repository, commit and what was selected: the same selection is fetched once."""
    license = models.CharField(max_length=80, blank=True)
    receipt = models.TextField()
    """Canonical JSON. Holds no token and nothing that was derived from one."""
    sha256 = models.CharField(max_length=64)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["workspace", "selection_sha256"], name="source_import_once")]

    def __str__(self) -> str:
        return f"{self.repository} at {self.commit[:12]}"


class SourceFile(models.Model):
    """One fetched file."""

    source_import = models.ForeignKey(SourceImport, on_delete=models.CASCADE, related_name="files")
    path = models.CharField(max_length=1000)
    content = models.ForeignKey(DataFile, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["source_import", "path"], name="source_file_once")]

    def __str__(self) -> str:
        return self.path

    @property
    def uri(self) -> str:
        """`hf://owner/name@commit/path` or `github://…`; reads `source_import`."""
        taken = self.source_import
        return f"{SCHEMES[SourceKind(taken.kind)]}://{taken.repository}@{taken.commit}/{self.path}"


class StorageReservation(models.Model):
    """Bytes of the workspace's storage that are promised to something under way. Taken before a byte is written, given back with it."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=120)
    """What it is for, such as `upload:<id>`: a retry of the same finds its reservation again."""
    bytes = models.PositiveBigIntegerField()
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(default=_upload_end)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "key"], name="storage_reserved_once")]

    def __str__(self) -> str:
        return self.key


class ImportDraft(models.Model):
    """The wizard's state, for a day after its last change. It names a stored source; it holds no content of a file and no token."""

    public_id = models.UUIDField(default=new_id, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    source = models.CharField(max_length=1300, blank=True)
    """The URI of the stored file; empty until there is one."""
    state = models.JSONField(default=dict)
    """What was chosen: the keys of the manifest and, below `"source"`, how the source was looked for."""
    revision = models.PositiveIntegerField(default=1)
    """Rises with each change, so that an older tab cannot undo a newer one unseen."""
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(default=_draft_end)
    version = models.ForeignKey(BenchmarkVersion, on_delete=models.CASCADE, null=True, related_name="+")
    """What it was made into."""

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["user", "workspace", "-id"], name="drafts_of_person")]

    def __str__(self) -> str:
        return f"draft {self.public_id}"


class RowCheck(models.Model):
    """A check of every row that a draft asked for, done by a worker: its progress, and what it found.

    One that `creates` makes the draft into a benchmark after it.
    """

    public_id = models.UUIDField(default=new_id, unique=True, editable=False)
    draft = models.ForeignKey(ImportDraft, on_delete=models.CASCADE, related_name="checks")
    manifest_sha256 = models.CharField(max_length=64)
    """Of what was checked; a report counts for the same manifest and source alone."""
    creates = models.BooleanField(default=False)
    status = models.CharField(max_length=10, choices=CheckStatus.choices, default=CheckStatus.QUEUED)
    rows_done = models.PositiveIntegerField(default=0)
    rows_total = models.PositiveIntegerField(null=True)
    report = models.JSONField(null=True)
    """As `Report.document()` where it passed."""
    refusal = models.JSONField(null=True)
    """{"code", "message", "details"} where it did not."""
    problems_key = models.CharField(max_length=255, blank=True)
    """Where the list of all bad rows is stored, as CSV."""
    heartbeat_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"check {self.public_id}"


class GithubInstallation(models.Model):
    """A GitHub account whose repositories the workspace may read through the deployment's GitHub App. No token is kept."""

    public_id = models.UUIDField(default=new_id, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="github_installations")
    installation_id = models.BigIntegerField()
    account = models.CharField(max_length=100)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    removed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["account"]
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "installation_id"], condition=models.Q(removed_at__isnull=True), name="installation_once"
            )
        ]

    def __str__(self) -> str:
        return self.account


class BenchmarkHealth(models.Model):
    """What the rows of a version say about it as a measure, computed once when it is made."""

    version = models.OneToOneField(BenchmarkVersion, on_delete=models.CASCADE, primary_key=True, related_name="+")
    document = models.JSONField()
    computed_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"health of {self.version_id}"
