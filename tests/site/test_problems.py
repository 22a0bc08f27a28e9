"""Pages for what went wrong, and what the middleware makes of a refusal."""

from collections.abc import Callable

import pytest
from django.http import HttpRequest
from django.test import Client, RequestFactory, override_settings
from django.urls import include, path

from common.errors import Conflict, Forbidden, PaymentRequired, Refused
from workspaces.models import User, Workspace

SignIn = Callable[[User], Client]


def refuse(request: HttpRequest, kind: str) -> None:
    raise {
        "conflict": Conflict("run_ended", "The run has ended."),
        "forbidden": Forbidden(),
        "payment": PaymentRequired("insufficient_credit", "The workspace has $0.10 available."),
        "refused": Refused("cap_below_minimum", "The cap is below the least."),
        "broken": RuntimeError("a secret detail"),
    }[kind]


urlpatterns = [path("refuse/<kind>", refuse), path("", include("evalrouter_site.urls"))]
handler404 = "evalrouter_site.problems.not_found"
handler500 = "evalrouter_site.problems.server_error"

refusing = override_settings(ROOT_URLCONF=__name__)


@refusing
@pytest.mark.parametrize(
    ("kind", "status", "words"),
    [
        ("conflict", 409, "The run has ended."),
        ("forbidden", 403, "Your role or key does not allow this."),
        ("payment", 402, "The workspace has $0.10 available."),
        ("refused", 422, "The cap is below the least."),
    ],
)
def test_refusal_is_a_page_with_its_status_and_words(owner: User, sign_in: SignIn, kind: str, status: int, words: str) -> None:
    response = sign_in(owner).get(f"/refuse/{kind}")
    assert (response.status_code, response.context["message"]) == (status, words)
    assert response.content.decode().count("<html") == 1


@refusing
def test_refusal_of_a_fragment_is_a_notice_on_top_of_the_page(owner: User, sign_in: SignIn) -> None:
    response = sign_in(owner).get("/refuse/conflict", headers={"HX-Request": "true"})
    assert (response.status_code, response["HX-Retarget"], response["HX-Reswap"]) == (409, "#notices", "innerHTML show:window:top")
    text = response.content.decode()
    assert (text.count("<html"), text.count('role="alert"'), "The run has ended." in text) == (0, 1, True)


@refusing
def test_broken_page_shows_no_exception_and_asks_the_database_nothing(client: Client) -> None:
    client.raise_request_exception = False
    response = client.get("/refuse/broken")
    text = response.content.decode()
    assert response.status_code == 500
    assert "Something broke on our side" in text
    assert "a secret detail" not in text
    assert response["X-Request-Id"] in text


def test_address_that_does_not_exist_is_a_page_of_404(db: None, client: Client) -> None:
    response = client.get("/nothing-here")
    assert (response.status_code, response.context["title"]) == (404, "There is nothing here")


def test_missing_fragment_is_a_notice(db: None, client: Client) -> None:
    response = client.get("/nothing-here", headers={"HX-Request": "true"})
    assert (response.status_code, response["HX-Retarget"], response.content.decode().count("<html")) == (404, "#notices", 0)


def test_form_without_a_token_says_that_nothing_was_changed(workspace: Workspace, owner: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(owner)
    response = client.post("/settings/account", {"name": "Forged"})
    assert (response.status_code, response.context["title"]) == (403, "The form had expired")
    owner.refresh_from_db()
    assert owner.name == ""


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["bad_request", "permission_denied", "not_found", "too_many_requests"])
def test_handler_gives_its_status(name: str) -> None:
    from django.contrib.auth.models import AnonymousUser

    from evalrouter_site import problems

    request = RequestFactory().get("/")
    request.user = AnonymousUser()
    request.session = {}  # type: ignore[assignment]
    statuses = {"bad_request": 400, "permission_denied": 403, "not_found": 404, "too_many_requests": 429}
    assert getattr(problems, name)(request).status_code == statuses[name]


def test_health_needs_no_database(client: Client) -> None:
    assert (client.get("/healthz").status_code, client.get("/healthz").content) == (200, b"ok")


def test_readiness_asks_the_database(db: None, client: Client) -> None:
    assert (client.get("/readyz").status_code, client.get("/readyz").content) == (200, b"ok")
