"""Signing what is sent to other people's servers, by the convention of Standard Webhooks (symmetric, `v1`).

The signature is HMAC-SHA256, under the endpoint's secret, of "<webhook-id>.<webhook-timestamp>.<body>". More than one may stand in the
header, with spaces between, so that a secret can be changed while both the old and the new one are known to the receiver.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence

PREFIX = "whsec_"
SECRET_BYTES = 32


def new_secret() -> str:
    """A fresh secret as receivers are given it: `whsec_` and the base64 of its bytes."""
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode("ascii")


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """One entry of the header `webhook-signature`. `timestamp` is in seconds since 1970."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    digest = hmac.new(key, f"{message_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode('ascii')}"


def signed_headers(known: Sequence[str], message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The three headers, with a signature under each secret that is valid now, the newest first."""
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signature(secret, message_id, timestamp, body) for secret in known),
    }
