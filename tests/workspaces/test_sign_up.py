"""From the sign-up form to the first workspace, and back in through sign-in and password reset."""

import re

import pytest
from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from django.core import mail
from django.test import Client

from billing.queries import get_wallet
from tests.factories import PASSWORD, make_user
from workspaces.actions import create_first_workspace
from workspaces.actors import actor_of_user
from workspaces.enums import Role
from workspaces.models import Membership, User, Workspace

NEW = "new.person@example.org"


def link_in(message: mail.EmailMessage) -> str:
    """The path of the one link to us in the mail."""
    found = re.search(r"http://testserver(/accounts/\S+)", str(message.body))
    assert found is not None
    return found.group(1)


def register(client: Client, email: str = NEW, password: str = PASSWORD) -> str:
    """Sign up; returns the path of the confirmation link that was mailed."""
    response = client.post("/register", {"email": email, "password1": password})
    assert (response.status_code, response["Location"]) == (302, "/accounts/confirm-email/")
    return link_in(mail.outbox[-1])


@pytest.mark.django_db
def test_sign_up_mails_a_link_in_text_and_html(client: Client) -> None:
    register(client)
    message = mail.outbox[0]
    assert (message.to, message.subject) == ([NEW], "Confirm your address for EvalRouter")
    html = message.alternatives[0].content  # type: ignore[attr-defined]
    assert html.count(link_in(message)) == 2


@pytest.mark.django_db
def test_unverified_person_has_no_workspace_and_cannot_sign_in(client: Client) -> None:
    register(client)
    response = client.post("/login", {"login": NEW, "password": PASSWORD})
    assert (response.status_code, response["Location"]) == (302, "/accounts/confirm-email/")
    assert client.get("/settings/account").status_code == 302
    assert Workspace.objects.count() == 0


@pytest.mark.django_db
def test_confirmed_address_makes_one_workspace_with_the_welcome_credit(client: Client) -> None:
    path = register(client)
    assert client.get(path).status_code == 200
    assert Workspace.objects.count() == 0  # a GET, by a mail scanner for instance, confirms nothing
    response = client.post(path)
    assert (response.status_code, response["Location"]) == (302, "/onboarding")
    membership = Membership.objects.get()
    assert (membership.user.email, membership.role, membership.workspace.name) == (NEW, Role.OWNER, "new.person’s workspace")
    assert [entry.kind for entry in get_wallet(membership.workspace).entries.all()] == ["welcome_credit"]
    assert get_wallet(membership.workspace).balance_microusd == 5_000_000


@pytest.mark.django_db
def test_confirming_and_signing_in_again_makes_no_second_workspace(client: Client) -> None:
    path = register(client)
    client.post(path)
    client.post(path)
    client.post("/accounts/logout/")
    assert client.post("/login", {"login": NEW, "password": PASSWORD}).status_code == 302
    assert create_first_workspace(User.objects.get(), actor=actor_of_user(User.objects.get())) is None
    assert Workspace.objects.count() == 1


@pytest.mark.django_db
def test_person_who_left_all_workspaces_is_given_no_second_welcome(client: Client) -> None:
    client.post(register(client))
    Membership.objects.all().delete()
    client.post("/accounts/logout/")
    client.post("/login", {"login": NEW, "password": PASSWORD})
    assert Workspace.objects.count() == 1
    assert client.get("/settings/account").status_code == 200
    assert client.get("/settings/members").status_code == 409


@pytest.mark.django_db
def test_changed_address_gives_no_second_welcome(client: Client) -> None:
    client.post(register(client))
    user = User.objects.get()
    address = EmailAddress.objects.create(user=user, email="other@example.org", verified=False, primary=False)
    client.post(f"/accounts/confirm-email/{EmailConfirmationHMAC(address).key}/")
    user.refresh_from_db()
    assert user.email == "other@example.org"
    assert Workspace.objects.count() == 1


