"""Secrets at rest: encrypted under the newest of `CREDENTIAL_KEYS`, readable under each of them."""

import base64
from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


class Undecryptable(ValueError):
    """The token was not made under any of the present keys."""


def encrypt(secret: str) -> str:
    """A token to store. The same secret gives another token each time."""
    return _cipher(tuple(settings.CREDENTIAL_KEYS)).encrypt(secret.encode()).decode("ascii")


def decrypt(token: str) -> str:
    """The secret of a token. Raises `Undecryptable`."""
    try:
        return _cipher(tuple(settings.CREDENTIAL_KEYS)).decrypt(token.encode()).decode()
    except InvalidToken:
        raise Undecryptable("The stored secret cannot be read with the present CREDENTIAL_KEYS.") from None


def rotate(token: str) -> str:
    """A token of the same secret under the newest key. Raises `Undecryptable`."""
    return encrypt(decrypt(token))


@lru_cache(maxsize=4)
def _cipher(secrets: tuple[str, ...]) -> MultiFernet:
    if not secrets:
        raise ImproperlyConfigured("CREDENTIAL_KEYS must be set to keep secrets")
    return MultiFernet([Fernet(_fernet_key(secret)) for secret in secrets])


def _fernet_key(secret: str) -> bytes:
    """A Fernet key derived from any text, so that an operator may set what their secret store makes."""
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"evalrouter.credentials.v1").derive(secret.encode())
    return base64.urlsafe_b64encode(derived)
