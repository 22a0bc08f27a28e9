"""Fields that forms of several apps share."""

from typing import Any

from django import forms

from common.money import InvalidAmount, parse_usd


class UsdField(forms.CharField):
    """An amount in USD, cleaned to micro-USD; None where it is left empty. `allow_zero` and `allow_negative` widen what it takes."""

    def __init__(self, *, allow_zero: bool = False, allow_negative: bool = False, **kwargs: Any) -> None:
        widget = forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"})
        super().__init__(**{"widget": widget, "max_length": 30, **kwargs})
        self.allow_zero, self.allow_negative = allow_zero, allow_negative

    def clean(self, value: Any) -> int | None:
        text = super().clean(value)
        if not text:
            return None
        try:
            amount = parse_usd(text)
        except InvalidAmount:
            raise forms.ValidationError("Enter an amount in USD with at most six decimals, such as 1.50.") from None
        if amount < 0 and not self.allow_negative:
            raise forms.ValidationError("Enter an amount of at least zero." if self.allow_zero else "Enter an amount above zero.")
        if amount == 0 and not self.allow_zero:
            raise forms.ValidationError("Enter an amount above zero." if not self.allow_negative else "Enter an amount other than zero.")
        return amount


def add_refusal(form: forms.BaseForm, message: str, field: str | None = None) -> None:
    """Show why an action refused, at the field it is about, else above the form."""
    form.add_error(field if field in form.fields else None, message)
