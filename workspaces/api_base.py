"""What every view of the API does the same way, so that a view is only its query, its action and its document.

A handler is declared with `@operation(...)`: who may, the parameters and the body it takes, what it answers. From that one declaration
come the OpenAPI schema and the checks, in this order: the verb, the credentials, the workspace (a stranger's is not found), the
permission, the rate, the parameters, the body, and the idempotency key.
"""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import IO, Any, ClassVar, cast

from django.conf import settings
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.utils.crypto import salted_hmac
from rest_framework import exceptions, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common import idempotency
from common.canonical import canonical_json, sha256_text
from common.encoding import encode_json
from common.ids import parse_uuid
from common.pages import Page
from common.serializers import NoBody, Query, query_values
from workspaces.actors import Access, Actor
from workspaces.models import Workspace
from workspaces.permissions import can_read, require
from workspaces.queries import get_workspace_of, required_workspace

type Predicate = Callable[[Actor, Workspace], bool]
type Shape = type[serializers.Serializer[Any]] | dict[str, Any] | None

SAFE = frozenset({"GET", "HEAD"})
WORKSPACE_HEADER = "X-Workspace-Id"
KEY_HEADER = "Idempotency-Key"
MAX_KEY = 200
CONTENT_RANGE = r"^bytes [0-9]{1,15}-[0-9]{1,15}/[0-9]{1,15}$"


@dataclass(frozen=True, slots=True)
class Operation:
    """One verb of one path, as `@operation` declares it."""

    name: str
    summary: str
    needs: Predicate | None
    query: type[Query]
    body: type[serializers.Serializer[Any]] | dict[str, Any]
    answers: Mapping[int | tuple[int, str], Shape]
    refusals: tuple[int, ...]
    in_transaction: bool
    bears_secret: bool
    takes_file: bool


