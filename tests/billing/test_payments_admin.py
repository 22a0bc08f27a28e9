"""Staff's pages of payments: read only, but for refunds and for events that are tried again."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from billing.enums import EntryKind, EventState, RefundStatus
from billing.models import Payment, Refund, StripeEvent
from tests.billing.stripe import USD, buy, down, entries, news, tell
from tests.factories import make_user
from tests.standins.stripe import StripeServer
from workspaces.actors import Actor
from workspaces.models import User, Workspace

SignIn = Callable[[User], Client]
KEY = "3b241101-e2bb-4255-8caf-4136c566a962"
LISTS = ("payment", "refund", "dispute", "topup", "stripeevent")


@pytest.fixture
def payment(stripe: StripeServer, workspace: Workspace, actor: Actor) -> Payment:
    """20 USD of credit, bought for 21 with a card that is kept; refunded in part, and contested."""
    payment = buy(stripe, workspace, actor, save_card=True)
    stripe.refund(payment.stripe_intent_id or "", 100)
    tell(stripe, news(stripe, "charge.refunded"))
    return payment


def path(payment: Payment) -> str:
    return f"/admin/billing/payment/{payment.pk}/refund/"


def test_lists_and_rows_are_read_only(stripe: StripeServer, payment: Payment, staff: User, sign_in: SignIn) -> None:
    stripe.dispute(payment.stripe_intent_id or "")
    tell(stripe, stripe.happened[-1:])
    client = sign_in(staff)
    rows = {"payment": payment, "refund": payment.refunds.get(), "dispute": payment.disputes.get()}
    rows |= {"topup": payment.wallet.top_up, "stripeevent": StripeEvent.objects.latest("id")}  # type: ignore[dict-item]
    for name in LISTS:
        listed = client.get(f"/admin/billing/{name}/")
        assert (name, listed.status_code, len(listed.context["cl"].result_list) > 0) == (name, 200, True)
        assert client.get(f"/admin/billing/{name}/add/").status_code == 403
        change = f"/admin/billing/{name}/{rows[name].pk}/change/"
        assert (client.get(change).status_code, client.post(change, {"status": "paid"}).status_code) == (200, 403)
        assert client.post(change.replace("change", "delete"), {"post": "yes"}).status_code == 403


@pytest.mark.parametrize("wanted", ["Ours", "status__exact=paid", "{payment.public_id}", "{payment.stripe_session_id}"])
def test_payments_are_found(payment: Payment, staff: User, sign_in: SignIn, wanted: str) -> None:
    query = wanted if "=" in wanted else f"q={wanted.format(payment=payment)}"
    found = sign_in(staff).get(f"/admin/billing/payment/?{query}").context["cl"].result_list
    assert list(found) == [payment]
    assert list(sign_in(staff).get("/admin/billing/payment/?q=nobody").context["cl"].result_list) == []


def test_staff_refunds_what_is_left(stripe: StripeServer, workspace: Workspace, payment: Payment, staff: User, sign_in: SignIn) -> None:
    client = sign_in(staff)
    shown = client.get(path(payment))
    assert (shown.context["form"].initial["amount"], shown.context["title"]) == ("20.00", "Refund Ours: at most $20.00")
    for _ in range(2):  # a second click
        response = client.post(path(payment), {"amount": "5", "reason": "As they asked", "key": KEY})
        assert (response.status_code, response["Location"]) == (302, f"/admin/billing/payment/{payment.pk}/change/")
    refund = Refund.objects.latest("id")
    assert (refund.status, refund.amount_microusd, refund.actor_label) == (RefundStatus.DONE, 5 * USD, staff.email)
    assert entries(workspace, EntryKind.REFUND) == [-USD, -5 * USD]


def test_refund_that_stripe_did_not_answer_is_told_as_on_its_way(
    stripe: StripeServer, payment: Payment, staff: User, sign_in: SignIn
) -> None:
    stripe.fault = down
    response = sign_in(staff).post(path(payment), {"amount": "5", "reason": "As they asked", "key": KEY}, follow=True)
    assert "$5.00 are on their way" in response.content.decode()


@pytest.mark.parametrize("unfit", [{"amount": "20.01"}, {"amount": "x"}, {"reason": ""}, {"key": ""}], ids=str)
def test_unfit_refund_is_422(stripe: StripeServer, payment: Payment, staff: User, sign_in: SignIn, unfit: dict[str, str]) -> None:
    response = sign_in(staff).post(path(payment), {"amount": "5", "reason": "x", "key": KEY, **unfit})
    assert (response.status_code, stripe.posted("refunds")) == (422, [])


def test_staff_without_the_permission_refunds_nothing(stripe: StripeServer, payment: Payment, sign_in: SignIn) -> None:
    reader = make_user(is_staff=True)
    reader.user_permissions.add(Permission.objects.get(codename="view_payment"))
    client = sign_in(reader)
    assert client.get("/admin/billing/payment/").status_code == 200
    assert client.post(path(payment), {"amount": "5", "reason": "x", "key": KEY}).status_code == 403
    assert stripe.posted("refunds") == []


def test_owner_of_a_workspace_is_no_staff(stripe: StripeServer, payment: Payment, owner: User, sign_in: SignIn) -> None:
    response = sign_in(owner).post(path(payment), {"amount": "5", "reason": "x", "key": KEY})
    assert (response.status_code, stripe.posted("refunds")) == (302, [])


def test_failed_events_are_tried_again_and_others_are_not(stripe: StripeServer, payment: Payment, staff: User, sign_in: SignIn) -> None:
    failed, done = StripeEvent.objects.order_by("id")[:2]
    StripeEvent.objects.filter(pk=failed.pk).update(state=EventState.FAILED, tries=12)
    client = sign_in(staff)
    assert list(client.get("/admin/billing/stripeevent/?state__exact=failed").context["cl"].result_list) == [failed]
    chosen = {"action": "try_again", "_selected_action": [failed.pk, done.pk]}
    page = client.post("/admin/billing/stripeevent/", chosen, follow=True).content.decode()
    assert ("1 will be tried again." in page, "Only an event that failed" in page) == (True, True)
    failed.refresh_from_db()
    assert (failed.state, failed.tries) == (EventState.RECEIVED, 0)
    reader = make_user(is_staff=True)
    reader.user_permissions.add(Permission.objects.get(codename="view_stripeevent"))
    StripeEvent.objects.filter(pk=failed.pk).update(state=EventState.FAILED)
    sign_in(reader).post("/admin/billing/stripeevent/", chosen)
    failed.refresh_from_db()
    assert failed.state == EventState.FAILED
