"""Parsing what people type to make a group. What can be a group is decided by the action."""

from decimal import Decimal
from typing import Any

from django import forms

from runs.groups.policy import Policy
from runs.groups.resolving import FEWEST, MOST, Reference, parse_key


class PercentField(forms.DecimalField):
    """Percent or points from 0 to 100 as a share; None where nothing is typed."""

    def __init__(self, **more: Any) -> None:
        super().__init__(min_value=0, max_value=100, decimal_places=2, required=False, **more)
        self.widget = forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"})

    def clean(self, value: Any) -> float | None:
        found: Decimal | None = super().clean(value.strip().removesuffix("%") if isinstance(value, str) else value)
        return None if found is None else float(found / 100)


class ResultsField(forms.Field):
    """Two to eight keys of results, each once."""

    widget = forms.MultipleHiddenInput

    def clean(self, value: Any) -> list[Reference]:
        keys = list(dict.fromkeys(value or []))
        if not FEWEST <= len(keys) <= MOST:
            chosen = "none is" if not keys else "1 is" if len(keys) == 1 else f"{len(keys)} are"
            raise forms.ValidationError(f"Choose {FEWEST} to {MOST} results: {chosen} chosen.")
        references = [parse_key(key) for key in keys]
        if None in references:
            raise forms.ValidationError("One of the chosen results is not there any more. Choose again.")
        return [reference for reference in references if reference is not None]


class GroupForm(forms.Form):
    """A group as a person sets it up."""

    results = ResultsField()
    baseline = forms.CharField(max_length=300, error_messages={"required": "Choose the baseline that the others are compared with."})
    name = forms.CharField(max_length=160, required=False, help_text="What the group is called in the list.")
    min_score = PercentField(label="Least score, %", help_text="Each candidate's whole interval must reach it.")
    max_drop = PercentField(
        label="Largest drop, points", help_text="Against the baseline. With 0 only what is shown not to be worse passes; 1 or 2 leave room."
    )
    min_coverage = PercentField(label="Least coverage, %", help_text="Graded of planned answers.")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        baseline = parse_key(cleaned.get("baseline", ""))
        if "results" in cleaned and "baseline" in cleaned and baseline not in cleaned["results"]:
            self.add_error("baseline", "The baseline is one of the chosen results.")
        return {**cleaned, "baseline": baseline}

    @property
    def policy(self) -> Policy:
        return Policy(*(self.cleaned_data[name] for name in ("min_score", "max_drop", "min_coverage")))
