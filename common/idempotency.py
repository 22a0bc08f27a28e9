"""`Idempotency-Key`: a request that is sent twice is done once, and both are given the same answer.

A key is claimed for a scope (opaque: workspace and route) before the work begins, and its answer is kept for 24 hours in the transaction
of the work: either both are there or neither. A twin waits for the first. Only successes are kept; a refusal frees the key.
"""

import time
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone

from common.errors import Conflict
from common.models import IdempotentAnswer

KEPT = timedelta(hours=24)
CLAIMED = timedelta(seconds=120)
"""How long a claim without an answer holds: past it, its holder is taken for dead and whoever comes next does the work."""

WAIT_SECONDS = 25.0
POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Kept:
    """The answer of the request that came first: its status and body."""

    status: int
    body: str


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to do the work of one key, until `CLAIMED` has passed since `at`."""

    pk: int
    at: datetime


class ClaimLost(Exception):
    """The work took longer than its claim holds and another request has it now: nothing of this one may be committed."""


def claim(scope: str, key: str, *, body_sha256: str) -> Claim | Kept:
    """Claim the key, or give what it was answered with; waits while another request holds it.

    Raises Conflict: `idempotency_key_reused` for another body under the same key, `secret_already_shown` where the answer bore a secret,
    `idempotency_key_in_use` where the first request has not ended within 25 seconds.
    """
    patience = time.monotonic() + WAIT_SECONDS
    while True:
        now = timezone.now()
        row = IdempotentAnswer.objects.filter(scope=scope, key=key).first()
        if row is None:
            taken = _insert(scope, key, body_sha256, now)
            if taken:
                return taken
            continue
        if row.claimed_at < now - KEPT:
            IdempotentAnswer.objects.filter(pk=row.pk, claimed_at=row.claimed_at).delete()
            continue
        if row.body_sha256 != body_sha256:
            raise Conflict(
                "idempotency_key_reused", "This Idempotency-Key was used for another request body; use a new key for a new request."
            )
        if row.finished_at is not None:
            return _kept(row)
        if row.claimed_at < now - CLAIMED:
            held = IdempotentAnswer.objects.filter(pk=row.pk, claimed_at=row.claimed_at, finished_at=None)
            if held.update(claimed_at=now):
                return Claim(row.pk, now)
            continue
        if time.monotonic() > patience:
            raise Conflict(
                "idempotency_key_in_use", "The first request under this Idempotency-Key is still being worked on; ask again in a moment."
            )
        time.sleep(POLL_SECONDS)


def keep(taken: Claim, *, status: int, body: str, bore_secret: bool) -> None:
    """Store the answer, in the transaction of the work it answers. Bodies that bear a secret are not stored. Raises `ClaimLost`."""
    held = IdempotentAnswer.objects.filter(pk=taken.pk, claimed_at=taken.at, finished_at=None)
    stored = held.update(status=status, body="" if bore_secret else body, bore_secret=bore_secret, finished_at=timezone.now())
    if not stored:
        raise ClaimLost


def release(taken: Claim) -> None:
    """Free the key: its request was refused or failed, and may be sent again."""
    IdempotentAnswer.objects.filter(pk=taken.pk, claimed_at=taken.at, finished_at=None).delete()


def forget_expired() -> int:
    """Delete what is past its 24 hours; gives how many answers that were."""
    deleted, _ = IdempotentAnswer.objects.filter(claimed_at__lt=timezone.now() - KEPT).delete()
    return deleted


def _insert(scope: str, key: str, body_sha256: str, now: datetime) -> Claim | None:
    try:
        with transaction.atomic():
            row = IdempotentAnswer.objects.create(scope=scope, key=key, body_sha256=body_sha256, claimed_at=now)
    except IntegrityError:  # a twin was faster
        return None
    return Claim(row.pk, now)


def _kept(row: IdempotentAnswer) -> Kept:
    if row.bore_secret:
        raise Conflict(
            "secret_already_shown", "The first answer under this Idempotency-Key bore a secret, which is shown once and not kept."
        )
    return Kept(row.status or 200, row.body)
