"""Parsing what people set and look for on the billing pages."""

import re
from datetime import timedelta
from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminTextInputWidget

from billing.enums import EntryKind
from billing.statements import day_start
from common.forms import UsdField

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.ASCII)

PRESETS = (("10", "$10"), ("25", "$25"), ("100", "$100"))
OWN = "own"
_NO_YEAR = 9000


class MonthlyLimitForm(forms.Form):
    monthly = UsdField(
        label="At most, in USD a calendar month (UTC)",
        required=False,
        allow_zero=True,
        help_text="Empty: no limit. Running work is stopped when it is reached.",
    )


class CeilingForm(forms.Form):
    ceiling = UsdField(label="It may spend in all, in USD", required=False, allow_zero=True, help_text="Empty: no ceiling of its own.")


class KeyMonthForm(forms.Form):
    month = UsdField(
        label="It may spend in a calendar month (UTC), in USD", required=False, allow_zero=True, help_text="Empty: no monthly limit."
    )


class CreditForm(forms.Form):
    """Staff's grant of credit; a negative amount is a correction."""

    amount = UsdField(
        label="Amount in USD", allow_negative=True, help_text="A negative amount takes credit back.", widget=UnfoldAdminTextInputWidget
    )
    reason = forms.CharField(
        label="Reason", max_length=300, help_text="Shown in the workspace's ledger.", widget=UnfoldAdminTextInputWidget
    )


class LedgerForm(forms.Form):
    """What is looked for in the ledger. Days are those of UTC, the last one included."""

    kind = forms.ChoiceField(label="Kind", required=False, choices=[("", "Every kind"), *EntryKind.choices])
    start = forms.DateField(label="From", required=False, widget=forms.DateInput(attrs={"type": "date"}))
    end = forms.DateField(label="To", required=False, widget=forms.DateInput(attrs={"type": "date"}))
    run = forms.CharField(
        label="Run", required=False, max_length=300, widget=forms.TextInput(attrs={"placeholder": "ID or address", "autocomplete": "off"})
    )

    def clean_run(self) -> str:
        text: str = self.cleaned_data["run"].strip()
        found = _ID.search(text.lower())
        if text and found is None:
            raise forms.ValidationError("Paste the whole ID or the address of a run.")
        return found[0] if found else ""

    def clean(self) -> dict[str, Any]:
        found: dict[str, Any] = super().clean() or {}
        start, end = found.get("start"), found.get("end")
        if end and end.year >= _NO_YEAR:
            self.add_error("end", "Enter a day of this time.")
        elif start and end and start > end:
            self.add_error("end", "The last day is before the first.")
        return found

    @property
    def wanted(self) -> dict[str, Any]:
        """What `entries_matching` takes, of a valid form."""
        found, run = self.cleaned_data, self.cleaned_data["run"]
        return {
            "kind": found["kind"] or None,
            "source": f"run:{run}" if run else None,
            "created_from": day_start(found["start"]) if found["start"] else None,
            "created_to": day_start(found["end"]) + timedelta(days=1) if found["end"] else None,
        }


class PurchaseForm(forms.Form):
    """Credit to buy: one of the amounts that are offered, or one's own. `key` is the form's own: sent twice it is one purchase."""

    preset = forms.ChoiceField(label="Credit", choices=[*PRESETS, (OWN, "Another amount")], widget=forms.RadioSelect, initial="25")
    own = UsdField(label="Another amount, in USD", required=False)
    save_card = forms.BooleanField(
        label="Save this card for automatic top-ups",
        required=False,
        help_text="The card is kept by Stripe, not here. Nothing is charged by itself until you turn top-ups on.",
    )
    key = forms.RegexField(r"\A[0-9A-Za-z-]{16,64}\Z", widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        found: dict[str, Any] = super().clean() or {}
        if found.get("preset") == OWN and found.get("own") is None and "own" not in self.errors:
            self.add_error("own", "Enter how much credit to buy.")
        return found

    @property
    def credit_microusd(self) -> int:
        """The credit that a valid form asks for."""
        found = self.cleaned_data
        own: int = found["own"] if found["preset"] == OWN else int(found["preset"]) * 1_000_000
        return own


class TopUpForm(forms.Form):
    is_enabled = forms.BooleanField(label="Top up automatically", required=False)
    threshold = UsdField(label="When available credit falls below, in USD")
    amount = UsdField(label="Buy credit of, in USD", help_text="The fee of a purchase comes on top.")
    monthly_limit = UsdField(label="At most in a calendar month (UTC), in USD", help_text="Fees included.")
