"""allauth's pages at our addresses: /register and /login, the rest below /accounts/. What we do not use is left out."""

from allauth.account import urls as account
from allauth.account import views
from django.urls import include, path

USED = {
    "account_logout",
    "account_inactive",
    "account_reauthenticate",
    "account_email",
    "account_email_verification_sent",
    "account_confirm_email",
    "account_change_password",
    "account_set_password",
    "account_reset_password",
    "account_reset_password_done",
    "account_reset_password_from_key",
    "account_reset_password_from_key_done",
}

urlpatterns = [
    path("register", views.signup, name="account_signup"),
    path("login", views.login, name="account_login"),
    path("accounts/", include([pattern for pattern in account.urlpatterns if pattern.name in USED])),
]
