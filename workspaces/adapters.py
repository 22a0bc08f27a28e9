"""How allauth does things here: where its mail's addresses point, and what a person is told when an address is taken."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.conf import settings


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
