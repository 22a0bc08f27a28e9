"""From a route or a connection to where a call goes, credential included. Targets live in memory and are never stored or logged."""

import os

from django.conf import settings

from catalog.models import ModelRoute
from common.crypto import Undecryptable, decrypt
from gateway.chat import CallError, Target
from gateway.enums import ErrorCode
from gateway.models import Connection


def target_of_route(route: ModelRoute) -> Target:
    """The target of a managed route. Its credential is read from the environment; raises `CallError` where it is not set."""
    api_key = os.environ.get(route.key_env, "").strip() if route.key_env else ""
    if route.key_env and not api_key:
        raise CallError(ErrorCode.AUTHENTICATION, f"The credential of {route.route_id} ({route.key_env}) is not set on this server.")
    return _target(route.endpoint, route.upstream_model, api_key, route.quirks, guarded=False)


def target_of_connection(connection: Connection) -> Target:
    """The target of a workspace's own endpoint. Raises `CallError` where it was deleted or its key cannot be read."""
    if connection.deleted_at is not None:
        raise CallError(ErrorCode.AUTHENTICATION, "The connection was deleted.")
    try:
        api_key = decrypt(connection.secret) if connection.secret else ""
    except Undecryptable as error:
        raise CallError(ErrorCode.AUTHENTICATION, "The connection's key cannot be read any more. Give it again.") from error
    return _target(connection.endpoint, connection.model, api_key, connection.quirks, guarded=True)


def _target(endpoint: str, model: str, api_key: str, quirks: dict[str, object], *, guarded: bool) -> Target:
    timeout = settings.PROVIDER_TIMEOUT_SECONDS
    return Target(endpoint=endpoint, model=model, api_key=api_key, guarded=guarded, quirks=dict(quirks), timeout=timeout)
