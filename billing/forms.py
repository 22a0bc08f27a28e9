"""Parsing amounts that people set on the billing pages."""

from django import forms
from unfold.widgets import UnfoldAdminTextInputWidget

from common.forms import UsdField


class MonthlyLimitForm(forms.Form):
    monthly = UsdField(
        label="At most, in USD a calendar month (UTC)",
        required=False,
        allow_zero=True,
        help_text="Empty: no limit. Running work is stopped when it is reached.",
    )


class CeilingForm(forms.Form):
    ceiling = UsdField(label="It may spend in all, in USD", required=False, allow_zero=True, help_text="Empty: no ceiling of its own.")


class CreditForm(forms.Form):
    """Staff's grant of credit; a negative amount is a correction."""

    amount = UsdField(
        label="Amount in USD", allow_negative=True, help_text="A negative amount takes credit back.", widget=UnfoldAdminTextInputWidget
    )
    reason = forms.CharField(
        label="Reason", max_length=300, help_text="Shown in the workspace's ledger.", widget=UnfoldAdminTextInputWidget
    )
