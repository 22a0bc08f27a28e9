"""Notices at once, on PostgreSQL: one delivery, one mail, one event of a wait, however many work on them. Each with its control."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from threading import Barrier, BrokenBarrierError
from typing import Any

import pytest
from django.core import mail
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from runs.models.notices import NoticeEvent, NoticeMail, WebhookDelivery
from runs.notices import delivering, mailing, outbox
from runs.notices.actions import choose_notices
from runs.notices.delivering import deliver_due
from runs.notices.mailing import mail_due
from runs.notices.outbox import note_waiting
from tests.races import at_once
from tests.runs.noticing import add_endpoint, begin_run, end_run, tell
from tests.runs.test_notices_mail import wait
from tests.services import Worker, wait_until
from tests.standins.webhooks import Receiver
from workspaces.actors import Actor, actor_of_user
from workspaces.models import User, Workspace

pytestmark = [pytest.mark.services, pytest.mark.xdist_group("services"), pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def on_postgresql(transactional_db: None) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer at a time: nothing can race")


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    settings.ALLOW_PRIVATE_ENDPOINTS = True
    with Receiver() as found:
        yield found


def meet(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, count: int) -> None:
    """Each of the threads comes out of the function only when all have: they act on what all of them saw."""
    barrier, real = Barrier(count), getattr(module, name)

    def met(*given: Any, **named: Any) -> Any:
        found = real(*given, **named)
        with suppress(BrokenBarrierError):
            barrier.wait(10)
        return found

    monkeypatch.setattr(module, name, met)


def test_workers_at_once_send_a_delivery_once(
    receiver: Receiver, workspace: Workspace, actor: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_endpoint(workspace, receiver.url)
    delivery = tell(workspace, actor)
    meet(monkeypatch, delivering, "_due", 4)
    assert sorted(at_once(4, lambda _: delivering._work(delivering._due(timezone.now())))) == [0, 0, 0, 1]
    delivery.refresh_from_db()
    assert (delivery.state, delivery.tries, len(receiver.received)) == ("delivered", 1, 1)


def test_control_workers_that_claim_nothing_all_send(
    receiver: Receiver, workspace: Workspace, actor: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def claim(delivery_id: int, now: Any) -> Any:
        delivery = WebhookDelivery.objects.select_related("event", "endpoint").get(pk=delivery_id)
        return delivering._Claimed(delivery, delivering._parcel(delivery, now))

    add_endpoint(workspace, receiver.url)
    tell(workspace, actor)
    meet(monkeypatch, delivering, "_due", 4)
    monkeypatch.setattr(delivering, "_claim", claim)
    assert at_once(4, lambda _: delivering._work(delivering._due(timezone.now()))) == [1] * 4
    assert len(receiver.received) == 4


def test_mail_is_sent_once_however_many_send(workspace: Workspace, owner: User) -> None:
    actor = actor_of_user(owner)
    choose_notices(owner, actor=actor, ended="always", interrupted=True, waiting=True)
    end_run(workspace, actor)
    mail.outbox.clear()
    assert sorted(at_once(4, lambda _: mail_due())) == [0, 0, 0, 1]
    assert (len(mail.outbox), NoticeMail.objects.get().tries) == (1, 1)


def test_control_mail_that_nobody_claims_is_sent_by_all(workspace: Workspace, owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    class Everything:
        def filter(self, **_: Any) -> "Everything":
            return self

        def update(self, **_: Any) -> int:
            return 1

    actor = actor_of_user(owner)
    choose_notices(owner, actor=actor, ended="always", interrupted=True, waiting=True)
    end_run(workspace, actor)
    mail.outbox.clear()
    key = NoticeMail.objects.get().pk
    monkeypatch.setattr(mailing, "_due", lambda now: Everything())
    assert at_once(4, lambda _: mailing._work(key)) == [True] * 4
    assert len(mail.outbox) == 4


def test_wait_is_noted_once_however_many_sweep(workspace: Workspace, actor: Actor) -> None:
    run = begin_run(workspace, actor)
    wait(run, 400, 0, 1)
    found = at_once(4, lambda _: note_waiting(run.pk, timezone.now()))
    assert ([event is not None for event in found].count(True), NoticeEvent.objects.count()) == (1, 1)


def test_control_without_the_lock_a_wait_is_noted_by_more_than_one(
    workspace: Workspace, actor: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All look before any writes. The constraint lets one through; the lock is what keeps the others from failing."""
    run = begin_run(workspace, actor)
    wait(run, 400, 0, 1)
    from django.db.models import QuerySet

    monkeypatch.setattr(QuerySet, "select_for_update", lambda self, *_, **__: self)
    meet(monkeypatch, outbox, "new_event", 4)
    found = at_once(4, lambda _: "noted" if note_waiting(run.pk, timezone.now()) else None)
    assert sorted(map(str, found)) == ["IntegrityError"] * 3 + ["noted"]


def test_real_worker_delivers_what_lost_its_message(receiver: Receiver, workspace: Workspace, actor: Actor, celery_worker: Worker) -> None:
    """The row is due and nobody is told: the beat's sweep finds it."""
    add_endpoint(workspace, receiver.url)
    delivery = tell(workspace, actor)
    WebhookDelivery.objects.update(next_try_at=timezone.now() - timedelta(seconds=1))
    wait_until(lambda: WebhookDelivery.objects.get(pk=delivery.pk).state == "delivered")
    assert len(receiver.received) == 1
    assert deliver_due() == 0
