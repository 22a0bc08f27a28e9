"""Parsing what people type on the settings pages, and the sign-in forms in our words."""

from datetime import timedelta
from typing import Any

from allauth.account import forms as allauth_forms
from django import forms
from django.utils import timezone
from django.utils.html import format_html

from common.forms import UsdField
from workspaces.enums import Role, Scope
from workspaces.models import ApiKey

EXPIRIES = [("30", "30 days"), ("90", "90 days"), ("365", "1 year"), ("never", "For ever")]
OVERLAPS = [("0", "Stop it at once"), ("1", "1 day"), ("3", "3 days"), ("7", "7 days")]


# ── Sign-in ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class PlainMixin:
    """Labels above the fields say what goes in; placeholders that repeat them are left out."""

    fields: dict[str, forms.Field]
    LABELS = {"email": "E-mail address", "login": "E-mail address", "oldpassword": "Present password", "password1": "New password"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            field.widget.attrs.pop("placeholder", None)
            if name in self.LABELS:
                field.label = self.LABELS[name]


class LoginForm(PlainMixin, allauth_forms.LoginForm):
    pass


class SignupForm(PlainMixin, allauth_forms.SignupForm):
    LABELS = {"email": "E-mail address", "password1": "Password"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["password1"].help_text = "At least 10 characters; a few words are good."


class ResetPasswordForm(PlainMixin, allauth_forms.ResetPasswordForm):
    pass


class ResetPasswordKeyForm(PlainMixin, allauth_forms.ResetPasswordKeyForm):
    LABELS = {"password1": "New password", "password2": "New password again"}


class ChangePasswordForm(PlainMixin, allauth_forms.ChangePasswordForm):
    LABELS = {"oldpassword": "Present password", "password1": "New password", "password2": "New password again"}


class ReauthenticateForm(PlainMixin, allauth_forms.ReauthenticateForm):
    pass


class AddEmailForm(PlainMixin, allauth_forms.AddEmailForm):
    LABELS = {"email": "New e-mail address"}


# ── Account and workspace ───────────────────────────────────────────────────────────────────────────────────────────


class NameForm(forms.Form):
    name = forms.CharField(label="Your name", max_length=120, required=False, widget=forms.TextInput(attrs={"autocomplete": "name"}))


class WorkspaceForm(forms.Form):
    name = forms.CharField(label="Name", max_length=120, widget=forms.TextInput(attrs={"autocomplete": "off"}))


class RoleForm(forms.Form):
    role = forms.ChoiceField(label="Role", choices=Role.choices)


class MemberForm(forms.Form):
    email = forms.EmailField(label="E-mail address of their account", widget=forms.EmailInput(attrs={"autocomplete": "off"}))
    role = forms.ChoiceField(label="Role", choices=Role.choices, initial=Role.MEMBER)


# ── API keys ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _scope_choices() -> list[tuple[str, str]]:
    return [(scope.value, format_html("<span>{} <small><code>{}</code></small></span>", scope.label, scope.value)) for scope in Scope]


class ApiKeyForm(forms.Form):
    """A new key."""

    label = forms.CharField(label="Name", max_length=80, help_text="Where it is used, such as “CI of the search team”.")
    scopes = forms.MultipleChoiceField(
        label="It may",
        choices=_scope_choices,
        widget=forms.CheckboxSelectMultiple,
        initial=[Scope.EVAL_READ, Scope.EVAL_WRITE],
        error_messages={"required": "Choose at least one."},
    )
    expires_in = forms.ChoiceField(label="It works for", choices=EXPIRIES, initial="90")
    spend_ceiling = UsdField(
        label="It may spend, in USD",
        required=False,
        allow_zero=True,
        help_text="In all, over its whole life and that of the keys that replace it. Empty: no ceiling of its own.",
    )

    def clean_expires_in(self) -> Any:
        days = self.cleaned_data["expires_in"]
        return None if days == "never" else timezone.now() + timedelta(days=int(days))


class ApiKeyChangeForm(forms.Form):
    """A key's name and what it may."""

    label = forms.CharField(label="Name", max_length=80)
    scopes = forms.MultipleChoiceField(
        label="It may", choices=_scope_choices, widget=forms.CheckboxSelectMultiple, error_messages={"required": "Choose at least one."}
    )

    @classmethod
    def of(cls, key: ApiKey, data: Any = None) -> "ApiKeyChangeForm":
        return cls(data, initial={"label": key.label, "scopes": key.scopes})


class ApiKeyRollForm(forms.Form):
    overlap = forms.TypedChoiceField(
        label="The old key goes on working for", choices=OVERLAPS, initial="7", coerce=lambda days: timedelta(days=int(days))
    )
