"""Public identifiers: opaque, random, and never an integer key of the database."""

import secrets
import uuid


def new_id() -> uuid.UUID:
    """A random UUID."""
    return uuid.uuid4()


def new_private_slug() -> str:
    """The slug of a private benchmark, `byob-` and twelve random hex digits."""
    return f"byob-{secrets.token_hex(6)}"


def parse_uuid(text: str) -> uuid.UUID | None:
    """The UUID a text names, or None where it is not one: a malformed ID is simply not found."""
    try:
        return uuid.UUID(str(text))
    except ValueError:
        return None


def named_id(text: object) -> uuid.UUID:
    """The UUID a text names, for a look-up; the nil UUID, which nothing has, where it names none."""
    return parse_uuid(str(text)) or uuid.UUID(int=0)
