"""What a member chooses on the sharing page. The names of private models are asked one by one, and never filled in from the workspace."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.utils import timezone

from runs.sharing.candidates import Candidate
from runs.sharing.choices import MAX_LABEL, MAX_TITLE, Choices, PrivateName

EXPIRIES = (("7", "7 days"), ("30", "30 days"), ("90", "90 days"), ("365", "1 year"), ("never", "Until it is revoked"))
_PREFIX = "label_"


class ShareForm(forms.Form):
    """`names` are the models without a public name, `may_show_samples` whether some benchmark of the run lets samples go."""

    title = forms.CharField(
        label="Title",
        required=False,
        max_length=MAX_TITLE,
        help_text="What the page is called. Without one it bears the benchmark’s name; the run’s own name is never shown.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    shows_samples = forms.BooleanField(
        label="Show samples",
        required=False,
        help_text="Every task as it was sent, every answer and its verdict, until the answers’ retention ends.",
    )
    shows_cost = forms.BooleanField(label="Show what it cost", required=False, help_text="Charges and tokens of each model.")
    shows_workspace = forms.BooleanField(label="Show the workspace’s name", required=False)
    expires_in = forms.ChoiceField(label="Works for", choices=EXPIRIES, initial="90")

    def __init__(self, *args: Any, names: list[PrivateName], workspace_name: str, may_show_samples: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.names = names
        self.fields["shows_workspace"].help_text = f"“{workspace_name}”. Members are never named."
        if not may_show_samples:
            del self.fields["shows_samples"]
        for each in names:
            self.fields[f"{_PREFIX}{each.index}"] = forms.CharField(
                label=f"Name to show for “{each.own}”",
                required=False,
                max_length=MAX_LABEL,
                help_text=f"Without one it is called “{each.shown}”. Its own name stays here.",
                widget=forms.TextInput(attrs={"autocomplete": "off"}),
            )
        self.order_fields(["title", *(f"{_PREFIX}{each.index}" for each in names)])

    @property
    def choices(self) -> Choices:
        data = self.cleaned_data
        return Choices(
            title=data["title"],
            shows_samples=data.get("shows_samples", False),
            shows_cost=data["shows_cost"],
            shows_workspace=data["shows_workspace"],
            labels={each.index: data[f"{_PREFIX}{each.index}"] for each in self.names},
        )

    @property
    def expires_at(self) -> datetime | None:
        days = self.cleaned_data["expires_in"]
        return None if days == "never" else timezone.now() + timedelta(days=int(days))

    def pairs(self) -> list[tuple[str, str]]:
        """What was chosen, as hidden fields of the form that makes the link."""
        return [
            (name, "on" if value is True else str(value)) for name, value in self.cleaned_data.items() if value not in ("", False, None)
        ]


class PublishForm(forms.Form):
    """Which models of a result are published, and the owner's word for it. `name` is the name that will stand beside them."""

    models = forms.MultipleChoiceField(label="Models", widget=forms.CheckboxSelectMultiple)
    name = forms.CharField(widget=forms.HiddenInput)
    agreed = forms.BooleanField(label="I publish these for the workspace")

    def __init__(self, *args: Any, candidates: list[Candidate], name: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        several = len({each.benchmark.pk for each in candidates}) > 1
        models = self.fields["models"]
        assert isinstance(models, forms.MultipleChoiceField)
        models.choices = [(each.key, _said(each, several=several)) for each in candidates if not each.refusal]
        models.initial = [key for key, _ in models.choices]
        self.fields["name"].initial = name
        self.fields["agreed"].help_text = (
            f"Everyone, signed in or not, will see “{name}” beside each model’s score, interval, counts, the cost of 1,000 tasks and the "
            "date. You can withdraw them at any time."
        )


def _said(candidate: Candidate, *, several: bool) -> str:
    label = f"{candidate.subject.label} (baseline)" if candidate.subject.baseline else candidate.subject.label
    return f"{label} on {candidate.benchmark.version.benchmark.name}" if several else label


class ReasonForm(forms.Form):
    reason = forms.CharField(label="Reason", max_length=300, help_text="The workspace that published it reads this.")
