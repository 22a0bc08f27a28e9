"""The licences under which data may be taken from elsewhere, and what a source says of its own."""

from collections.abc import Sequence
from typing import Any

from common.errors import Refused

ACCEPTED = ("MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC-BY-4.0", "CC-BY-SA-4.0", "CC0-1.0")
_KNOWN = {name.lower(): name for name in ACCEPTED}
_MAX_STATED = 20


def stated_licenses(value: Any) -> tuple[str, ...]:
    """What a card's `license` states: one text, or a list of texts. Anything else stands as it is written, and is accepted by none."""
    listed = value if isinstance(value, list) else [] if value is None else [value]
    return tuple(str(one).strip()[:80] for one in listed[:_MAX_STATED] if one not in ("", None))


def accepted_licenses(stated: Sequence[str]) -> tuple[str, ...]:
    """The stated licences by their SPDX names, each once. Raises `Refused` `license_refused` unless every one of them is accepted."""
    accepted = ", ".join(ACCEPTED)
    if not stated:
        message = f"The dataset card states no license at this commit. These are accepted: {accepted}."
        raise Refused("license_refused", message, details={"stated": [], "accepted": list(ACCEPTED)})
    refused = [name for name in stated if name.lower() not in _KNOWN]
    if refused:
        message = f"The dataset card states {', '.join(repr(name) for name in refused)}, which is not accepted. These are: {accepted}."
        raise Refused("license_refused", message, details={"stated": list(stated), "accepted": list(ACCEPTED)})
    return tuple(dict.fromkeys(_KNOWN[name.lower()] for name in stated))
