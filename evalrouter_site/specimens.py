"""What the page of components shows: made-up figures in every state, twice, once for each scheme."""

from datetime import timedelta
from typing import Any

from django import forms
from django.utils import timezone

SCHEMES = ("light", "dark")
SURFACES = ("surface", "surface-raised", "surface-sunken", "surface-hover", "surface-overlay")
WORDS = ("text", "text-muted", "text-faint", "accent", "good", "warn", "bad", "info")
MARKS = ("accent-fill", "accent-mark", "good-mark", "warn-mark", "bad-mark", "info-mark", "line", "line-button", "line-strong")
SIZES = (
    ("text-3xl", "The one sentence of the landing page"),
    ("text-2xl", "A page's heading"),
    ("text-xl", "A section's heading, a figure"),
    ("text-l", "A panel's heading"),
    ("text-m", "Text and controls: 1,234,567.89 and 0.0042"),
    ("text-s", "Tables, notes: 1,234,567.89 and 0.0042"),
    ("text-xs", "Heads of tables, badges"),
)


class SpecimenForm(forms.Form):
    """One field of each kind; bound to nonsense it shows every error."""

    name = forms.CharField(label="Name", max_length=40, help_text="As it stands in lists.")
    cap = forms.DecimalField(label="Cap, USD", required=False, min_value=0)
    category = forms.ChoiceField(label="Category", choices=[("", "Choose one"), ("logic", "Logic"), ("numbers", "Numbers")])
    notes = forms.CharField(label="Notes", required=False, widget=forms.Textarea(attrs={"rows": 3}))
    locked = forms.CharField(label="Workspace", required=False, disabled=True, initial="Ada's lab", help_text="It cannot be changed here.")
    coverage = forms.ChoiceField(
        label="Coverage", widget=forms.RadioSelect, choices=[("sample", "A random sample"), ("full", "All 1,319 tasks")], initial="sample"
    )
    scopes = forms.MultipleChoiceField(
        label="Permissions",
        widget=forms.CheckboxSelectMultiple,
        required=False,
        choices=[("read", "Read evaluations"), ("write", "Quote and run")],
    )
    agreed = forms.BooleanField(
        label="The data may be sent to these models", help_text="Their providers receive prompts, never references."
    )


def specimens() -> dict[str, Any]:
    """The context of the page: `sides`, one for each scheme, whose forms have IDs of their own, and what both show."""
    now = timezone.now()
    sides = [
        {
            "name": scheme,
            "form": SpecimenForm(auto_id=f"{scheme}-%s"),
            "wrong": SpecimenForm({"name": "", "cap": "-1", "category": "x"}, auto_id=f"{scheme}-wrong-%s"),
        }
        for scheme in SCHEMES
    ]
    return {
        "sides": sides,
        "surfaces": SURFACES,
        "words": WORDS,
        "marks": MARKS,
        "sizes": SIZES,
        "series": range(1, 9),
        "statuses": ("queued", "running", "waiting", "completed", "partial", "failed", "cancelled", "active", "retired", "revoked", "open"),
        "moments": (now, now - timedelta(minutes=5), now - timedelta(hours=3), now - timedelta(days=40)),
        "options": [
            {"value": "gpt-4.1-mini", "label": "GPT-4.1 mini", "note": "$0.40 in · $1.60 out"},
            {"value": "haiku", "label": "Claude Haiku 4.5", "note": "$1.00 in · $5.00 out"},
            {"value": "flash", "label": "Gemini 2.5 Flash", "note": "$0.30 in · $2.50 out"},
            {"value": "qwen", "label": "Qwen3 32B", "note": "$0.10 in · $0.30 out"},
        ],
        "groups": [
            ("Managed models", [("gpt-4.1-mini", "GPT-4.1 mini"), ("haiku", "Claude Haiku 4.5")]),
            ("Baselines", [("random", "Random choice"), ("frequent", "Most frequent answer")]),
        ],
        "verdicts": [
            {"label": "All", "value": "", "count": 1319},
            {"label": "Failures", "value": "incorrect", "count": 214},
            {"label": "Disagreements", "value": "split", "count": 96},
            {"label": "Unreadable", "value": "unreadable", "count": 0, "disabled": True},
        ],
        "views": [
            {"label": "Scores", "href": "#", "is_current": True},
            {"label": "Cost", "href": "#"},
            {"label": "Latency", "href": "#"},
        ],
        "steps": [
            {"label": "Benchmark", "state": "done", "href": "#", "note": "GSM8K"},
            {"label": "Models", "state": "done", "href": "#", "note": "3"},
            {"label": "Settings", "state": "current"},
            {"label": "Quote", "state": "todo"},
        ],
        "tabs": [
            {"label": "Report", "href": "#", "is_current": True, "count": None},
            {"label": "Samples", "href": "#", "is_current": False, "count": 5276},
            {"label": "Receipt", "href": "#", "is_current": False, "count": None},
        ],
        "crumbs": [("Evaluations", "#"), ("Cobbe et al. replayed", "#"), ("Samples", "#")],
        "rows": [
            {
                "name": "175B, verification",
                "series": 1,
                "value": 0.563,
                "low": 0.536,
                "high": 0.589,
                "status": "completed",
                "cost": 345_356,
            },
            {"name": "6B, verification", "series": 2, "value": 0.390, "low": 0.364, "high": 0.417, "status": "running", "cost": 162_281},
            {"name": "175B, fine-tuning", "series": 3, "value": 0.347, "low": 0.322, "high": 0.373, "status": "partial", "cost": 235_365},
            {"name": "Most frequent answer", "series": 4, "value": None, "low": None, "high": None, "status": "queued", "cost": 0},
        ],
    }
