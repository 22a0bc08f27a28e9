"""Writes of connections: add, change, rotate, delete, check."""

import time
from dataclasses import dataclass, replace
from typing import Any

from asgiref.sync import async_to_sync
from django.db import transaction
from django.utils import timezone
from yarl import URL

from catalog.models import ModelRoute
from common.crypto import Undecryptable, decrypt, encrypt
from common.errors import Conflict, Refused
from common.outbound import check_url
from common.redaction import redact
from gateway.calls import CallRecord, call_rows, note_answer, note_failure
from gateway.chat import CallError, ChatReply, ChatRequest, Target
from gateway.client import ChatClient
from gateway.enums import Protocol, Purpose
from gateway.metering import FREE
from gateway.models import Connection
from gateway.queries import connections_for
from gateway.targets import target_of_connection
from workspaces import audit
from workspaces.actors import Actor
from workspaces.models import Workspace
from workspaces.permissions import can_manage_connections, can_run, require

MAX_CONNECTIONS = 100
MAX_NAME_LENGTH = 80
MAX_MODEL_LENGTH = 200
MAX_KEY_LENGTH = 4096
CHECK_SECONDS = 30.0
CHECK_REQUEST = ChatRequest(messages=[{"role": "user", "content": "Reply with the word OK."}], max_output_tokens=64)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a check found. `error` says in words why it failed, without secrets."""

    ok: bool
    latency_ms: int | None
    served_model: str | None
    error: str | None


def create_connection(
    workspace: Workspace, *, actor: Actor, name: str, endpoint: str, model: str, api_key: str = "", protocol: str = Protocol.OPENAI
) -> Connection:
    """A new connection, unchecked; nothing is called.

    Raises Refused (`validation_error`, `invalid_endpoint`, `blocked_address`), Conflict (`connection_name_taken`, `too_many_connections`).
    """
    require(can_manage_connections(actor, workspace))
    if protocol not in Protocol.values:
        raise _invalid("protocol", f"The protocol is one of {', '.join(Protocol.values)}.")
    name, model, api_key = _checked_name(name), _checked_model(model), _checked_key(api_key)
    endpoint = check_url(endpoint)
    with transaction.atomic():
        Workspace.objects.select_for_update().get(pk=workspace.pk)
        if connections_for(workspace).count() >= MAX_CONNECTIONS:
            raise Conflict("too_many_connections", f"A workspace has at most {MAX_CONNECTIONS} connections. Delete one first.")
        _refuse_taken_name(workspace, name)
        connection = Connection.objects.create(
            workspace=workspace,
            name=name,
            protocol=protocol,
            endpoint=endpoint,
            model=model,
            secret=encrypt(api_key) if api_key else "",
            created_by=actor.user,
        )
        audit.record(
            actor,
            "connection.created",
            connection.public_id,
            workspace=workspace,
            name=name,
            endpoint=redact(endpoint),
            model=model,
            has_key=bool(api_key),
        )
    return connection


def change_connection(
    connection: Connection,
    *,
    actor: Actor,
    name: str | None = None,
    endpoint: str | None = None,
    model: str | None = None,
    api_key: str | None = None,
) -> Connection:
    """The connection with what is given changed; None leaves as it is, an empty key takes the key away.

    Another address, model or key is a new revision, unchecked and without its learned quirks. A key was given for one host: where the
    address moves to another and no key comes with it, the stored one is dropped and not sent there.
    """
    require(can_manage_connections(actor, connection.workspace))
    given: dict[str, str] = {}
    if name is not None:
        given["name"] = _checked_name(name)
    if endpoint is not None:
        given["endpoint"] = check_url(endpoint)
    if model is not None:
        given["model"] = _checked_model(model)
    if api_key is not None:
        api_key = _checked_key(api_key)
    with transaction.atomic():
        Workspace.objects.select_for_update().get(pk=connection.workspace_id)
        connection = (
            Connection.objects.select_for_update(of=("self",)).select_related("workspace").get(pk=connection.pk, deleted_at__isnull=True)
        )
        changed = {field: value for field, value in given.items() if value != getattr(connection, field)}
        if api_key is None and "endpoint" in changed and connection.secret and not _same_origin(changed["endpoint"], connection.endpoint):
            api_key = ""
        key_changes = api_key is not None and api_key != _present_key(connection)
        if not changed and not key_changes:
            return connection
        if "name" in changed:
            _refuse_taken_name(connection.workspace, changed["name"])
        for field, value in changed.items():
            setattr(connection, field, value)
        if key_changes:
            connection.secret = encrypt(api_key) if api_key else ""
        if key_changes or changed.keys() & {"endpoint", "model"}:
            connection.revision += 1
            connection.quirks = {}
            connection.checked_at = connection.check_latency_ms = None
            connection.check_error = connection.served_model = ""
        connection.save(update_fields=_CHANGEABLE)
        told = {field: redact(value) for field, value in changed.items()}
        key_words = {"key": "replaced" if api_key else "removed"} if key_changes else {}
        audit.record(
            actor,
            "connection.changed",
            connection.public_id,
            workspace=connection.workspace,
            revision=connection.revision,
            **told,
            **key_words,
        )
    return connection


_CHANGEABLE = ["name", "endpoint", "model", "secret", "revision", "quirks", "checked_at", "check_latency_ms", "check_error", "served_model"]


def rotate_key(connection: Connection, *, actor: Actor, api_key: str) -> Connection:
    """The connection with another key, as a new revision."""
    if not api_key.strip():
        raise _invalid("api_key", "Give the new key.")
    return change_connection(connection, actor=actor, api_key=api_key)


def delete_connection(connection: Connection, *, actor: Actor) -> None:
    """Stop using the connection: its key is erased, its row stays for the runs that name it. Deleting it again does nothing."""
    require(can_manage_connections(actor, connection.workspace))
    with transaction.atomic():
        deleted = Connection.objects.filter(pk=connection.pk, deleted_at__isnull=True).update(deleted_at=timezone.now(), secret="")
        if deleted:
            audit.record(actor, "connection.deleted", connection.public_id, workspace=connection.workspace, name=connection.name)


def check_connection(connection: Connection, *, actor: Actor) -> CheckResult:
    """Make one small real call, which the provider may bill, and keep what it showed. Not for a transaction: it waits for the network."""
    require(can_run(actor, connection.workspace))
    record = CallRecord(connection.workspace_id, connection.public_id, Purpose.CHECK, FREE.rate_id, FREE.fee_percent, 0)
    quirks: dict[str, Any] = connection.quirks
    record.tries = 1
    started = time.perf_counter()
    try:
        target = replace(target_of_connection(connection), timeout=CHECK_SECONDS)
        reply = async_to_sync(_complete)(target, CHECK_REQUEST)
    except CallError as failure:
        note_failure(record, failure)
    else:
        note_answer(record, reply, FREE)
        quirks = target.quirks
    record.latency_ms = int((time.perf_counter() - started) * 1000)
    ok = not record.error_code
    result = CheckResult(ok, record.latency_ms if ok else None, record.served_model or None, None if ok else record.error_message)
    with transaction.atomic():
        row, content = call_rows(record)
        row.save(force_insert=True)
        content.save(force_insert=True)
        # What was found holds for the revision that was called; it says nothing of one made meanwhile.
        Connection.objects.filter(pk=connection.pk, revision=connection.revision, deleted_at__isnull=True).update(
            checked_at=timezone.now() if ok else None,
            check_error=result.error or "",
            check_latency_ms=result.latency_ms,
            served_model=result.served_model or "",
            quirks=quirks,
        )
        audit.record(actor, "connection.checked", connection.public_id, workspace=connection.workspace, ok=ok, error_code=record.error_code)
    connection.refresh_from_db()
    return result


async def _complete(target: Target, request: ChatRequest) -> ChatReply:
    async with ChatClient(limit=1) as client:
        return await client.complete(target, request)


def remember_quirks(owner: ModelRoute | Connection, quirks: dict[str, Any]) -> None:  # lint: actors (nobody decides it)
    """Keep what an endpoint was seen to refuse, so that the next run need not find out again. Figures nobody chose: no audit entry.

    How a route counts tokens is not seen but said by staff: that stays as it is stored now, whatever the caller read before.
    """
    if quirks == owner.quirks:
        return
    if isinstance(owner, Connection):
        Connection.objects.filter(pk=owner.pk, revision=owner.revision).update(quirks=quirks)
    else:
        stored = ModelRoute.objects.values_list("quirks", flat=True).get(pk=owner.pk)
        said = {"usage": stored["usage"]} if "usage" in stored else {}
        quirks = {name: value for name, value in quirks.items() if name != "usage"} | said
        ModelRoute.objects.filter(pk=owner.pk).update(quirks=quirks)
    owner.quirks = dict(quirks)


def _checked_name(name: str) -> str:
    name = " ".join(name.split())
    if not 1 <= len(name) <= MAX_NAME_LENGTH or not name.isprintable():
        raise _invalid("name", f"A name has 1 to {MAX_NAME_LENGTH} characters.")
    return name


def _checked_model(model: str) -> str:
    model = model.strip()
    if not 1 <= len(model) <= MAX_MODEL_LENGTH or not model.isprintable():
        raise _invalid("model", f"A model's name has 1 to {MAX_MODEL_LENGTH} characters.")
    return model


def _checked_key(api_key: str) -> str:
    """The key as a header can carry it."""
    api_key = api_key.strip()
    if len(api_key) > MAX_KEY_LENGTH or any(not "!" <= character <= "~" for character in api_key):
        raise _invalid("api_key", f"A key has at most {MAX_KEY_LENGTH} printable ASCII characters without spaces.")
    return api_key


def _invalid(field: str, message: str) -> Refused:
    return Refused("validation_error", message, details={field: [message]})


def _refuse_taken_name(workspace: Workspace, name: str) -> None:
    if connections_for(workspace).filter(name=name).exists():
        raise Conflict("connection_name_taken", f"There is already a connection named {name!r}.", details={"name": [name]})


def _present_key(connection: Connection) -> str | None:
    """The stored key, "" where there is none, None where it cannot be read any more."""
    try:
        return decrypt(connection.secret) if connection.secret else ""
    except Undecryptable:
        return None


def _same_origin(one: str, other: str) -> bool:
    return URL(one).origin() == URL(other).origin()