def operation(
    name: str,
    summary: str,
    *,
    answers: Mapping[int | tuple[int, str], Shape],
    needs: Predicate | None = None,
    query: type[Query] = Query,
    body: type[serializers.Serializer[Any]] | dict[str, Any] = NoBody,
    refusals: tuple[int, ...] = (),
    in_transaction: bool = True,
    bears_secret: bool = False,
    takes_file: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a handler. `name` is its operation ID in the schema, `needs` who may beside being in the workspace, `answers` the shape of
    each success, `refusals` statuses beside those that any operation may answer. A `body` that is a JSON schema is passed on unparsed.

    Under an idempotency key the handler runs in the transaction that keeps its answer, unless `in_transaction` is false: for one that
    waits for a network, since no lock is held across a network call, or for one that works long before it writes, which then calls
    `keep_answer` where it does. One that `takes_file` finds the bytes of the body in `self.stream`, whatever their type and number.
    """

    def declare(handler: Callable[..., Any]) -> Callable[..., Any]:
        handler.operation = Operation(  # type: ignore[attr-defined]
            name, summary, needs, query, body, answers, refusals, in_transaction, bears_secret, takes_file
        )
        return handler

    return declare


class ApiView(APIView):
    """A view of one workspace's things. `self.access` is who asks and where, `self.query` and `self.body` what was asked, checked."""

    tag: ClassVar[str] = ""
    is_public: ClassVar[bool] = False
    access: Access | None
    query: dict[str, Any]
    body: Any
    claim: idempotency.Claim | None = None

    @property
    def stream(self) -> IO[bytes]:
        """The body as it comes in; it ends early where the connection does."""
        request: HttpRequest = self.request._request
        return cast(IO[bytes], request.META["wsgi.input"] if _is_chunked(request) else request)

    @property
    def workspace(self) -> Workspace:
        """The workspace that bounds this request."""
        if self.access is None:
            raise exceptions.NotAuthenticated
        return self.access.workspace

    @property
    def actor(self) -> Actor:
        if self.access is None:
            raise exceptions.NotAuthenticated
        return self.access.actor

    # The order of the checks

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """As the framework's, with the verb checked first and a handler that may have answered before."""
        self.args, self.kwargs, self.headers = args, kwargs, {}
        declared = self.operation_of(request.method)
        if declared is None or not declared.takes_file:
            _read_chunked(request)
        self.request = self.initialize_request(request, *args, **kwargs)
        try:
            if declared is None:
                raise exceptions.MethodNotAllowed(request.method)
            self.operation = declared
            self.initial(self.request, *args, **kwargs)
            response = self.answer()
        except Exception as error:
            response = self.handle_exception(error)
        self.response = self.finalize_response(self.request, response, *args, **kwargs)
        return self.response

    def operation_of(self, method: str) -> Operation | None:
        """What the verb does here; None where it does nothing."""
        handler = getattr(self, {"HEAD": "get"}.get(method, method.lower()), None)
        return getattr(handler, "operation", None)

    @property
    def allowed_methods(self) -> list[str]:
        found = [method for method in ("GET", "POST", "PATCH", "PUT", "DELETE") if self.operation_of(method)]
        return [*found, "HEAD"] if "GET" in found else found

    def perform_authentication(self, request: Request) -> None:
        try:
            super().perform_authentication(request)
        except exceptions.AuthenticationFailed:
            self.check_throttles(request)  # guesses at keys count against their address
            raise

    def check_permissions(self, request: Request) -> None:
        self.access = self._resolve_access(request)
        if self.access is None:
            if not self.is_public:
                raise exceptions.NotAuthenticated
            return
        if self.operation.needs is not None and not self.is_public:
            require(self.operation.needs(self.access.actor, self.access.workspace))

    def _resolve_access(self, request: Request) -> Access | None:
        """Who asks, in which workspace: the header's, else the key's, else the session's. Raises Http404 for one they are not in."""
        actor = request.auth
        if not isinstance(actor, Actor):
            return None
        named = request.headers.get(WORKSPACE_HEADER)
        public_id = parse_uuid(named) if named is not None else None
        if named is not None and public_id is None:
            raise Http404
        if actor.api_key is not None:
            if public_id is not None and public_id != actor.api_key.workspace.public_id:
                raise Http404
            return Access(actor, actor.api_key.workspace)
        if actor.user is None:
            return None
        if public_id is not None:
            return Access(actor, get_workspace_of(actor.user, public_id))
        return Access(actor, required_workspace(request._request))

    # The handler

    def answer(self) -> HttpResponseBase:
        """Check what was sent, and call the handler, once for an idempotency key."""
        method = str(self.request.method)
        handler = getattr(self, "get" if method in SAFE else method.lower())
        self.query = self._read(self.operation.query, query_values(self.request.query_params))
        if method in SAFE or self.operation.takes_file:
            return self._respond(handler(**self.kwargs))
        declared = self.operation.body
        self.body = self.request.data if isinstance(declared, dict) else self._read(declared, self.request.data)
        key = self.request.headers.get(KEY_HEADER)
        if key is None:
            return self._respond(handler(**self.kwargs))
        return self._answer_once(handler, key)

    def _read(self, serializer: type[serializers.Serializer[Any]], data: Any) -> dict[str, Any]:
        reader = serializer(data=data)
        reader.is_valid(raise_exception=True)
        return dict(reader.validated_data)

    def _respond(self, given: Any) -> HttpResponseBase:
        if isinstance(given, HttpResponseBase):
            return given
        first = next(iter(self.operation.answers))
        return Response(given, status=first if isinstance(first, int) else first[0])

    def _answer_once(self, handler: Callable[..., Any], key: str) -> HttpResponseBase:
        """Answer under an idempotency key: the kept answer, or the handler's, kept in its own transaction."""
        if not (1 <= len(key) <= MAX_KEY and key.isascii() and key.isprintable()):
            raise serializers.ValidationError({KEY_HEADER: [f"1 to {MAX_KEY} printable ASCII characters."]})
        route = f"{self.workspace.public_id}\n{self.request.method}\n{self.request.path}"
        scope = sha256_text(route)
        # A body may hold a token or a key, of which nothing may be kept: a plain hash could be tried against guesses, a keyed one cannot.
        body = salted_hmac("idempotency", canonical_json(self.request.data), algorithm="sha256").hexdigest()
        found = idempotency.claim(scope, key, body_sha256=body)
        if isinstance(found, idempotency.Kept):
            return HttpResponse(found.body, status=found.status, content_type="application/json", headers={"Idempotent-Replayed": "true"})
        self.claim = found
        try:
            with transaction.atomic() if self.operation.in_transaction else nullcontext():
                response = self._respond(handler(**self.kwargs))
                self.keep_answer(getattr(response, "data", None), response.status_code)
        except BaseException:
            idempotency.release(found)
            raise
        return response

    def keep_answer(self, data: Any, status: int) -> None:
        """Keep the answer of the idempotency key, if there is one, in the transaction of what it answers; later ones are not kept."""
        if self.claim is not None:
            body = "" if data is None else encode_json(data).decode()
            idempotency.keep(self.claim, status=status, body=body, bore_secret=self.operation.bears_secret)
            self.claim = None

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        final = super().finalize_response(request, response, *args, **kwargs)
        has_credentials = "Authorization" in request.headers or getattr(self, "access", None) is not None
        if has_credentials:
            patch_cache_control(final, no_store=True)
        patch_vary_headers(final, ["Authorization", "Cookie", WORKSPACE_HEADER])
        return final


def _is_chunked(request: HttpRequest) -> bool:
    return request.META.get("HTTP_TRANSFER_ENCODING", "").lower() == "chunked" and not request.META.get("CONTENT_LENGTH")


def _read_chunked(request: HttpRequest) -> None:
    """Read a body that came in chunks, which says no length; Django would take it for empty. Its size is checked where it is parsed."""
    if _is_chunked(request):
        request._body = request.META["wsgi.input"].read(settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
        request._read_started = True  # type: ignore[attr-defined]
        request.META["CONTENT_LENGTH"] = str(len(request._body))


class PublicView(ApiView):
    """A view that answers everyone. Credentials that may read add what is private to their workspace."""

    is_public = True

    @property
    def reader_workspace(self) -> Workspace | None:
        """The workspace whose private things may be shown too, if any."""
        if self.access is None or not can_read(self.access.actor, self.access.workspace):
            return None
        return self.access.workspace


def page_document(page: Page[Any], document: Callable[[Any], Any]) -> dict[str, Any]:
    """A list as the API answers it."""
    return {"data": [document(row) for row in page.rows], "next_cursor": page.next_cursor}
