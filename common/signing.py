"""The deployment's signature: Ed25519 (RFC 8032) under a key that only it has, so that others can tell what really comes from it."""

import base64
import hashlib

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.conf import settings


def _private(secret: str) -> Ed25519PrivateKey:
    """The key of a configured secret: its SHA-256 is the seed, so that any long random text will do."""
    return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"evalrouter signing key\n" + secret.encode()).digest())


def _public(secret: str) -> bytes:
    return _private(secret).public_key().public_bytes_raw()


def key_id(public_key: bytes) -> str:
    """A short name of a public key: the first 16 hex digits of its SHA-256."""
    return hashlib.sha256(public_key).hexdigest()[:16]


def public_keys() -> dict[str, bytes]:
    """The raw public keys by ID, the one that signs now first; the others signed before it."""
    return {key_id(key): key for key in map(_public, settings.SIGNING_KEYS)}


def sign(data: bytes) -> tuple[str, bytes]:
    """The ID of the key that signs now, and its signature of 64 bytes."""
    secret = settings.SIGNING_KEYS[0]
    return key_id(_public(secret)), _private(secret).sign(data)


def is_signed_by(public_key: bytes, data: bytes, signature: bytes) -> bool:
    """Whether the signature of the data was made with the private half of the key."""
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, data)
    except (InvalidSignature, ValueError):
        return False
    return True


def encoded(data: bytes) -> str:
    """Standard base64, as keys and signatures are written down."""
    return base64.b64encode(data).decode()
