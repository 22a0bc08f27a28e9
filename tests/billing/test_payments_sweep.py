"""What is done each minute, so that no lost webhook, message or worker costs anybody money."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from celery import current_app
from django.conf import settings as site
from django.utils import timezone

from billing.enums import EventState, PaymentStatus
from billing.models import Payment, StripeEvent
from billing.payments.sweeping import sweep_payments
from billing.queries import entries_for
from common.errors import Refused
from tests.billing.stripe import USD, begin, down, entries, lost, post
from tests.standins.stripe import StripeServer
from workspaces.actors import Actor
from workspaces.models import Workspace


def after(minutes: float) -> datetime:
    return timezone.now() + timedelta(minutes=minutes)


def test_lost_webhooks_are_made_up_for_after_ten_minutes(stripe: StripeServer, workspace: Workspace, actor: Actor) -> None:
    payment = begin(workspace, actor)
    stripe.pay(payment.stripe_session_id or "")
    sweep_payments(after(9))
    assert entries(workspace) == []
    sweep_payments(after(11))
    payment.refresh_from_db()
    assert (payment.status, entries(workspace)) == (PaymentStatus.PAID, [20 * USD])


def test_open_payment_is_asked_about_every_ten_minutes_only(stripe: StripeServer, workspace: Workspace, actor: Actor) -> None:
    begin(workspace, actor)
    before = len(stripe.asked)
    sweep_payments(after(11))
    asked = len(stripe.asked)
    sweep_payments(after(9))
    assert (asked - before, len(stripe.asked) - asked) == (1, 0)


def test_stored_event_whose_message_was_lost_is_worked(stripe: StripeServer, workspace: Workspace, actor: Actor) -> None:
    payment = begin(workspace, actor)
    stripe.pay(payment.stripe_session_id or "")
    post(stripe, stripe.happened[-1])
    sweep_payments(after(0))
    assert (StripeEvent.objects.get().state, entries(workspace)) == (EventState.PROCESSED, [20 * USD])


def test_page_that_nobody_paid_ends(stripe: StripeServer, workspace: Workspace, actor: Actor) -> None:
    payment = begin(workspace, actor)
    sweep_payments(after(129))
    payment.refresh_from_db()
    assert (payment.status, stripe.all("checkout.session")[0]["status"]) == (PaymentStatus.OPEN, "open")
    sweep_payments(after(141))
    payment.refresh_from_db()
    assert (payment.status, stripe.all("checkout.session")[0]["status"]) == (PaymentStatus.EXPIRED, "expired")


def test_purchase_that_stripe_never_answered_ends_and_is_credited_should_it_be_paid(
    stripe: StripeServer, workspace: Workspace, actor: Actor
) -> None:
    lost(stripe, "POST", "/v1/checkout/sessions")
    with pytest.raises(Refused):
        begin(workspace, actor)
    stripe.fault = None
    sweep_payments(after(11))
    assert Payment.objects.get().status == PaymentStatus.EXPIRED
    stripe.pay(stripe.all("checkout.session")[0]["id"])
    post(stripe, stripe.happened[-1])
    sweep_payments(after(12))
    assert (Payment.objects.get().status, entries(workspace)) == (PaymentStatus.PAID, [20 * USD])


def test_stripe_that_is_down_costs_one_question_and_ends_nothing(stripe: StripeServer, workspace: Workspace, actor: Actor) -> None:
    for _ in range(3):
        begin(workspace, actor)
    stripe.fault, before = down, len(stripe.asked)
    sweep_payments(after(200))
    assert (len(stripe.asked) - before, set(Payment.objects.values_list("status", flat=True))) == (2, {PaymentStatus.OPEN})


def test_without_secrets_nothing_is_asked(stripe: StripeServer, workspace: Workspace, actor: Actor, settings: Any) -> None:
    begin(workspace, actor)
    settings.STRIPE_SECRET_KEY, before = "", len(stripe.asked)
    sweep_payments(after(200))
    assert (len(stripe.asked) - before, entries_for(workspace).count()) == (0, 1)


@pytest.mark.django_db
def test_tasks_are_known_and_the_sweep_is_due_each_minute() -> None:
    current_app.loader.import_default_modules()
    names = {"billing.work_event", "billing.sweep_payments", "billing.forget_card", "billing.tell_top_up_off"}
    assert names <= set(current_app.tasks)
    assert site.CELERY_BEAT_SCHEDULE["billing.sweep_payments"]["schedule"] == 60
