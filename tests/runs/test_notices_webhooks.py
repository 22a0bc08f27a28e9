"""Webhooks: what is written with a run's end, what a receiver gets, and what comes of each answer."""

import json
import socket
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone
from pytest_django import Settings

from runs import finalizing
from runs.actions import cancel_run
from runs.enums import Phase
from runs.finalizing import finalize_run
from runs.models import ResultVersion, Run
from runs.models.notices import NoticeEvent, WebhookDelivery, WebhookEndpoint
from runs.notices import delivering
from runs.notices.actions import change_endpoint, delete_endpoint, redeliver, rotate_secret, try_endpoint
from runs.notices.delivering import AT_ONCE, JITTER, LEASE, MOST_TRIES, WAITS, deliver_due
from runs.notices.mailing import mail_due
from runs.notices.receiving import is_genuine
from runs.notices.sending import MAX_EXCERPT
from runs.notices.sweeping import sweep_notices
from tests.runs.noticing import add_endpoint, begin_run, due_again, end_run, events, tell, try_once
from tests.runs.working import work
from tests.standins.http import Reply
from tests.standins.webhooks import Receiver
from workspaces.actors import Actor
from workspaces.models import AuditEntry, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _loopback_is_allowed(settings: Settings) -> None:
    settings.ALLOW_PRIVATE_ENDPOINTS = True


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as found:
        yield found


def answering(*replies: Reply) -> Callable[[Any, int], Reply | None]:
    """The n-th request gets the n-th reply, and those after them the usual answer."""
    return lambda asked, number: replies[number - 1] if number <= len(replies) else None


# ── What is written ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_body_says_how_the_run_ended(receiver: Receiver, workspace: Workspace, actor: Actor, settings: Settings) -> None:
    add_endpoint(workspace, receiver.url)
    run = end_run(workspace, actor)
    deliver_due()
    (request,) = receiver.received
    event = NoticeEvent.objects.get()
    result = ResultVersion.objects.get(run=run)
    assert request.body == event.body.encode()
    body = json.loads(request.body)
    times = [body["data"]["run"].pop(name) for name in ("created_at", "started_at", "ended_at")]
    assert [time[-1] for time in [*times, body.pop("created_at")]] == ["Z"] * 4
    assert body == {
        "id": str(event.public_id),
        "type": "run.ended",
        "workspace_id": str(workspace.public_id),
        "data": {
            "run": {
                "id": str(run.public_id),
                "name": "Nightly",
                "status": "completed",
                "report_url": f"{settings.SITE_URL}/evaluations/{run.public_id}",
                "api_url": f"{settings.SITE_URL}/v1/runs/{run.public_id}",
                "planned": 20,
                "processed": 20,
                "errors": 0,
                "unfinished": 0,
                "spend_microusd": "0",
                "waiting_since": None,
                "interruption": None,
                "result": {"version": 1, "sha256": result.sha256},
            }
        },
    }


def test_cancelled_run_is_interrupted_and_says_what_is_left(receiver: Receiver, workspace: Workspace, actor: Actor) -> None:
    add_endpoint(workspace, receiver.url)
    run = begin_run(workspace, actor)
    cancel_run(run, actor=actor)
    run = work(run)
    assert (run.status, events(run)) == ("cancelled", ["run.interrupted"])
    told = NoticeEvent.objects.get().document["data"]["run"]
    assert [told[name] for name in ("status", "unfinished", "interruption")] == ["cancelled", 20, {"reason": "cancelled", "limit": None}]


def test_endpoint_is_told_only_of_what_it_chose_while_it_is_on(workspace: Workspace, other_workspace: Workspace, actor: Actor) -> None:
    ended, _ = add_endpoint(workspace, "http://127.0.0.1:9/a", "run.ended")
    add_endpoint(workspace, "http://127.0.0.1:9/b", "run.interrupted", "run.waiting")
    off, _ = add_endpoint(workspace, "http://127.0.0.1:9/c")
    change_endpoint(off, actor=actor, enabled=False)
    add_endpoint(other_workspace, "http://127.0.0.1:9/d")
    end_run(workspace, actor)
    assert [delivery.endpoint for delivery in WebhookDelivery.objects.all()] == [ended]


