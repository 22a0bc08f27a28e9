"""Settings → Notices: one's own choices, and the workspace's webhooks."""

import re
from collections.abc import Callable, Iterator

import pytest
from django.test import Client
from pytest_django import Settings

from runs.models.notices import NoticeChoice, WebhookDelivery, WebhookEndpoint
from runs.notices.delivering import deliver_due
from runs.notices.queries import choice_of
from runs.notices.receiving import is_genuine
from tests.factories import make_user
from tests.paging import HTMX
from tests.runs.noticing import add_endpoint, tell
from tests.standins.http import Reply
from tests.standins.webhooks import Receiver
from workspaces.actors import Actor
from workspaces.enums import Role
from workspaces.models import AuditEntry, User, Workspace

pytestmark = pytest.mark.django_db
SignIn = Callable[[User], Client]
PATH = "/settings/notices"
HOOK = "https://hooks.example.org/t/secret-path"


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    settings.ALLOW_PRIVATE_ENDPOINTS = True
    with Receiver() as found:
        yield found


def form(workspace: Workspace, **changed: object) -> dict[str, object]:
    return {"workspace": str(workspace.public_id), "url": HOOK, "description": "Our chat", "events": ["run.waiting", "run.ended"]} | changed


def texts(client: Client, path: str) -> list[str]:
    """The messages that the next page shows."""
    return [str(message) for message in client.get(path).context["messages"]]


# ── One's own mail ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_defaults_are_shown_and_nothing_is_stored_by_looking(viewer: User, sign_in: SignIn) -> None:
    shown = sign_in(viewer).get(PATH).context["form"].initial
    assert (shown, NoticeChoice.objects.count()) == ({"ended": "long", "interrupted": True, "waiting": True}, 0)


def test_choice_is_saved_for_the_person_alone(viewer: User, member: User, sign_in: SignIn) -> None:
    client = sign_in(viewer)
    response = client.post(PATH, {"ended": "never", "waiting": "on"})
    assert (response.status_code, response["Location"]) == (302, PATH)
    client.post(PATH, {"ended": "always", "waiting": "on"})
    chosen = NoticeChoice.objects.get(user=viewer)
    assert (chosen.ended, chosen.interrupted, chosen.waiting) == ("always", False, True)
    assert choice_of(member).pk is None


def test_choice_that_is_none_is_refused(viewer: User, sign_in: SignIn) -> None:
    response = sign_in(viewer).post(PATH, {"ended": "sometimes"})
    assert (response.status_code, list(response.context["form"].errors), NoticeChoice.objects.count()) == (422, ["ended"], 0)


def test_person_in_no_workspace_has_the_choice_too(db: None, sign_in: SignIn) -> None:
    response = sign_in(make_user()).get(PATH)
    assert (response.status_code, response.context["workspace"]) == (200, None)


# ── Webhooks ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_only_admins_see_webhooks(workspace: Workspace, viewer: User, member: User, owner: User, sign_in: SignIn) -> None:
    add_endpoint(workspace, HOOK)
    admin = make_user(workspace=workspace, role=Role.ADMIN)
    seen = {person: "hooks.example.org" in sign_in(person).get(PATH).content.decode() for person in (viewer, member, admin, owner)}
    assert seen == {viewer: False, member: False, admin: True, owner: True}


