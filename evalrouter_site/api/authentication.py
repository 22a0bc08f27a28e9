"""Who asks: a workspace's key in `Authorization: Bearer …`, or a person's browser session, whose changes need a CSRF token."""

from typing import Any

from django.contrib.auth.models import AnonymousUser
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication
from rest_framework.authentication import SessionAuthentication as FrameworkSessionAuthentication
from rest_framework.request import Request

from workspaces.actions import authenticate_key
from workspaces.actors import Actor, actor_of_user

MAX_TOKEN = 200


class KeyAuthentication(BaseAuthentication):
    """`request.auth` is the key as an actor. A key that does not work is refused, also where no key is needed."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, Actor] | None:
        header = request.headers.get("Authorization")
        if header is None:
            return None
        scheme, _, token = header.strip().partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token or len(token) > MAX_TOKEN or not token.isascii() or not token.isprintable():
            raise exceptions.AuthenticationFailed("Send the key as `Authorization: Bearer <key>`.")
        actor = authenticate_key(token)
        if actor is None:
            raise exceptions.AuthenticationFailed("The key is unknown, revoked or expired.")
        return AnonymousUser(), actor

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="EvalRouter"'


class SessionAuthentication(FrameworkSessionAuthentication):
    """`request.auth` is the person as an actor."""

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        found = super().authenticate(request)
        return None if found is None else (found[0], actor_of_user(found[0]))


class KeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = KeyAuthentication
    name = "key"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "A workspace's API key."}


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = SessionAuthentication
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "apiKey",
            "in": "cookie",
            "name": "sessionid",
            "description": "A signed-in browser; changes also need the `X-CSRFToken` header.",
        }
