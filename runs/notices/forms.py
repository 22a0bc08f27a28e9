"""Parsing what people choose to be told, and what they say of their endpoints. Addresses are judged by the actions."""

from datetime import timedelta
from typing import Any

from django import forms
from django.utils.html import format_html

from common.errors import Refused
from runs.models.notices import NoticeChoice, WebhookEndpoint
from runs.notices.enums import CHOOSABLE, EndedMail

OVERLAPS = [("0", "Stop signing with it at once"), ("24", "1 day"), ("72", "3 days"), ("168", "7 days")]
FIELD_OF_REFUSAL = {
    "invalid_endpoint": "url",
    "blocked_address": "url",
    "https_required": "url",
    "invalid_events": "events",
    "invalid_description": "description",
}


class NoticeForm(forms.Form):
    """What a person wants mail about, of the runs that they started."""

    ended = forms.ChoiceField(label="When a run is done", choices=EndedMail.choices, widget=forms.RadioSelect)
    interrupted = forms.BooleanField(
        label="When a run is interrupted",
        required=False,
        help_text="By its cap, credit, a limit or its provider, or cancelled by somebody else. What is left can be continued.",
    )
    waiting = forms.BooleanField(
        label="When a run waits for its provider",
        required=False,
        help_text="No model of it has had an answer for some minutes.",
    )

    @classmethod
    def of(cls, choice: NoticeChoice, data: Any = None) -> "NoticeForm":
        return cls(data, initial={"ended": choice.ended, "interrupted": choice.interrupted, "waiting": choice.waiting})


def _event_choices() -> list[tuple[str, str]]:
    return [(kind.value, format_html("<span>{} <small><code>{}</code></small></span>", kind.label, kind.value)) for kind in CHOOSABLE]


class EndpointForm(forms.Form):
    """A new endpoint."""

    url = forms.CharField(
        max_length=500,
        label="Address",
        help_text="Where events are sent by POST. It starts with https://.",
        widget=forms.URLInput(attrs={"placeholder": "https://", "autocomplete": "off", "spellcheck": "false"}),
    )
    description = forms.CharField(
        max_length=200, required=False, help_text="What it is for.", widget=forms.TextInput(attrs={"autocomplete": "off"})
    )
    events = forms.MultipleChoiceField(
        label="It is told when",
        choices=_event_choices,
        widget=forms.CheckboxSelectMultiple,
        initial=list(CHOOSABLE),
        error_messages={"required": "Choose at least one."},
    )

    def refuse(self, refusal: Refused) -> None:
        """Show the refusal at the field it is about, else above the form."""
        field = FIELD_OF_REFUSAL.get(refusal.code)
        self.add_error(field if field in self.fields else None, refusal.message)


class EndpointChangeForm(EndpointForm):
    enabled = forms.BooleanField(
        label="Turned on", required=False, help_text="While it is off nothing is sent, and what happens is not sent later."
    )

    @classmethod
    def of(cls, endpoint: WebhookEndpoint, data: Any = None) -> "EndpointChangeForm":
        initial = {"url": endpoint.url, "description": endpoint.description, "events": endpoint.events, "enabled": endpoint.is_enabled}
        return cls(data, initial=initial)


class RotationForm(forms.Form):
    overlap = forms.TypedChoiceField(
        label="The present secret is signed with as well for",
        choices=OVERLAPS,
        initial="24",
        coerce=lambda hours: timedelta(hours=int(hours)),
        help_text="So that you can put the new one in place without losing anything.",
    )
