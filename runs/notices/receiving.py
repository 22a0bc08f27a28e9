"""How a receiver checks that a webhook comes from here. It needs Python alone; the documentation and the settings page show it."""

import base64
import hashlib
import hmac
import time


def is_genuine(secret: str, headers: dict[str, str], body: bytes, *, tolerance: float = 300) -> bool:
    """Whether the body was signed with the secret (`whsec_…`) within the last minutes. `headers` have lower-case names."""
    try:
        message_id, sent_at = headers["webhook-id"], headers["webhook-timestamp"]
        if abs(time.time() - int(sent_at)) > tolerance:
            return False
        key = base64.b64decode(secret.removeprefix("whsec_"))
        signatures = headers["webhook-signature"].split()
    except (KeyError, ValueError):
        return False
    digest = hmac.new(key, f"{message_id}.{sent_at}.".encode() + body, hashlib.sha256).digest()
    expected = "v1," + base64.b64encode(digest).decode()
    return any(hmac.compare_digest(expected, signature) for signature in signatures)
