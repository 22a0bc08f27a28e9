"""Parsing what staff types about payments."""

from django import forms
from unfold.widgets import UnfoldAdminTextInputWidget

from common.forms import UsdField


class RefundForm(forms.Form):
    """A refund of a payment. `key` is the form's own: sent twice it is one refund."""

    amount = UsdField(
        label="Amount in USD",
        help_text="Takes as much credit from the wallet; what was paid above the credit, the fee, goes back last.",
        widget=UnfoldAdminTextInputWidget,
    )
    reason = forms.CharField(
        label="Reason", max_length=300, help_text="Kept with the refund, for staff.", widget=UnfoldAdminTextInputWidget
    )
    key = forms.RegexField(r"\A[0-9a-f-]{36}\Z", widget=forms.HiddenInput)
