"""The books are checked once a day by whoever comes first; what is found is kept, logged, mailed, and shown where staff begins."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.core import mail
from django.core.mail import EmailMultiAlternatives
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings
from structlog.testing import capture_logs

from billing.bookkeeping import check_today, last_check
from billing.models import BookCheck, Wallet
from billing.tasks import check_books
from tests.factories import make_user
from workspaces.models import User, Workspace

pytestmark = pytest.mark.django_db
NOON = datetime(2031, 3, 4, 12, tzinfo=UTC)


@pytest.fixture
def wrong(workspace: Workspace, staff: User) -> Workspace:
    """A wallet with a dollar that no entry stands for."""
    make_user("no.superuser@example.org", is_staff=True)
    make_user("left@example.org", is_superuser=True, is_active=False)
    Wallet.objects.filter(workspace=workspace).update(balance_microusd=11_000_000)
    return workspace


def test_day_is_checked_once(workspace: Workspace) -> None:
    check = check_today(NOON)
    assert check is not None
    assert (check.day, check.found, check.listing) == (NOON.date(), 0, "")
    assert check_today(NOON + timedelta(hours=11)) is None
    assert check_today(NOON + timedelta(hours=12)) is not None
    assert (BookCheck.objects.count(), mail.outbox) == (2, [])


def test_check_whose_worker_died_is_made_again(workspace: Workspace) -> None:
    BookCheck.objects.create(day=NOON.date(), started_at=NOON)
    assert check_today(NOON + timedelta(minutes=59)) is None
    assert last_check() is None
    assert check_today(NOON + timedelta(minutes=61)) is not None
    assert last_check() == BookCheck.objects.get()


def test_what_is_found_is_kept_logged_and_mailed_to_superusers(wrong: Workspace) -> None:
    with capture_logs() as logs:
        check_today(NOON)
    what = f"balance of wallet of {wrong.pk}"
    assert [entry for entry in logs if entry["log_level"] == "error"] == [
        {"event": "books.difference", "log_level": "error", "what": what, "stands": 11_000_000, "expected": 10_000_000}
    ]
    check = BookCheck.objects.get()
    assert (check.found, check.listing) == (1, f"{what}: stands at 11000000, should be 10000000 micro-USD")
    message = mail.outbox[0]
    assert isinstance(message, EmailMultiAlternatives)
    assert (len(mail.outbox), message.to, message.subject) == (1, ["staff@example.org"], "The books do not add up: 1 difference")
    line = f"Balance of wallet of {wrong.pk}: stands at $11.00, should be $10.00."
    assert line in message.body
    assert line in str(message.alternatives[0].content)  # type: ignore[attr-defined]
    assert f"http://testserver/admin/billing/bookcheck/{check.pk}/change/" in message.body


def test_mail_that_no_server_takes_keeps_the_check(wrong: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EmailMultiAlternatives, "send", lambda *_, **__: (_ for _ in ()).throw(ConnectionRefusedError()))
    check_today(NOON)
    assert BookCheck.objects.get().found == 1


def test_staff_begins_with_what_the_last_check_found(wrong: Workspace, staff: User, sign_in: Callable[[User], Client]) -> None:
    client = sign_in(staff)

    def card() -> tuple[int | None, str, bool]:
        found = next(card for card in client.get("/admin/").context["cards"] if card.title == "Books")
        assert client.get(found.href).status_code == 200
        return found.count, found.note, found.is_urgent

    assert card() == (None, "does every balance add up?", False)
    check_today(NOON)
    assert card() == (1, "difference found by the check of 4 March 2031, 12:00 UTC", True)
    Wallet.objects.filter(workspace=wrong).update(balance_microusd=10_000_000)
    check_today(NOON + timedelta(days=1))
    assert card() == (0, "differences found by the check of 5 March 2031, 12:00 UTC", True)


def test_check_costs_the_same_with_more_of_everything(workspace: Workspace, other_workspace: Workspace) -> None:
    """Nothing is looked up for each wallet."""
    with CaptureQueriesContext(connection) as two:
        check_today(NOON)
    Workspace.objects.bulk_create(Workspace(name=f"Number {number}") for number in range(30))
    Wallet.objects.bulk_create(Wallet(workspace=each) for each in Workspace.objects.filter(wallet=None))
    with CaptureQueriesContext(connection) as many:
        check_today(NOON + timedelta(days=1))
    assert len(many) == len(two)


def test_task_checks_today(workspace: Workspace, settings: Settings) -> None:
    check_books()
    assert BookCheck.objects.get().day == timezone.now().date()
    assert settings.CELERY_BEAT_SCHEDULE["billing.check_books"]["schedule"] == 3600.0
