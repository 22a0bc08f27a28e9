"""Owners and admins are told once of each share of the monthly budget that is reached."""

import smtplib
from datetime import UTC, datetime

import pytest
from django.core import mail
from django.core.mail import EmailMultiAlternatives
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from billing.alerts import watch_spend
from billing.models import Allowance, SpendAlert
from billing.tasks import watch
from tests.billing.spending import batch, close, limit_month, open_, spend
from tests.factories import make_user, make_workspace
from workspaces.enums import Role
from workspaces.models import User, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def limited(workspace: Workspace, owner: User, member: User, viewer: User) -> Workspace:
    """With a monthly budget of 1,000 micro-USD, and an admin beside the other personas."""
    make_user("admin@example.org", workspace=workspace, role=Role.ADMIN)
    make_user("gone@example.org", workspace=workspace, role=Role.OWNER, is_active=False)
    limit_month(workspace, 1_000)
    return workspace


def use(workspace: Workspace, amount: int) -> None:
    """Spend and end."""
    budget = open_(workspace, cap=amount)
    spend(budget, amount)
    close(budget)


def told() -> list[tuple[int, int, int]]:
    return list(SpendAlert.objects.order_by("percent").values_list("percent", "used_microusd", "limit_microusd"))


def mails() -> list[tuple[list[str], str]]:
    """Who got what since this was last asked."""
    found = [(message.to, message.subject) for message in mail.outbox]
    mail.outbox.clear()
    return found


def to_both(subject: str) -> list[tuple[list[str], str]]:
    return [(["owner@example.org"], subject), (["admin@example.org"], subject)]


def test_share_is_told_when_it_is_reached_and_once(limited: Workspace) -> None:
    use(limited, 499)
    watch_spend()
    assert (told(), mails()) == ([], [])
    use(limited, 1)
    assert watch_spend() == 1
    assert (told(), mails()) == ([(50, 500, 1_000)], to_both("50% of the monthly budget is used: Ours"))
    assert watch_spend() == 0
    assert (told(), mails()) == ([(50, 500, 1_000)], [])


def test_shares_reached_at_once_are_one_mail(limited: Workspace) -> None:
    use(limited, 1_000)
    watch_spend()
    assert told() == [(50, 1_000, 1_000), (80, 1_000, 1_000), (100, 1_000, 1_000)]
    assert mails() == to_both("The monthly budget is used up: Ours")


def test_what_running_work_has_settled_counts_and_what_it_reserves_does_not(limited: Workspace) -> None:
    first, second = open_(limited, cap=400), open_(limited, cap=600)
    batch(first, (400, 400))
    batch(second, (600, 600))
    watch_spend()
    assert told() == []
    batch(first, settled=400, returned=400)
    batch(second, settled=100, returned=100)
    watch_spend()
    assert told() == [(50, 500, 1_000)]


def test_mail_says_it_in_text_and_html(limited: Workspace) -> None:
    Workspace.objects.update(name="R&D <x>")
    use(limited, 810)
    watch_spend()
    message = mail.outbox[0]
    assert isinstance(message, EmailMultiAlternatives)
    assert message.subject == "80% of the monthly budget is used: R&D <x>"
    assert "The workspace R&D <x> has used $0.00081 of its monthly budget of $0.001." in message.body
    assert "http://testserver/settings/billing" in message.body
    html = str(message.alternatives[0].content)  # type: ignore[attr-defined]
    assert '<strong dir="auto">R&amp;D &lt;x&gt;</strong> has used $0.00081 of its monthly budget of $0.001.' in html
    assert html.count("http://testserver/settings/billing") == 2


@pytest.mark.parametrize(
    ("limit", "used_more", "again"),
    [
        (1_200, 0, []),
        (1_200, 60, [80]),
        (1_200, 300, [80, 100]),
        (1_800, 0, []),  # 900 is the half of it, and was told
        (1_900, 60, [50]),
        (900, 0, [100]),
        (600, 0, [100]),
    ],
)
def test_limit_that_changes_tells_a_share_again_only_if_it_is_newly_reached(
    limited: Workspace, limit: int, used_more: int, again: list[int]
) -> None:
    use(limited, 500)
    watch_spend()
    use(limited, 400)
    watch_spend()
    mails()
    before = dict(SpendAlert.objects.values_list("percent", "reached_at"))
    limit_month(limited, limit)
    if used_more:
        use(limited, used_more)
    watch_spend()
    after = SpendAlert.objects.order_by("percent").values_list("percent", "reached_at", "limit_microusd")
    assert [percent for percent, at, of in after if before.get(percent) != at and of == limit] == again
    assert len(mails()) == (2 if again else 0)


def test_limit_that_is_lifted_or_nothing_tells_nothing(limited: Workspace) -> None:
    use(limited, 900)
    for limit in (None, 0):
        limit_month(limited, limit)
        watch_spend()
    assert (told(), mails()) == ([], [])


def test_other_months_and_keys_do_not_count(limited: Workspace) -> None:
    use(limited, 900)
    watch_spend(datetime(2031, 1, 1, tzinfo=UTC))
    assert told() == []
    Allowance.objects.filter(kind="workspace_budget").update(kind="key_month")
    watch_spend()
    assert told() == []


def test_mail_that_no_server_takes_is_sent_by_the_next_sweep(limited: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    use(limited, 500)
    with monkeypatch.context() as patched:
        patched.setattr(EmailMultiAlternatives, "send", lambda *_, **__: (_ for _ in ()).throw(ConnectionRefusedError()))
        assert watch_spend() == 0
    use(limited, 300)
    assert watch_spend() == 1
    assert mails() == to_both("80% of the monthly budget is used: Ours")


def test_address_that_is_refused_does_not_repeat_the_mail_to_others(limited: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    real = EmailMultiAlternatives.send

    def send(self: EmailMultiAlternatives, fail_silently: bool = False) -> int:
        if self.to == ["owner@example.org"]:
            raise smtplib.SMTPRecipientsRefused({})
        return real(self)

    monkeypatch.setattr(EmailMultiAlternatives, "send", send)
    use(limited, 500)
    watch_spend()
    watch_spend()
    assert [to for to, _ in mails()] == [["admin@example.org"]]


def test_sweep_costs_the_same_for_one_workspace_and_for_many(limited: Workspace) -> None:
    use(limited, 900)
    watch_spend()
    with CaptureQueriesContext(connection) as one:
        watch_spend()
    for number in range(5):
        other = make_workspace(f"Other {number}", credit=10_000)
        limit_month(other, 1_000)
        use(other, 900)
    watch_spend()
    with CaptureQueriesContext(connection) as many:
        watch_spend()
    assert (len(one), len(many)) == (3, 3)


def test_task_watches(limited: Workspace, settings: Settings) -> None:
    use(limited, 500)
    watch()
    assert told() == [(50, 500, 1_000)]
    assert settings.CELERY_BEAT_SCHEDULE["billing.watch_spend"]["schedule"] == 60.0
