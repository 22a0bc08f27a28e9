"""The form in which staff set a managed route and its price."""

from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminDecimalFieldWidget, UnfoldAdminTextareaWidget

from catalog.enums import UsageQuirk
from catalog.models import ModelRoute
from catalog.rates import MAX_USD_PER_MTOK, TIER_FORM, StatedTier, microusd_rates, read_tier, tier_columns
from catalog.routes import check_route
from common.errors import Refused

PRICES = ("input_usd_per_mtok", "cached_usd_per_mtok", "output_usd_per_mtok")
EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh"]


def price(label: str, help_text: str = "", *, required: bool = True) -> forms.DecimalField:
    return forms.DecimalField(
        label=label,
        help_text=help_text,
        required=required,
        min_value=0,
        max_value=MAX_USD_PER_MTOK,
        max_digits=19,
        decimal_places=12,
        widget=UnfoldAdminDecimalFieldWidget,
    )


class RouteForm(forms.ModelForm):  # type: ignore[type-arg]
    """A route as staff know it: prices are USD a million tokens, and a changed one is a new dated price."""

    input_usd_per_mtok = price("Input, USD a million tokens")
    cached_usd_per_mtok = price("Cached input, USD a million tokens", "Empty: as input.", required=False)
    output_usd_per_mtok = price("Output, USD a million tokens")
    tiers = forms.CharField(
        label="Prices of long inputs",
        help_text=f"One tier a line: {TIER_FORM}, such as 200000:2.50:15. A call with more input tokens is charged wholly at that price.",
        required=False,
        max_length=1000,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
    )
    reasoning_efforts = forms.MultipleChoiceField(
        choices=[(effort, effort) for effort in EFFORTS], required=False, widget=UnfoldAdminCheckboxSelectMultipleWidget
    )

    usage_quirks = forms.MultipleChoiceField(
        label="How the endpoint counts tokens",
        help_text="Only where it differs from OpenAI and its total does not show it.",
        choices=UsageQuirk.choices,
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
    )

    class Meta:
        model = ModelRoute
        fields = [
            "route_id",
            "name",
            "endpoint",
            "upstream_model",
            "key_env",
            "context_limit",
            "max_output_tokens",
            "reasoning_efforts",
            "takes_reasoning_budget",
            "state",
        ]
        help_texts = {
            "route_id": "Such as provider/model. It cannot be changed later.",
            "key_env": "The name of the environment variable that holds the key, never the key itself.",
            "upstream_model": "The model's name as the endpoint knows it.",
        }

    def clean_tiers(self) -> list[StatedTier]:
        try:
            return [read_tier(line) for line in self.cleaned_data["tiers"].splitlines() if line.strip()]
        except Refused as refusal:
            raise forms.ValidationError(refusal.message) from None

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if self.errors:
            return data
        try:
            check_route(
                data.get("route_id") or self.instance.route_id,
                data["endpoint"],
                data["upstream_model"],
                data["key_env"],
                data["context_limit"],
                data["max_output_tokens"],
            )
        except Refused as refusal:
            self.add_error("endpoint" if refusal.code == "invalid_endpoint" else None, refusal.message)
        try:
            tier_columns(
                data["tiers"],
                microusd_rates(*(data[name] for name in ("input_usd_per_mtok", "output_usd_per_mtok", "cached_usd_per_mtok"))),
            )
        except Refused as refusal:
            self.add_error("tiers", refusal.message)
        return data
