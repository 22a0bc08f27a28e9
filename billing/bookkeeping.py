"""The daily check of the books: what it found is kept, logged, and mailed to staff.

A day (UTC) is claimed by its row, so that of several workers one checks. Beat asks every hour: a day whose worker died is claimed again.
"""

from datetime import datetime, timedelta
from smtplib import SMTPException

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from billing.checking import Difference, ledger_differences
from billing.models import BookCheck
from common.mail import send_each
from workspaces.models import User

log = structlog.get_logger(__name__)

CLAIM = timedelta(hours=1)
"""After so long a check that has not ended is taken for dead."""
MOST_LISTED = 100


def check_today(now: datetime | None = None) -> BookCheck | None:
    """Check the books unless that was done today, or is being done. Returns the check where it was made now."""
    check = _claim(now or timezone.now())
    if check is None:
        return None
    differences = ledger_differences()
    check.ended_at, check.found = timezone.now(), len(differences)
    check.listing = "\n".join(map(str, differences[:MOST_LISTED]))
    check.save(update_fields=["ended_at", "found", "listing"])
    for difference in differences[:MOST_LISTED]:
        log.error("books.difference", what=difference.what, stands=difference.stands, expected=difference.expected)
    log.info("books.checked", found=check.found, seconds=round((check.ended_at - check.started_at).total_seconds(), 2))
    if differences:
        _tell(check, differences)
    return check


def last_check() -> BookCheck | None:
    """The newest check that has ended."""
    return BookCheck.objects.exclude(ended_at=None).first()


def _claim(now: datetime) -> BookCheck | None:
    try:
        with transaction.atomic():
            return BookCheck.objects.create(day=now.date(), started_at=now)
    except IntegrityError:
        pass
    dead = BookCheck.objects.filter(day=now.date(), ended_at=None, started_at__lt=now - CLAIM)
    return BookCheck.objects.get(day=now.date()) if dead.update(started_at=now) else None


def _tell(check: BookCheck, differences: list[Difference]) -> None:
    """Mail everybody who may do everything. The check's row and the log stand, also where no mail server takes it."""
    context = {
        "count": len(differences),
        "differences": differences[:10],
        "checked_at": check.started_at,
        "href": settings.SITE_URL + reverse("admin:billing_bookcheck_change", args=[check.pk]),
    }
    people = User.objects.filter(is_superuser=True, is_active=True).order_by("pk").values_list("email", flat=True)
    try:
        send_each("billing/email/books_differ", people, context)
    except (SMTPException, OSError):
        log.error("books.not_mailed", day=str(check.day))
