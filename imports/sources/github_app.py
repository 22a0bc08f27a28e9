"""The deployment's GitHub App: how private repositories are read, and how a person shows that an installation is theirs to connect.

Every token is made for one use, may read only, is ended after it, and is neither kept nor logged.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import structlog
from django.conf import settings

from common.errors import Refused
from imports.sources.bounded import Unavailable
from imports.sources.github import Repository, access_refused, read_repository
from imports.sources.github_client import ask, check, exchange, forget, refusals, unavailable

log = structlog.get_logger(__name__)

PAGE = 100
MOST_PAGES = 5
"""Of repositories or installations that are listed."""
_CLOCKS_APART = 60
_APP_TOKEN_SECONDS = 8 * 60


@dataclass(frozen=True, slots=True)
class Installation:
    """An account's installation of the App that a person may use."""

    id: int
    account: str


def is_set_up() -> bool:
    """Whether the operator has given the App's ID, slug, key and client secret."""
    needed = (
        *(settings.GITHUB_APP_ID, settings.GITHUB_APP_SLUG, settings.GITHUB_APP_PRIVATE_KEY),
        *(settings.GITHUB_APP_CLIENT_ID, settings.GITHUB_APP_CLIENT_SECRET),
    )
    return all(needed)


def install_address(state: str) -> str:
    """Where a person installs the App on an account and chooses its repositories; GitHub brings the state back."""
    return f"{settings.GITHUB_URL}/apps/{settings.GITHUB_APP_SLUG}/installations/new?{urlencode({'state': state})}"


def _app_token() -> str:
    """What the App shows of itself, for a few minutes. Raises `Refused` `github_unavailable` where its key cannot be read."""
    import jwt

    now = int(time.time())
    claims = {"iss": settings.GITHUB_APP_ID, "iat": now - _CLOCKS_APART, "exp": now + _APP_TOKEN_SECONDS}
    key = settings.GITHUB_APP_PRIVATE_KEY.replace("\\n", "\n")
    try:
        return jwt.encode(claims, key, algorithm="RS256")
    except (jwt.PyJWTError, ValueError, TypeError) as error:
        log.error("github.app_key_unreadable", error=type(error).__name__)
    raise unavailable()


@contextmanager
def _installation_token(installation_id: int, wanted: dict[str, Any]) -> Iterator[str]:
    """A token of the installation that may do what is wanted and no more, ended afterwards."""
    with refusals():
        answer = ask("POST", f"/app/installations/{installation_id}/access_tokens", token=_app_token(), body=wanted)
        stated = check(answer, access_refused, gone=(403, 404, 410, 422)).json()
        token, permissions = stated["token"], stated["permissions"]
        if not isinstance(token, str) or not token:
            raise Unavailable("no token")
    try:
        if not set(permissions.items()) <= {("contents", "read"), ("metadata", "read")}:
            log.error("github.token_too_wide")
            raise unavailable()
        yield token
    finally:
        with suppress(Refused), refusals():
            ask("DELETE", "/installation/token", token=token)


@contextmanager
def opened_repository(installation_id: int, repository_id: int) -> Iterator[tuple[Repository, str]]:
    """The repository and a token that reads the contents of this one alone. Raises `Refused` `access_refused` where it is not granted."""
    with _installation_token(installation_id, {"repository_ids": [repository_id], "permissions": {"contents": "read"}}) as token:
        granted, _ = _repositories(token, pages=1)
        if [each.id for each in granted] != [repository_id]:
            raise access_refused()
        yield granted[0], token


def granted_repositories(installation_id: int) -> tuple[list[Repository], bool]:
    """The repositories that the installation may read, and whether there are more than are listed. Raises as `opened_repository`."""
    with _installation_token(installation_id, {"permissions": {"metadata": "read"}}) as token:
        return _repositories(token, pages=MOST_PAGES)


def _repositories(token: str, *, pages: int) -> tuple[list[Repository], bool]:
    found: list[Repository] = []
    with refusals():
        for number in range(1, pages + 1):
            params = {"per_page": str(PAGE), "page": str(number)}
            answer = check(ask("GET", "/installation/repositories", token=token, params=params), access_refused)
            found += [read_repository(each) for each in answer.json()["repositories"][:PAGE]]
            if "next" not in answer.links:
                return found, False
    return found, True


def not_yours() -> Refused:
    """The one answer for an installation that is not there, or not the person's to connect."""
    message = (
        "GitHub does not confirm that this installation of the App is yours to connect. Begin again from this page, signed in to GitHub as"
        " someone who can read every repository that the App was granted: the account's owner can."
    )
    return Refused("github_not_confirmed", message, status=422)


def confirmed_installation(installation_id: int, code: str) -> Installation:
    """The installation, where GitHub says that the person who brought the code may use it and sees every repository it was granted.

    Whoever may merely read one repository of an account would otherwise open all others that are granted to the App to their workspace.
    Raises `Refused`: `github_not_confirmed`, `github_unavailable` (502).
    """
    with _person_token(code) as token:
        found = _installation_of_person(installation_id, token)
        with refusals():
            params = {"per_page": "1"}
            seen = check(ask("GET", f"/user/installations/{installation_id}/repositories", token=token, params=params), not_yours).json()
            with _installation_token(installation_id, {"permissions": {"metadata": "read"}}) as own:
                granted = check(ask("GET", "/installation/repositories", token=own, params=params), not_yours).json()
            if int(seen["total_count"]) < int(granted["total_count"]):
                raise not_yours()
    return found


def _installation_of_person(installation_id: int, token: str) -> Installation:
    with refusals():
        for number in range(1, MOST_PAGES + 1):
            params = {"per_page": str(PAGE), "page": str(number)}
            answer = check(ask("GET", "/user/installations", token=token, params=params), not_yours)
            for each in answer.json()["installations"]:
                is_ours = each["id"] == installation_id and str(each["app_id"]) == settings.GITHUB_APP_ID
                if is_ours and not each.get("suspended_at"):
                    return Installation(installation_id, str(each["account"]["login"])[:100])
            if "next" not in answer.links:
                break
    raise not_yours()


@contextmanager
def _person_token(code: str) -> Iterator[str]:
    """A token of the person, for the code that GitHub has sent them back with; ended afterwards."""
    client = {"client_id": settings.GITHUB_APP_CLIENT_ID, "client_secret": settings.GITHUB_APP_CLIENT_SECRET}
    with refusals():
        stated = check(exchange({**client, "code": code}), not_yours).json()
        token = stated.get("access_token")
        if not isinstance(token, str) or not token:
            raise not_yours()
    try:
        yield token
    finally:
        with suppress(Refused), refusals():
            forget(f"/applications/{client['client_id']}/token", (client["client_id"], client["client_secret"]), {"access_token": token})
