"""How allauth does things here: where its mail's addresses point, where a new person lands, and what is said when an address is taken."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from workspaces.models import User


class AccountAdapter(DefaultAccountAdapter):
    error_messages = DefaultAccountAdapter.error_messages | {
        "email_password_mismatch": "The address and the password do not belong together.",
        "too_many_login_attempts": "Too many failed attempts. Wait a few minutes, or reset your password.",
        "rate_limited": "Too many requests. Wait a few minutes and try again.",
        "enter_current_password": "That is not your present password.",
        "incorrect_password": "That is not your password.",
        "same_as_current": "That is the address you have already.",
    }

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        super().send_mail(template_prefix, email, {"site_url": settings.SITE_URL, **context})

    def login(self, request: HttpRequest, user: User) -> None:
        """Sign in, and remember for the redirect that follows whether it is for the first time."""
        request.is_first_sign_in = user.last_login is None  # type: ignore[attr-defined]
        super().login(request, user)

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        """Whoever signs in for the first time, as after confirming their address, lands on "Getting started", and nobody else does."""
        is_first = getattr(request, "is_first_sign_in", False)
        if is_first and isinstance(request.user, User) and request.user.onboarding_closed_at is None:
            return reverse("onboarding")
        return str(super().get_login_redirect_url(request))

    def get_signup_redirect_url(self, request: HttpRequest) -> str:
        return self.get_login_redirect_url(request)
