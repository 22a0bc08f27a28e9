"""OpenAPI from what `@operation` declares: nothing of it is written twice."""

from functools import lru_cache
from inspect import cleandoc
from threading import Lock
from typing import Any

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema as FrameworkAutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from common.encoding import encode_json
from common.serializers import AnyObject, NoBody, Strict
from workspaces.api_base import CONTENT_RANGE, KEY_HEADER, MAX_KEY, WORKSPACE_HEADER, ApiView, Operation

SUMMARIES = {
    400: "The request cannot be read.",
    401: "No credentials, or credentials that do not work.",
    402: "Credit, a key's ceiling or the workspace's budget does not cover it.",
    403: "The role or the key does not allow it.",
    404: "There is nothing here, or it is not yours.",
    409: "The thing is in a state that does not allow it, or the idempotency key was used for another request.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    422: "The request is understood and refused; `code` says why, `details` where.",
    429: "Too many requests; `Retry-After` says when to try again.",
    500: "A failure of ours; report it with the request's ID.",
    502: "A service that this needs could not be reached, or did not answer as agreed; try again later.",
    503: "It cannot be done just now; try again later.",
}


REQUEST_ID: dict[str, Any] = {"X-Request-Id": {"schema": {"type": "string"}, "description": "Name it in a report."}}
HEADERS: dict[int, dict[str, Any]] = {
    401: {"WWW-Authenticate": {"schema": {"type": "string"}}},
    429: {"Retry-After": {"schema": {"type": "string", "pattern": "^[0-9]+$"}, "description": "Seconds."}},
}


class FeedbackShape(serializers.Serializer[Any]):
    url = serializers.CharField()
    method = serializers.CharField()
    request_id = serializers.CharField()
    docs = serializers.CharField()


class ErrorDetailShape(serializers.Serializer[Any]):
    code = serializers.CharField(help_text="Stable; branch on this, never on the message.")
    message = serializers.CharField()
    details = AnyObject(help_text="For `validation_error`: messages by field.")
    request_id = serializers.CharField()
    feedback = FeedbackShape()


class ErrorShape(serializers.Serializer[Any]):
    error = ErrorDetailShape()


class AutoSchema(FrameworkAutoSchema):
    view: ApiView  # type: ignore[override]

    @property
    def operation(self) -> Operation:
        declared = self.view.operation_of(self.method)
        assert declared is not None, f"{self.method} {self.path} is not declared with @operation"
        return declared

    def get_operation_id(self) -> str:
        return self.operation.name

    def get_summary(self) -> str:
        return self.operation.summary

    def get_description(self) -> str:  # type: ignore[override]
        return getattr(self.view, self.method.lower()).__doc__ or ""

    def get_tags(self) -> list[str]:
        return [self.view.tag]

    def get_auth(self) -> list[dict[str, Any]]:
        auth = super().get_auth()
        return [*auth, {}] if self.view.is_public else auth

    def get_request_serializer(self) -> Any:
        if self.operation.takes_file:
            return {"application/octet-stream": OpenApiTypes.BINARY}
        body = self.operation.body
        if body is NoBody:
            return None
        return {"application/json": body} if isinstance(body, dict) else body

    def get_response_serializers(self) -> Any:
        return dict(self.operation.answers)

    def get_override_parameters(self) -> list[Any]:
        query = self.operation.query
        parameters: list[Any] = [
            *([query] if query().fields else []),
            OpenApiParameter(
                WORKSPACE_HEADER,
                {"type": "string", "format": "uuid"},
                OpenApiParameter.HEADER,
                description="The workspace, for a session in another than its own. A key belongs to one; another is not found.",
            ),
        ]
        if self.operation.takes_file:
            parameters.append(
                OpenApiParameter(
                    "Content-Range",
                    {"type": "string", "pattern": CONTENT_RANGE},
                    OpenApiParameter.HEADER,
                    description="Which bytes of the whole these are; without it they are all of it.",
                )
            )
        elif self.method != "GET":
            parameters.append(
                OpenApiParameter(
                    KEY_HEADER,
                    {"type": "string", "minLength": 1, "maxLength": MAX_KEY, "pattern": "^[!-~]+$"},
                    OpenApiParameter.HEADER,
                    description="Makes the request safe to send again for 24 hours.",
                )
            )
        return parameters

    def _get_request_body(self, direction: Any = "request") -> Any:
        body = super()._get_request_body(direction)
        if body and isinstance(self.operation.body, dict):
            body["required"] = True
        return body

    def _get_response_bodies(self, direction: Any = "response") -> Any:
        responses = super()._get_response_bodies(direction)
        for response in responses.values():
            response["description"] = response["description"] or "Done."
            response["headers"] = REQUEST_ID
        return responses | {str(status): self._refused(status) for status in sorted(self._refusals())}

    def _refused(self, status: int) -> dict[str, str]:
        """A reference to the answer of this status, which is the same everywhere."""
        schema = self.resolve_serializer(ErrorShape, "response").ref
        answer = {
            "description": SUMMARIES[status],
            "headers": REQUEST_ID | HEADERS.get(status, {}),
            "content": {"application/json": {"schema": schema}},
        }
        component = ResolvedComponent(f"Refused{status}", ResolvedComponent.RESPONSE, answer, ErrorShape)
        self.registry.register_on_missing(component)
        return dict(component.ref)

    def _refusals(self) -> set[int]:
        always = {400, 401, 404, 409, 422, 429, 500, *self.operation.refusals}
        if not self.view.is_public:
            always.add(403)
        return always if self.method == "GET" else always | {413, 415}

    def _map_basic_serializer(self, serializer: Any, direction: Any) -> Any:
        schema = super()._map_basic_serializer(serializer, direction)
        kind = serializer if isinstance(serializer, type) else type(serializer)
        if issubclass(kind, Strict):
            schema["additionalProperties"] = False
        schema.pop("description", None)
        if kind.__doc__ and "__doc__" in vars(kind):  # its own words, not those of a base class
            schema["description"] = cleandoc(kind.__doc__)
        return schema

    def get_serializer_name(self, serializer: Any, direction: Any) -> str:
        return str(type(serializer).__name__).removesuffix("Shape").removesuffix("Body") or "Body"


def _without_marks(value: Any) -> Any:
    """The document without the generator's own notes on enumerations."""
    if isinstance(value, dict):
        return {name: _without_marks(each) for name, each in value.items() if name != "x-spec-enum-id"}
    return [_without_marks(each) for each in value] if isinstance(value, list) else value


_making = Lock()


def openapi_text() -> bytes:
    """The whole document, made once a process, by one thread: the generator is not made for two at once."""
    with _making:
        return _made()


@lru_cache(maxsize=1)
def _made() -> bytes:
    return encode_json(_without_marks(SchemaGenerator(urlconf="evalrouter_site.api.urls").get_schema(public=True)))