def test_run_that_does_not_end_tells_nothing(workspace: Workspace, actor: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows are part of the run's end: where that is undone, so are they."""
    add_endpoint(workspace, "http://127.0.0.1:9/")

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("the books are closed")

    monkeypatch.setattr(finalizing, "close_budget", broken)
    run = begin_run(workspace, actor)
    with pytest.raises(RuntimeError):
        work(run)
    assert (NoticeEvent.objects.count(), WebhookDelivery.objects.count()) == (0, 0)
    monkeypatch.undo()
    Run.objects.filter(pk=run.pk).update(finalizing_until=None)
    finalize_run(run.pk)
    assert (finalize_run(run.pk), events(run), WebhookDelivery.objects.count()) == (None, ["run.ended"], 1)


# ── Signatures ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_signature_is_that_of_the_very_body(receiver: Receiver, workspace: Workspace, actor: Actor) -> None:
    _, secret = add_endpoint(workspace, receiver.url)
    delivery = tell(workspace, actor)
    deliver_due()
    (request,) = receiver.received
    assert (request.method, request.path, request.headers["content-type"]) == ("POST", "/hook", "application/json")
    assert request.headers["webhook-id"] == str(delivery.public_id)
    assert is_genuine(secret, request.headers, request.body)
    wrong = {
        "another body": (secret, request.headers, request.body + b" "),
        "another secret": (secret[:-4] + "AAA=", request.headers, request.body),
        "another message": (secret, {**request.headers, "webhook-id": "x"}, request.body),
        "another time": (
            secret,
            {**request.headers, "webhook-timestamp": str(int(request.headers["webhook-timestamp"]) + 1)},
            request.body,
        ),
        "no time": (secret, {**request.headers, "webhook-timestamp": "soon"}, request.body),
        "no signature": (secret, {name: value for name, value in request.headers.items() if name != "webhook-signature"}, request.body),
    }
    assert {name: is_genuine(*each) for name, each in wrong.items()} == dict.fromkeys(wrong, False)


def test_old_message_is_not_genuine(receiver: Receiver, workspace: Workspace, actor: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    _, secret = add_endpoint(workspace, receiver.url)
    tell(workspace, actor)
    deliver_due()
    (request,) = receiver.received
    sent = int(request.headers["webhook-timestamp"])
    found = []
    for later in (299, 301, -301):
        monkeypatch.setattr("runs.notices.receiving.time.time", lambda later=later: sent + later)
        found.append(is_genuine(secret, request.headers, request.body))
    assert found == [True, False, False]


def test_both_secrets_sign_until_the_overlap_ends(receiver: Receiver, workspace: Workspace, actor: Actor) -> None:
    endpoint, old = add_endpoint(workspace, receiver.url)
    _, new = rotate_secret(endpoint, actor=actor, overlap=timedelta(days=1))
    tell(workspace, actor)
    deliver_due()
    WebhookEndpoint.objects.update(old_secret_until=timezone.now())
    tell(workspace, actor)
    deliver_due()
    sweep_notices()
    endpoint.refresh_from_db()
    valid = [[is_genuine(secret, request.headers, request.body) for secret in (old, new)] for request in receiver.received]
    assert (valid, endpoint.old_secret) == ([[True, True], [False, True]], "")
    _, newest = rotate_secret(endpoint, actor=actor, overlap=timedelta(0))
    tell(workspace, actor)
    deliver_due()
    last = receiver.received[-1]
    assert [is_genuine(secret, last.headers, last.body) for secret in (old, new, newest)] == [False, False, True]
    assert len({old, new, newest}) == 3


# ── Tries ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_accepted_is_not_sent_again(receiver: Receiver, workspace: Workspace, actor: Actor) -> None:
    receiver.fault = answering(Reply(204))
    endpoint, _ = add_endpoint(workspace, receiver.url)
    delivery = try_once(tell(workspace, actor))
    due_again()
    assert deliver_due() == 0
    endpoint.refresh_from_db()
    assert (delivery.state, delivery.tries, delivery.last_status, delivery.last_error) == ("delivered", 1, 204, "")
    assert (len(receiver.received), endpoint.failing_since, endpoint.last_delivered_at is not None) == (1, None, True)


def test_error_time_out_and_dropped_connection_are_tried_again_later(
    receiver: Receiver, workspace: Workspace, actor: Actor, settings: Settings
) -> None:
    settings.WEBHOOK_TIMEOUT_SECONDS = 0.3
    receiver.fault = answering(Reply(500, b"broken"), Reply(delay=5), Reply(drop=True), Reply(raw=b"nonsense\r\n\r\n"))
    add_endpoint(workspace, receiver.url)
    delivery = tell(workspace, actor)
    seen = []
    for number, wait in enumerate(WAITS[:4]):
        before = timezone.now()
        delivery = try_once(delivery)
        seen.append((delivery.state, delivery.tries, delivery.last_status, delivery.last_error))
        least, most = before + wait, timezone.now() + wait * (1 + JITTER)
        assert least <= delivery.next_try_at <= most, number
    assert seen == [
        ("pending", 1, 500, "It answered 500."),
        ("pending", 2, None, "No answer within 0.3 seconds."),
        ("pending", 3, None, "It closed the connection without an answer."),
        ("pending", 4, None, "It does not speak HTTP."),
    ]
    delivery = try_once(delivery)
    assert (delivery.state, [tried["status"] for tried in delivery.history]) == ("delivered", [500, None, None, None, 200])
    assert len({request.headers["webhook-id"] for request in receiver.received}) == 1
    assert len({request.body for request in receiver.received}) == 1


def test_not_before_its_time(receiver: Receiver, workspace: Workspace, actor: Actor) -> None:
    receiver.fault = answering(Reply(500))
    add_endpoint(workspace, receiver.url)
    try_once(tell(workspace, actor))
    assert (deliver_due(), len(receiver.received)) == (0, 1)


def test_eight_tries_in_a_day_and_then_it_failed(receiver: Receiver, workspace: Workspace, actor: Actor) -> None:
    receiver.fault = lambda asked, number: Reply(503)
    endpoint, _ = add_endpoint(workspace, receiver.url)
    delivery = tell(workspace, actor)
    for _ in range(MOST_TRIES):
        delivery = try_once(delivery)
    due_again()
    deliver_due()
    endpoint.refresh_from_db()
    assert (delivery.state, delivery.tries, len(receiver.received)) == ("failed", 8, 8)
    assert (endpoint.is_enabled, endpoint.failing_since is not None) == (True, True)
    assert timedelta(hours=22) < sum(WAITS, timedelta()) < timedelta(hours=26)


def test_nobody_there_is_an_error_and_not_an_exception(workspace: Workspace, actor: Actor) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        add_endpoint(workspace, f"http://127.0.0.1:{free.getsockname()[1]}/")
    delivery = try_once(tell(workspace, actor))
    assert (delivery.state, delivery.last_status, delivery.last_error) == ("pending", None, "It could not be reached.")


def test_redirect_is_not_followed(receiver: Receiver, workspace: Workspace, actor: Actor) -> None:
    receiver.fault = answering(Reply(302, headers={"Location": f"{receiver.url}/elsewhere"}))
    add_endpoint(workspace, receiver.url)
    delivery = try_once(tell(workspace, actor))
    assert [request.path for request in receiver.received] == ["/hook"]
    assert (delivery.state, delivery.last_error) == ("pending", "It answered 302, a redirect, which is not followed.")


def test_huge_answer_is_cut_and_what_is_secret_in_it_hidden(receiver: Receiver, workspace: Workspace, actor: Actor) -> None:
    _, secret = add_endpoint(workspace, receiver.url)
    told = f"key {secret} and sk-aaaaaaaaaaaaaaaaaaaaaaaa\0 ".encode() + b"x" * 5_000_000
    receiver.fault = answering(Reply(500, told, {"Content-Type": "text/plain"}))
    delivery = try_once(tell(workspace, actor))
    assert delivery.last_excerpt == ("key [redacted] and [redacted]\N{REPLACEMENT CHARACTER} " + "x" * 5000)[:MAX_EXCERPT]


def test_answer_whose_body_never_ends_was_accepted(receiver: Receiver, workspace: Workspace, actor: Actor, settings: Settings) -> None:
    settings.WEBHOOK_TIMEOUT_SECONDS = 1
    receiver.fault = answering(Reply(200, b"x" * 100, cut=10))
    add_endpoint(workspace, receiver.url)
    assert try_once(tell(workspace, actor)).state == "delivered"


def test_endpoint_that_hangs_does_not_keep_the_others(
    receiver: Receiver, workspace: Workspace, actor: Actor, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a batch it has a few places, however much it is still to be told."""
    settings.WEBHOOK_TIMEOUT_SECONDS = 0.5
    monkeypatch.setattr(delivering, "TURN_SECONDS", 0)
    with Receiver(lambda asked, number: Reply(delay=30)) as slow:
        add_endpoint(workspace, slow.url)
        for _ in range(AT_ONCE + 2):
            tell(workspace, actor)
        good, _ = add_endpoint(workspace, receiver.url)
        end_run(workspace, actor)
        assert (deliver_due(), len(slow.received)) == (AT_ONCE + 1, AT_ONCE)
    assert list(WebhookDelivery.objects.filter(state="delivered").values_list("endpoint", flat=True)) == [good.pk]


# ── The guard ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "[::ffff:127.0.0.1]", "localhost"])
def test_private_address_is_not_called_where_the_guard_is_on(
    host: str, receiver: Receiver, workspace: Workspace, actor: Actor, settings: Settings
) -> None:
    add_endpoint(workspace, receiver.url.replace("127.0.0.1", host).replace("http:", "https:"))
    delivery = tell(workspace, actor)
    settings.ALLOW_PRIVATE_ENDPOINTS = False
    delivery = try_once(delivery)
    assert (delivery.last_status, delivery.last_error) == (None, "The address is private or local.")
    assert receiver.received == []


def test_name_that_leads_to_a_private_address_is_not_called(
    receiver: Receiver, workspace: Workspace, actor: Actor, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_endpoint(workspace, f"https://hooks.example.org:{receiver.ports[0]}/hook")
    delivery = tell(workspace, actor)
    settings.ALLOW_PRIVATE_ENDPOINTS = False
    real = socket.getaddrinfo

    def lying(host: Any, *rest: Any, **more: Any) -> Any:
        return real("127.0.0.1" if host == "hooks.example.org" else host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", lying)
    delivery = try_once(delivery)
    assert (delivery.last_error, receiver.received) == ("Its name leads to a private or local address.", [])


def test_plain_http_is_not_called_where_the_guard_is_on(workspace: Workspace, actor: Actor, settings: Settings) -> None:
    add_endpoint(workspace, "http://hooks.example.org/")
    delivery = tell(workspace, actor)
    settings.ALLOW_PRIVATE_ENDPOINTS = False
    assert try_once(delivery).last_error == "The address is not https."


# ── Turned off ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_gone_turns_the_endpoint_off_and_tells_its_admins(receiver: Receiver, workspace: Workspace, actor: Actor) -> None:
    receiver.fault = answering(Reply(410))
    endpoint, _ = add_endpoint(workspace, receiver.url)
    first, second = tell(workspace, actor), tell(workspace, actor)
    WebhookDelivery.objects.filter(pk=second.pk).update(next_try_at=timezone.now() + timedelta(hours=1))
    deliver_due()
    first.refresh_from_db()
    second.refresh_from_db()
    endpoint.refresh_from_db()
    assert (first.state, first.last_error, second.state, second.last_error) == (
        "failed", "It answered 410.", "failed", "The endpoint was turned off."
    )  # fmt: skip
    assert (endpoint.is_enabled, endpoint.off_reason) == (False, "gone")
    mail.outbox.clear()
    mail_due()
    mail_due()
    assert [(sent.to, sent.subject) for sent in mail.outbox] == [(["owner@example.org"], "A webhook is turned off: 127.0.0.1")]
    assert AuditEntry.objects.filter(action="webhook_endpoint.turn_off", actor_kind="system").count() == 1
    end_run(workspace, actor)
    assert WebhookDelivery.objects.count() == 2


def test_endpoint_that_fails_for_days_is_turned_off(receiver: Receiver, workspace: Workspace, actor: Actor, settings: Settings) -> None:
    receiver.fault = lambda asked, number: Reply(500)
    endpoint, _ = add_endpoint(workspace, receiver.url)
    delivery = tell(workspace, actor)
    long_ago = timezone.now() - timedelta(days=settings.WEBHOOK_OFF_AFTER_DAYS)
    states = []
    for _ in range(MOST_TRIES):
        WebhookEndpoint.objects.update(failing_since=long_ago)
        try_once(delivery)
        endpoint.refresh_from_db()
        states.append(endpoint.is_enabled)
    assert (states, endpoint.off_reason) == ([True] * 7 + [False], "failing")


def test_endpoint_that_accepted_something_since_stays_on(
    receiver: Receiver, workspace: Workspace, actor: Actor, settings: Settings
) -> None:
    receiver.fault = answering(Reply(500))
    endpoint, _ = add_endpoint(workspace, receiver.url)
    delivery = try_once(tell(workspace, actor))
    WebhookEndpoint.objects.update(failing_since=timezone.now() - timedelta(days=settings.WEBHOOK_OFF_AFTER_DAYS))
    try_once(delivery)
    endpoint.refresh_from_db()
    assert (endpoint.failing_since, endpoint.is_enabled) == (None, True)


def test_another_address_begins_without_the_failures_of_the_old(workspace: Workspace, actor: Actor) -> None:
    endpoint, _ = add_endpoint(workspace, "http://127.0.0.1:9/")
    WebhookEndpoint.objects.update(failing_since=timezone.now())
    found = [
        change_endpoint(endpoint, actor=actor, description="Ours").failing_since is None,
        change_endpoint(endpoint, actor=actor, url="http://127.0.0.1:10/").failing_since is None,
    ]
    assert found == [False, True]


# ── What may be lost ────────────────────────────────────────────────────────────────────────────────────────────────


def test_lost_message_is_found_by_the_sweep(workspace: Workspace, actor: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    monkeypatch.setattr("runs.notices.sweeping.enqueue", lambda name, **_: sent.append(name))
    add_endpoint(workspace, "http://127.0.0.1:9/")
    sweep_notices()
    assert sent == []
    tell(workspace, actor)
    sweep_notices()
    assert sent == ["runs.deliver_webhooks"]


def test_sender_that_died_is_followed_by_another(receiver: Receiver, workspace: Workspace, actor: Actor) -> None:
    add_endpoint(workspace, receiver.url)
    delivery = tell(workspace, actor)
    WebhookDelivery.objects.update(tries=1, next_try_at=timezone.now() + LEASE)  # claimed, and never put down
    assert (deliver_due(), len(receiver.received)) == (0, 0)
    delivery = try_once(delivery)
    assert (delivery.state, delivery.tries, len(receiver.received)) == ("delivered", 2, 1)


def test_what_a_late_sender_found_changes_nothing(
    receiver: Receiver, workspace: Workspace, actor: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The delivery was claimed anew while the first sender was away, and the newer claim writes what came of it."""
    add_endpoint(workspace, receiver.url)
    delivery = tell(workspace, actor)
    real = delivering.send_all

    async def overtaken(parcels: Any) -> Any:
        outcomes = await real(parcels)
        await WebhookDelivery.objects.aupdate(tries=2)
        return outcomes

    monkeypatch.setattr(delivering, "send_all", overtaken)
    deliver_due()
    delivery.refresh_from_db()
    assert (delivery.state, delivery.tries, delivery.last_status, len(receiver.received)) == ("pending", 2, None, 1)


def test_old_events_are_forgotten(workspace: Workspace, actor: Actor, settings: Settings) -> None:
    add_endpoint(workspace, "http://127.0.0.1:9/")
    tell(workspace, actor)
    NoticeEvent.objects.update(created_at=timezone.now() - timedelta(days=settings.NOTICES_KEPT_DAYS, seconds=1))
    tell(workspace, actor)
    sweep_notices()
    assert (NoticeEvent.objects.count(), WebhookDelivery.objects.count(), Run.objects.filter(phase=Phase.DONE).count()) == (1, 1, 2)


def test_endpoint_that_is_deleted_meanwhile_hurts_nobody(receiver: Receiver, workspace: Workspace, actor: Actor) -> None:
    endpoint, _ = add_endpoint(workspace, receiver.url)
    tell(workspace, actor)
    delete_endpoint(endpoint, actor=actor)
    assert (deliver_due(), WebhookDelivery.objects.count(), NoticeEvent.objects.count()) == (0, 0, 1)


# ── Tests and repeats ───────────────────────────────────────────────────────────────────────────────────────────────


def test_test_is_sent_once_and_waited_for(receiver: Receiver, workspace: Workspace, actor: Actor) -> None:
    receiver.fault = answering(Reply(500))
    endpoint, secret = add_endpoint(workspace, receiver.url)
    failed, accepted = try_endpoint(endpoint, actor=actor), try_endpoint(endpoint, actor=actor)
    assert [(each.state, each.tries, each.last_status) for each in (failed, accepted)] == [("failed", 1, 500), ("delivered", 1, 200)]
    request = receiver.received[-1]
    assert is_genuine(secret, request.headers, request.body)
    body = json.loads(request.body)
    assert (body["type"], body["data"]) == ("webhook.test", {"endpoint_id": str(endpoint.public_id)})


def test_repeat_keeps_its_id_and_has_all_its_tries(receiver: Receiver, workspace: Workspace, actor: Actor) -> None:
    receiver.fault = lambda asked, number: Reply(500) if number <= MOST_TRIES + 1 else None
    add_endpoint(workspace, receiver.url)
    delivery = tell(workspace, actor)
    for _ in range(MOST_TRIES):
        delivery = try_once(delivery)
    assert delivery.state == "failed"
    redeliver(delivery, actor=actor)
    delivery = try_once(delivery)
    assert (delivery.state, delivery.tries) == ("pending", MOST_TRIES + 1)
    delivery = try_once(delivery)
    assert (delivery.state, delivery.tries, len(delivery.history)) == ("delivered", MOST_TRIES + 2, MOST_TRIES + 2)
    assert {request.headers["webhook-id"] for request in receiver.received} == {str(delivery.public_id)}
