"""The text of an API key: `er_<prefix>_<secret>`. The prefix finds the row, the SHA-256 of the secret proves it."""

import hashlib
import hmac
import re
import secrets
import string
from dataclasses import dataclass

_ALPHABET = string.ascii_letters + string.digits
PREFIX_LENGTH = 8
SECRET_LENGTH = 40
"""Letters and digits, so 238 bits; a plain hash is enough for a secret that nobody chose."""

_SHAPE = re.compile(rf"er_([A-Za-z0-9]{{{PREFIX_LENGTH}}})_([A-Za-z0-9]{{{SECRET_LENGTH}}})", re.ASCII)


@dataclass(frozen=True, slots=True)
class KeyText:
    """The two parts of a key's text."""

    prefix: str
    secret: str

    def __str__(self) -> str:
        return f"er_{self.prefix}_{self.secret}"

    def __repr__(self) -> str:
        return f"KeyText(er_{self.prefix}_…)"

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.secret.encode()).hexdigest()

    def proves(self, sha256: str) -> bool:
        """Whether the secret has this hash, in a time that does not depend on where they differ."""
        return hmac.compare_digest(self.sha256, sha256)


def new_key_text() -> KeyText:
    """A new random key."""
    return KeyText(_random(PREFIX_LENGTH), _random(SECRET_LENGTH))


def read_key_text(text: str) -> KeyText | None:
    """The parts of a key's text, None where it is not one."""
    found = _SHAPE.fullmatch(text)
    return KeyText(*found.groups()) if found else None


def _random(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))