def test_secret_is_shown_once_and_kept_encrypted(workspace: Workspace, owner: User, sign_in: SignIn) -> None:
    client = sign_in(owner)
    response = client.post(f"{PATH}/webhooks/new", form(workspace))
    endpoint = WebhookEndpoint.objects.get()
    secret = response.context["secret"]
    assert (response.status_code, re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=", secret) is not None) == (201, True)
    assert "no-store" in response["Cache-Control"]
    assert (endpoint.workspace, endpoint.url, endpoint.description, endpoint.events) == (
        workspace, HOOK, "Our chat", ["run.ended", "run.waiting"]
    )  # fmt: skip
    pages = [client.get(path).content.decode() for path in (PATH, f"{PATH}/webhooks/{endpoint.public_id}")]
    assert [secret in text for text in [response.content.decode(), *pages, endpoint.secret]] == [True, False, False, False]
    (entry,) = AuditEntry.objects.filter(action="webhook_endpoint.create", workspace=workspace)
    assert entry.data == {"name": "hooks.example.org", "events": ["run.ended", "run.waiting"]}


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"url": "http://hooks.example.org/"}, "url"),
        ({"url": "https://10.0.0.1/"}, "url"),
        ({"url": "https://localhost/"}, "url"),
        ({"url": "https://a:b@hooks.example.org/"}, "url"),
        ({"url": "ftp://hooks.example.org/"}, "url"),
        ({"url": ""}, "url"),
        ({"events": []}, "events"),
        ({"events": ["webhook.test"]}, "events"),
        ({"description": "x" * 201}, "description"),
    ],
)
def test_what_cannot_be_is_refused_at_its_field(
    workspace: Workspace, owner: User, sign_in: SignIn, changed: dict[str, object], field: str
) -> None:
    response = sign_in(owner).post(f"{PATH}/webhooks/new", form(workspace, **changed))
    assert (response.status_code, list(response.context["form"].errors), WebhookEndpoint.objects.count()) == (422, [field], 0)


def test_there_are_at_most_ten(workspace: Workspace, owner: User, sign_in: SignIn) -> None:
    for _ in range(10):
        add_endpoint(workspace, HOOK)
    response = sign_in(owner).post(f"{PATH}/webhooks/new", form(workspace))
    assert (response.status_code, WebhookEndpoint.objects.count()) == (422, 10)


def test_change_is_saved_and_turning_off_ends_what_is_pending(workspace: Workspace, owner: User, actor: Actor, sign_in: SignIn) -> None:
    endpoint, _ = add_endpoint(workspace, HOOK)
    delivery = tell(workspace, actor)
    client, path = sign_in(owner), f"{PATH}/webhooks/{endpoint.public_id}"
    response = client.post(path, {"url": "https://other.example.org/", "description": "", "events": ["run.ended"]})
    assert (response.status_code, response["Location"]) == (302, path)
    endpoint.refresh_from_db()
    delivery.refresh_from_db()
    assert (endpoint.url, endpoint.events, endpoint.is_enabled, endpoint.off_reason) == (
        "https://other.example.org/", ["run.ended"], False, "person"
    )  # fmt: skip
    assert (delivery.state, delivery.last_error) == ("failed", "The endpoint was turned off.")
    client.post(path, {"url": endpoint.url, "description": "", "events": ["run.ended"], "enabled": "on"})
    endpoint.refresh_from_db()
    assert (endpoint.is_enabled, endpoint.off_reason) == (True, "")
    data = [entry.data for entry in AuditEntry.objects.filter(action="webhook_endpoint.change").order_by("id")]
    assert data == [
        {"name": "other.example.org", "url": "other.example.org", "events": ["run.ended"], "enabled": False},
        {"name": "other.example.org", "enabled": True},
    ]
    refused = client.post(path, {"url": "https://10.0.0.1/", "events": ["run.ended"], "enabled": "on"})
    assert (refused.status_code, list(refused.context["form"].errors)) == (422, ["url"])


def test_another_secret_is_shown_and_both_work(
    workspace: Workspace, owner: User, actor: Actor, sign_in: SignIn, receiver: Receiver
) -> None:
    endpoint, old = add_endpoint(workspace, receiver.url)
    client = sign_in(owner)
    response = client.post(f"{PATH}/webhooks/{endpoint.public_id}/secret", {"overlap": "24"})
    assert response.status_code == 201
    tell(workspace, actor)
    deliver_due()
    (request,) = receiver.received
    assert [is_genuine(secret, request.headers, request.body) for secret in (old, response.context["secret"])] == [True, True]
    refused = client.post(f"{PATH}/webhooks/{endpoint.public_id}/secret", {"overlap": "9999"})
    assert (refused.status_code, list(refused.context["rotation"].errors)) == (422, ["overlap"])


