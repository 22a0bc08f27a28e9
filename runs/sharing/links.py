"""The token of a link: 192 random bits, found by its hash, kept encrypted for members who copy the link again.

Its prefix is there to be recognised: logs leave out what is shaped like it (`common.redaction`), and so can scanners for secrets.
"""

import secrets

from django.conf import settings

from common.canonical import sha256_text
from common.crypto import Undecryptable, decrypt, encrypt
from runs.models.sharing import Share

PREFIX = "ers_"
TOKEN_BYTES = 24


def new_token() -> tuple[str, str, str]:
    """A fresh token, its hash to find it by, and its encrypted form to keep."""
    token = f"{PREFIX}{secrets.token_urlsafe(TOKEN_BYTES)}"
    return token, token_sha256(token), encrypt(token)


def token_sha256(token: str) -> str:
    return sha256_text(token)


def link_of(share: Share) -> str | None:
    """The address that whoever has it can open; None where the keys that encrypted it are gone, and a new link must be made."""
    try:
        token = decrypt(share.secret)
    except Undecryptable:
        return None
    return f"{settings.SITE_URL}/shared/{token}"
