"""What the API takes and answers about uploads."""

from typing import Any
from urllib.parse import quote

from django.conf import settings
from rest_framework import serializers

from common.pages import Page
from common.serializers import AnyObject, Choice, ListQuery, Strict, Text, WholeNumber
from imports.enums import UploadStatus
from imports.models import Upload, UploadFile
from imports.queries.uploads import status_of


class UploadFileBody(Strict):
    name = Text(max_length=255, trim_whitespace=False, help_text="The file's own name, without folders; its ending says what it is.")
    bytes = WholeNumber(min_value=1, max_value=10**15, help_text="Its exact size.")


class UploadBody(Strict):
    files = serializers.ListField(child=UploadFileBody(), min_length=1, max_length=100)


class UploadsQuery(ListQuery):
    status = Choice(choices=UploadStatus.values, required=False)


class ReceivedShape(serializers.Serializer[Any]):
    """How much of a file has arrived."""

    name = serializers.CharField()
    bytes = serializers.IntegerField(help_text="As announced.")
    received = serializers.IntegerField(help_text="Go on from this offset.")


class UploadFileShape(ReceivedShape):
    upload_url = serializers.CharField(allow_null=True, help_text="Where the bytes go while the upload is open; null afterwards.")
    method = serializers.ChoiceField(choices=["PUT"])
    source = serializers.CharField(allow_null=True, help_text="What a manifest names it by, once the upload is completed.")
    sha256 = serializers.CharField(allow_null=True)
    rows = serializers.IntegerField(
        allow_null=True, help_text="Null also where they can be counted only with an encoding that the manifest states."
    )
    format = serializers.CharField(allow_null=True)
    reading = AnyObject(allow_null=True, help_text="How it was read: encoding, delimiter, header, columns, warnings.")


class UploadShape(serializers.Serializer[Any]):
    """An upload. `source`, `sha256`, `rows` and `format` repeat those of its file where it has one file."""

    id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=UploadStatus.values)
    files = UploadFileShape(many=True)
    bytes = serializers.IntegerField(help_text="Of all files.")
    source = serializers.CharField(allow_null=True)
    sha256 = serializers.CharField(allow_null=True)
    rows = serializers.IntegerField(allow_null=True)
    format = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    created_by = serializers.UUIDField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True, help_text="When it ends if it is still open; null once it is not.")
    completed_at = serializers.DateTimeField(allow_null=True)
    archived_at = serializers.DateTimeField(allow_null=True)


class UploadListShape(serializers.Serializer[Any]):
    data = UploadShape(many=True)
    next_cursor = serializers.CharField(allow_null=True, help_text="Null on the last page.")
    active_sources = serializers.IntegerField(help_text="Completed uploads that are not archived.")
    active_source_limit = serializers.IntegerField()


def upload_document(upload: Upload) -> dict[str, Any]:
    status = status_of(upload)
    files = [_file_document(upload, file, status) for file in upload.files.all()]
    only = files[0] if len(files) == 1 else None
    return {
        "id": upload.public_id,
        "status": status,
        "files": files,
        "bytes": sum(file["bytes"] for file in files),
        **{key: only[key] if only else None for key in ("source", "sha256", "rows", "format")},
        "created_at": upload.created_at,
        "created_by": upload.created_by.public_id if upload.created_by else None,
        "expires_at": upload.expires_at if status == UploadStatus.OPEN else None,
        "completed_at": upload.completed_at,
        "archived_at": upload.archived_at,
    }


def received_document(file: UploadFile) -> dict[str, Any]:
    return {"name": file.name, "bytes": file.bytes, "received": file.received}


def upload_list_document(page: Page[Upload], *, active: int, limit: int) -> dict[str, Any]:
    return {
        "data": [upload_document(upload) for upload in page.rows],
        "next_cursor": page.next_cursor,
        "active_sources": active,
        "active_source_limit": limit,
    }


def _file_document(upload: Upload, file: UploadFile, status: UploadStatus) -> dict[str, Any]:
    content = file.content
    address = f"{settings.SITE_URL}/v1/benchmark-uploads/{upload.public_id}/files/{quote(file.name, safe='')}"
    return {
        **received_document(file),
        "upload_url": address if status == UploadStatus.OPEN else None,
        "method": "PUT",
        "source": f"workspace://{upload.public_id}/{file.name}" if content else None,
        "sha256": content.sha256 if content else None,
        "rows": file.rows,
        "format": file.reading.get("format"),
        "reading": file.reading or None,
    }
