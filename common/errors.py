"""Refusals: what an action raises when it will not do what was asked, in words a person can act on."""

from typing import Any


class Refused(Exception):
    """A request that is understood and refused. `code` is stable and public, `message` says what to do, `status` is the HTTP status."""

    status = 422

    def __init__(self, code: str, message: str, *, status: int | None = None, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details or {}
        if status is not None:
            self.status = status


class Conflict(Refused):
    """The thing is in a state that does not allow it (409)."""

    status = 409


class PaymentRequired(Refused):
    """Credit, a ceiling or a budget does not cover it (402)."""

    status = 402


class Forbidden(Refused):
    """The actor may see the workspace but not do this in it (403)."""

    status = 403

    def __init__(
        self, message: str = "Your role or key does not allow this.", *, code: str = "forbidden", details: dict[str, Any] | None = None
    ) -> None:
        super().__init__(code, message, details=details)