def test_test_says_what_came_of_it(workspace: Workspace, owner: User, sign_in: SignIn, receiver: Receiver) -> None:
    endpoint, _ = add_endpoint(workspace, receiver.url)
    client, path = sign_in(owner), f"{PATH}/webhooks/{endpoint.public_id}"
    receiver.fault = lambda asked, number: Reply(500) if number == 1 else None
    said = []
    for _ in range(6):
        assert client.post(f"{path}/test")["Location"] == path
        said += texts(client, path)
    assert (said[0], said[5]) == ("The test was not accepted. It answered 500.", "5 tests a minute are enough. Wait a moment.")
    assert [text.partition(",")[0] for text in said[1:5]] == ["The test was accepted with 200"] * 4
    assert len(receiver.received) == 5


def test_deletion_asks_and_erases(workspace: Workspace, owner: User, actor: Actor, sign_in: SignIn) -> None:
    endpoint, _ = add_endpoint(workspace, HOOK)
    tell(workspace, actor)
    client, path = sign_in(owner), f"{PATH}/webhooks/{endpoint.public_id}/deletion"
    assert client.get(path).status_code == 200
    assert client.post(path)["Location"] == PATH
    assert (WebhookEndpoint.objects.count(), WebhookDelivery.objects.count()) == (0, 0)
    assert AuditEntry.objects.filter(action="webhook_endpoint.delete").count() == 1


# ── Deliveries ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_deliveries_are_listed_and_filtered(
    workspace: Workspace, other_workspace: Workspace, owner: User, actor: Actor, stranger: User, sign_in: SignIn, receiver: Receiver
) -> None:
    accepting, _ = add_endpoint(workspace, receiver.url)
    add_endpoint(other_workspace, receiver.url)
    tell(workspace, actor)
    deliver_due()
    add_endpoint(workspace, HOOK)
    waiting = tell(workspace, actor)
    client = sign_in(owner)

    def listed(query: str = "", **headers: str) -> list[WebhookDelivery]:
        return [row["delivery"] for row in client.get(f"{PATH}/deliveries{query}", headers=headers).context["rows"]]

    every = list(WebhookDelivery.objects.order_by("-id"))
    assert (listed(), listed("?state=delivered"), len(every)) == (every, every[2:], 3)
    assert listed(f"?endpoint={accepting.public_id}") == [every[1], every[2]]
    assert listed("?state=pending", **HTMX) == every[:2]
    assert waiting in every[:2]
    assert client.get(f"{PATH}/deliveries", headers=HTMX).content.decode().lstrip().startswith('<div id="list"')
    assert sign_in(stranger).get(f"{PATH}/deliveries?endpoint={accepting.public_id}").status_code == 404
    assert listed("?cursor=&state=nonsense") == every


def test_delivery_shows_its_tries_and_is_delivered_again(
    workspace: Workspace, owner: User, actor: Actor, sign_in: SignIn, receiver: Receiver
) -> None:
    receiver.fault = lambda asked, number: Reply(410, b"<b>gone</b>") if number == 1 else None
    add_endpoint(workspace, receiver.url)
    delivery = tell(workspace, actor)
    deliver_due()
    client, path = sign_in(owner), f"{PATH}/deliveries/{delivery.public_id}"
    page = client.get(path)
    assert [(each["status"], each["error"]) for each in page.context["tries"]] == [(410, "It answered 410.")]
    assert ("&lt;b&gt;gone" in page.content.decode(), page.context["can_repeat"]) == (True, False)
    client.post(f"{path}/again")
    assert texts(client, path) == ["The endpoint is turned off. Turn it on first."]
    WebhookEndpoint.objects.update(is_enabled=True, off_reason="")
    assert client.post(f"{path}/again")["Location"] == path
    assert texts(client, path) == ["It is being delivered again, under the same webhook-id."]
    client.post(f"{path}/again")
    assert texts(client, path) == ["It is still being delivered."]
    deliver_due()
    delivery.refresh_from_db()
    assert (delivery.state, delivery.tries, len(receiver.received)) == ("delivered", 2, 2)
    assert AuditEntry.objects.filter(action="webhook_delivery.again").count() == 1
