"""States and kinds of what is imported."""

from django.db import models


class UploadStatus(models.TextChoices):
    OPEN = "open", "Open"
    COMPLETED = "completed", "Completed"
    FAILED = "failed", "Failed"
    EXPIRED = "expired", "Expired"
    ARCHIVED = "archived", "Archived"


class SourceKind(models.TextChoices):
    """Where a file came from. A stored source is named `workspace://…`, `hf://…` or `github://…`."""

    UPLOAD = "file", "Uploaded file"
    HUGGINGFACE = "huggingface", "Hugging Face"
    GITHUB = "github", "GitHub"


SCHEMES = {SourceKind.UPLOAD: "workspace", SourceKind.HUGGINGFACE: "hf", SourceKind.GITHUB: "github"}
"""How the name of a stored file begins."""


class CheckStatus(models.TextChoices):
    """Of the check of all rows that a draft asked for."""

    QUEUED = "queued", "Waiting"
    RUNNING = "running", "Checking"
    PASSED = "passed", "Checked"
    REFUSED = "refused", "Refused"
    FAILED = "failed", "Stopped"