@pytest.mark.django_db
def test_taken_address_looks_like_any_other_and_mails_its_owner(client: Client) -> None:
    make_user(NEW)
    response = client.post("/register", {"email": NEW.upper(), "password1": PASSWORD})
    assert (response.status_code, response["Location"]) == (302, "/accounts/confirm-email/")
    assert [message.subject for message in mail.outbox] == ["You have an EvalRouter account already"]
    assert User.objects.count() == 1


@pytest.mark.django_db
def test_weak_password_is_refused_at_its_field(client: Client) -> None:
    response = client.post("/register", {"email": NEW, "password1": "short"})
    assert response.context["form"].errors == {"password1": ["This password is too short. It must contain at least 10 characters."]}
    assert User.objects.count() == 0


@pytest.mark.django_db
def test_wrong_password_is_refused_and_limited(client: Client) -> None:
    make_user(NEW)
    words = [client.post("/login", {"login": NEW, "password": "wrong wrong wrong"}).context["form"].non_field_errors() for _ in range(6)]
    assert words[0] == ["The address and the password do not belong together."]
    assert words[5] == ["Too many failed attempts. Wait a few minutes, or reset your password."]
    assert client.post("/login", {"login": NEW, "password": PASSWORD}).status_code == 200


@pytest.mark.django_db
def test_too_many_sign_ups_from_one_place_are_a_page_of_429(client: Client) -> None:
    answers = [client.post("/register", {"email": f"p{n}@example.org", "password1": PASSWORD}) for n in range(21)]
    assert [answers[19].status_code, answers[20].status_code] == [302, 429]
    assert "Wait a few minutes" in answers[20].content.decode()


@pytest.mark.django_db
def test_password_reset_sets_a_new_one_and_says_so_by_mail(client: Client) -> None:
    make_user(NEW)
    assert client.post("/accounts/password/reset/", {"email": NEW}).status_code == 302
    response = client.get(link_in(mail.outbox[0]), follow=True)
    form = response.redirect_chain[-1][0]
    assert client.post(form, {"password1": "another good phrase", "password2": "another good phrase"}).status_code == 302
    assert [message.subject for message in mail.outbox] == ["Choose a new password for EvalRouter", "Your EvalRouter password was reset"]
    html = mail.outbox[1].alternatives[0].content  # type: ignore[attr-defined]
    assert "The password of your account was reset." in html
    assert html.count("http://testserver/accounts/password/reset/") == 2
    assert Client().post("/login", {"login": NEW, "password": "another good phrase"})["Location"] == "/onboarding"


@pytest.mark.django_db
def test_reset_for_an_unknown_address_looks_the_same(client: Client) -> None:
    known = make_user(NEW)
    answers = [client.post("/accounts/password/reset/", {"email": email}) for email in (known.email, "nobody@example.org")]
    assert [(answer.status_code, answer["Location"]) for answer in answers] == [(302, "/accounts/password/reset/done/")] * 2
    assert mail.outbox[1].subject == "No EvalRouter account with this address"


@pytest.mark.django_db
def test_sign_out_takes_a_post(client: Client) -> None:
    client.force_login(make_user(NEW))
    assert client.get("/accounts/logout/").status_code == 200
    assert client.get("/settings/account").status_code == 200
    assert client.post("/accounts/logout/")["Location"] == "/"
    assert client.get("/settings/account").status_code == 302


@pytest.mark.django_db
@pytest.mark.parametrize(
    "path",
    [
        "/register",
        "/login",
        "/accounts/confirm-email/",
        "/accounts/confirm-email/broken/",
        "/accounts/password/reset/",
        "/accounts/password/reset/done/",
        "/accounts/password/reset/key/0-broken/",
        "/accounts/password/reset/key/done/",
        "/accounts/inactive/",
    ],
)
def test_page_before_sign_in_is_in_our_frame(client: Client, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 200
    assert "account/frame.html" in [template.name for template in response.templates]


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/accounts/password/change/", "/accounts/email/"])
def test_own_page_of_sign_in_is_in_the_frame_of_settings(client: Client, path: str) -> None:
    client.force_login(make_user(NEW))
    response = client.get(path)
    assert response.status_code == 200
    assert "workspaces/settings.html" in [template.name for template in response.templates]
