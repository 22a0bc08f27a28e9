"""Reading and writing JSON. Nothing else is spoken, whatever a request says it accepts."""

from typing import Any

import orjson
from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from rest_framework.exceptions import ParseError, ValidationError
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer

from common.encoding import encode_json

MAX_DEPTH = 40


class JSONRenderer(BaseRenderer):
    media_type = "application/json"
    format = "json"
    charset = None
    render_style = "binary"

    def render(self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None) -> bytes:
        return b"" if data is None else encode_json(data)


class JSONParser(BaseParser):
    """Strict JSON: UTF-8, no NaN, no lone surrogates, no NUL in a text, bounded in size and depth."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        raw = stream.read(limit + 1)
        if len(raw) > limit:
            raise RequestDataTooBig(f"A request body has no more than {limit} bytes.")
        try:
            data = orjson.loads(raw)
        except orjson.JSONDecodeError as error:
            raise ParseError(f"The body is not JSON: {error}", code="malformed_json") from None
        _check(data, "", 0, holds_nul=b"\\u0000" in raw)
        return data


def _check(value: Any, where: str, depth: int, *, holds_nul: bool) -> None:
    if depth > MAX_DEPTH:
        raise ValidationError({where[:200]: ["Nested too deeply."]})
    if isinstance(value, dict):
        for name, each in value.items():
            path = f"{where}.{name}" if where else name
            if holds_nul and "\0" in name:
                raise ValidationError({where[:200] or "body": ["A field's name holds a NUL character."]})
            _check(each, path, depth + 1, holds_nul=holds_nul)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            _check(each, f"{where}.{index}" if where else str(index), depth + 1, holds_nul=holds_nul)
    elif holds_nul and isinstance(value, str) and "\0" in value:
        raise ValidationError({where[:200] or "body": ["Holds a NUL character."]})


class OnlyJSON(BaseContentNegotiation):
    """Answers are JSON (or what an export was asked for by `format`); `Accept` changes nothing."""

    def select_parser(self, request: Any, parsers: Any) -> Any:
        content_type = (request.content_type or "").partition(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == content_type), None)

    def select_renderer(self, request: Any, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type
