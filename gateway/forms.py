"""Parsing what people type about their own endpoints. Addresses and keys are judged by the actions."""

from typing import Any

from django import forms

from common.errors import Refused

FIELD_OF_REFUSAL = {
    "invalid_endpoint": "endpoint",
    "blocked_address": "endpoint",
    "connection_name_taken": "name",
}


class ConnectionForm(forms.Form):
    """What is called and by which name. The key is write-only: it is never shown again."""

    workspace = forms.UUIDField(widget=forms.HiddenInput)
    name = forms.CharField(max_length=80, help_text="What people of this workspace choose it by.")
    endpoint = forms.CharField(
        max_length=500,
        label="Address",
        help_text="The base address of an OpenAI-compatible API, such as https://models.example.org/v1.",
        widget=forms.URLInput(attrs={"placeholder": "https://", "autocomplete": "off", "spellcheck": "false"}),
    )
    model = forms.CharField(
        max_length=200,
        help_text="The model's name as that address knows it.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    api_key = forms.CharField(
        max_length=4096,
        required=False,
        label="API key",
        help_text="Kept encrypted and never shown again. Leave it empty where the address takes none.",
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
    )

    def refuse(self, refusal: Refused) -> None:
        """Show the refusal at the field it is about, else above the form."""
        field = FIELD_OF_REFUSAL.get(refusal.code) or next((key for key in refusal.details if key in self.fields), None)
        self.add_error(field if field in self.fields else None, refusal.message)


class ConnectionChangeForm(ConnectionForm):
    """The same without the key, which has a form of its own."""

    field_order = ["name", "endpoint", "model"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.fields["api_key"]
        del self.fields["workspace"]


class KeyForm(forms.Form):
    api_key = forms.CharField(
        max_length=4096,
        label="New key",
        help_text="It takes the place of the present one at once. Check the connection afterwards.",
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
    )
