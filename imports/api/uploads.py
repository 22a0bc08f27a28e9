"""Uploads over HTTP: begin one, send its files, complete it."""

import re
from contextlib import suppress
from typing import Any
from uuid import UUID

from rest_framework import serializers
from rest_framework.response import Response

from common.pages import page_of
from imports.actions.uploads import abandon_upload, archive_upload, complete_upload, create_upload, receive
from imports.limits import limits
from imports.models import UploadFile
from imports.queries.uploads import ANY, count_active_sources, get_upload, get_upload_file, uploads_for
from imports.serializers.uploads import (
    ReceivedShape,
    UploadBody,
    UploadListShape,
    UploadShape,
    UploadsQuery,
    received_document,
    upload_document,
    upload_list_document,
)
from workspaces.api_base import CONTENT_RANGE, ApiView, operation
from workspaces.permissions import can_import

_DISCARDED = 1024 * 1024
"""How much of a body that is refused is read all the same: a client that is still sending does not hear an answer."""


class UploadList(ApiView):
    tag = "benchmark-uploads"

    @operation(
        "list_uploads", "The workspace's uploads, newest first", needs=can_import, query=UploadsQuery, answers={200: UploadListShape}
    )
    def get(self) -> dict[str, Any]:
        uploads = uploads_for(self.workspace, self.query.get("status", ANY))
        page = page_of(uploads, cursor=self.query.get("cursor"), limit=self.query["limit"])
        return upload_list_document(page, active=count_active_sources(self.workspace), limit=limits().active_sources)

    @operation("create_upload", "Begin an upload", needs=can_import, body=UploadBody, answers={201: UploadShape}, refusals=(402,))
    def post(self) -> dict[str, Any]:
        """Send each file to its `upload_url` with PUT, then complete the upload. It stays open for a day."""
        upload = create_upload(self.workspace, actor=self.actor, files=self.body["files"])
        return upload_document(get_upload(self.workspace, upload.public_id))


class UploadDetail(ApiView):
    tag = "benchmark-uploads"

    @operation("get_upload", "One upload, with what has arrived of each file", needs=can_import, answers={200: UploadShape})
    def get(self, upload_id: UUID) -> dict[str, Any]:
        return upload_document(get_upload(self.workspace, upload_id))

    @operation("abandon_upload", "End an open upload and drop what has arrived", needs=can_import, answers={204: None})
    def delete(self, upload_id: UUID) -> Response:
        abandon_upload(get_upload(self.workspace, upload_id), actor=self.actor)
        return Response(status=204)


class UploadContent(ApiView):
    tag = "benchmark-uploads"

    @operation(
        "put_upload_file", "Send the bytes of a file", needs=can_import, takes_file=True, answers={200: ReceivedShape}, refusals=(503,)
    )
    def put(self, upload_id: UUID, file_name: str) -> dict[str, Any]:
        """All bytes of it, or with `Content-Range: bytes first-last/size` those from where the last ones ended. Where the connection breaks
        off, what has come is kept: read the upload to see how much, and go on from there.
        """
        file = get_upload_file(self.workspace, upload_id, file_name)
        first, length, total = self._range(file)
        try:
            receive(file, actor=self.actor, stream=self.stream, offset=first, total=total, length=length)
        except Exception:
            with suppress(OSError):
                self.stream.read(_DISCARDED)
            raise
        return received_document(file)

    def _range(self, file: UploadFile) -> tuple[int, int | None, int | None]:
        """The offset, how many bytes come where that is known, and the size of the whole where it was stated."""
        stated = self.request.headers.get("Content-Length", "")
        length = int(stated) if re.fullmatch("[0-9]{1,15}", stated) else None
        header = self.request.headers.get("Content-Range")
        if header is None:
            return 0, length, None
        if not re.fullmatch(CONTENT_RANGE, header):
            raise serializers.ValidationError({"Content-Range": ["bytes first-last/size, such as bytes 0-1023/4096."]})
        first, last, total = (int(number) for number in re.findall("[0-9]+", header))
        if not first <= last < total or (length is not None and length != last - first + 1):
            raise serializers.ValidationError({"Content-Range": ["It must be within the size, and as long as the body."]})
        return first, last - first + 1, total


class UploadComplete(ApiView):
    tag = "benchmark-uploads"

    @operation(
        "complete_upload",
        "Verify the files and make them sources",
        needs=can_import,
        answers={200: UploadShape},
        refusals=(503,),
        in_transaction=False,
    )
    def post(self, upload_id: UUID) -> dict[str, Any]:
        """Every file is read whole: its format, its rows, its SHA-256. Where one cannot be used the upload has failed and nothing of it is
        kept. Completing a completed upload answers as before.
        """
        complete_upload(get_upload(self.workspace, upload_id), actor=self.actor)
        return upload_document(get_upload(self.workspace, upload_id))


class UploadArchive(ApiView):
    tag = "benchmark-uploads"

    @operation("archive_upload", "Free the source slot of a completed upload, for good", needs=can_import, answers={200: UploadShape})
    def post(self, upload_id: UUID) -> dict[str, Any]:
        """The source can be named no more. Its files stay stored, and benchmarks that were made from it stay as they are."""
        archive_upload(get_upload(self.workspace, upload_id), actor=self.actor)
        return upload_document(get_upload(self.workspace, upload_id))
