"""Parsing what people type on the pages of runs. Whether it can be done is decided by the actions."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import QueryDict

from common.forms import UsdField
from runs.enums import CoverageMode

MOST_SUBJECTS = 8
MOST_BENCHMARKS = 8
MOST_ATTEMPTS = 16
DEFAULT_SAMPLE = 25
NAME_KEYS = {"managed": "route_id", "connection": "connection_id", "baseline": "name", "recorded": "recorded_model_id"}
"""The kinds of models that can be chosen, and under which key the API names each."""
EFFORTS = ("minimal", "low", "medium", "high")

REASONING_CHOICES = [
    ("", "As the route does by default"),
    ("minimal", "Minimal effort"),
    ("low", "Low effort"),
    ("medium", "Medium effort"),
    ("high", "High effort"),
    ("budget", "A budget of tokens"),
]

STEPS = ("benchmark", "models", "tasks", "settings")
STEP_FIELDS = {
    "benchmark": ("benchmark", "more"),
    "models": ("subjects",),
    "tasks": ("coverage", "sample_count", "seed", "task_ids", "tasks"),
    "settings": ("attempts", "weights", "max_output_tokens", "reasoning", "reasoning_budget", "concurrency", "cap", "name"),
}
"""Which step of a new evaluation asks for what."""

FIELD_OF_REFUSAL = {
    "benchmark_not_found": "benchmark",
    "ambiguous_benchmark": "benchmark",
    "benchmark_named_twice": "benchmark",
    "version_retired": "benchmark",
    "benchmark_retired": "benchmark",
    "model_not_found": "subjects",
    "ambiguous_model": "subjects",
    "incompatible_model": "subjects",
    "connection_unchecked": "subjects",
    "connection_not_found": "subjects",
    "task_not_found": "task_ids",
    "sample_too_large": "sample_count",
    "cap_below_minimum": "cap",
}


class SubjectsField(forms.Field):
    """One to eight models, each as `managed:<route>`, `connection:<ID>`, `baseline:<name>` or `recorded:<ID>`; cleaned to the API's
    subject objects.
    """

    widget = forms.SelectMultiple

    def clean(self, value: Any) -> list[dict[str, str]]:
        chosen = list(dict.fromkeys(value or []))
        if not chosen:
            raise forms.ValidationError("Choose at least one model or baseline.")
        if len(chosen) > MOST_SUBJECTS:
            raise forms.ValidationError(f"Choose at most {MOST_SUBJECTS}: {len(chosen)} are chosen.")
        return [self._subject(text) for text in chosen]

    @staticmethod
    def _subject(text: str) -> dict[str, str]:
        kind, _, name = text.partition(":")
        if kind not in NAME_KEYS or not name:
            raise forms.ValidationError("One of the chosen models is not on the list any more. Choose again.")
        return {"kind": kind, NAME_KEYS[kind]: name}


class ListField(forms.Field):
    """Values that a form sends under one name, as texts, each once; empty ones are left out."""

    widget = forms.SelectMultiple

    def clean(self, value: Any) -> list[str]:
        return [text for text in dict.fromkeys(str(each).strip()[:200] for each in value or []) if text]


class WeightsField(forms.Field):
    """One weight for each benchmark, in their order; None where all are left empty."""

    widget = forms.SelectMultiple

    def clean(self, value: Any) -> list[float] | None:
        texts = [str(each).strip() for each in value or []]
        if not any(texts):
            return None
        try:
            weights = [float(text) for text in texts]
        except ValueError:
            weights = [0.0]
        if not all(0 < weight <= 1_000_000 for weight in weights):
            raise forms.ValidationError(
                "Give each benchmark a weight above 0, such as 1, or leave all of them empty for no composite score."
            )
        return weights


class SetupForm(forms.Form):
    """A whole evaluation as a person sets it up. `as_request` is the body that the API would take."""

    workspace = forms.UUIDField(widget=forms.HiddenInput)
    benchmark = forms.CharField(max_length=200, widget=forms.HiddenInput, error_messages={"required": "Choose a benchmark."})
    more = ListField(required=False)
    subjects = SubjectsField()
    attempts = forms.IntegerField(min_value=1, max_value=MOST_ATTEMPTS, required=False)
    weights = WeightsField(required=False)
    reuse_from = forms.UUIDField(required=False, widget=forms.HiddenInput)
    name = forms.CharField(max_length=160, required=False)
    concurrency = forms.IntegerField(min_value=1, max_value=256, required=False)
    max_output_tokens = forms.IntegerField(min_value=1, max_value=1_000_000, required=False)
    reasoning = forms.ChoiceField(choices=REASONING_CHOICES, required=False)
    reasoning_budget = forms.IntegerField(min_value=1, max_value=1_000_000, required=False)
    coverage = forms.ChoiceField(choices=CoverageMode.choices)
    sample_count = forms.IntegerField(min_value=1, max_value=1000, required=False)
    seed = forms.IntegerField(min_value=0, max_value=2**31 - 1, required=False)
    task_ids = forms.CharField(required=False, max_length=500_000, widget=forms.Textarea)
    cap = UsdField(required=False)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        mode = data.get("coverage")
        if mode == CoverageMode.SAMPLE and "sample_count" in data and data["sample_count"] is None:
            self.add_error("sample_count", "Say how many tasks to draw, from 1 to 1,000.")
        if mode == CoverageMode.TASKS and not self._task_ids():
            self.add_error("task_ids", "Choose at least one task, or paste its ID.")
        if data.get("reasoning") == "budget" and not data.get("reasoning_budget"):
            self.add_error("reasoning_budget", "Say how many tokens the model may reason with.")
        if len(data.get("more") or []) >= MOST_BENCHMARKS:
            self.add_error("benchmark", f"Choose at most {MOST_BENCHMARKS} benchmarks.")
        if data.get("more") and mode == CoverageMode.TASKS:
            self.add_error("coverage", "Chosen tasks are of one benchmark. Take a sample or all tasks of each.")
        return data

    def _task_ids(self) -> list[str]:
        lines = (line.strip() for line in self.cleaned_data.get("task_ids", "").splitlines())
        return list(dict.fromkeys(line for line in lines if line))

    def as_request(self) -> dict[str, Any]:
        data = self.cleaned_data
        benchmarks = [data["benchmark"], *data["more"]]
        request: dict[str, Any] = {
            "selection": {"profile_ids": benchmarks, "output_format": "default"},
            "coverage": self._coverage(),
        }
        if data["weights"] is not None and len(benchmarks) > 1:
            request["selection"]["weights"] = data["weights"]
        if data["reuse_from"]:
            request["reuse_from"] = str(data["reuse_from"])
        subjects = data["subjects"]
        if len(subjects) == 1:
            request["model"] = subjects[0]
        else:
            request["subjects"] = subjects
        if data["reasoning"] == "budget":
            request["reasoning"] = {"budget_tokens": data["reasoning_budget"]}
        elif data["reasoning"]:
            request["reasoning"] = {"effort": data["reasoning"]}
        for key in ("attempts", "concurrency", "max_output_tokens", "name"):
            if data[key]:
                request[key] = data[key]
        if data["cap"] is not None:
            request["max_charge_microusd"] = str(data["cap"])
        return request

    def _coverage(self) -> dict[str, Any]:
        data = self.cleaned_data
        if data["coverage"] == CoverageMode.SAMPLE:
            return {"mode": "sample", "sample_count": data["sample_count"], "seed": data["seed"] or 0}
        if data["coverage"] == CoverageMode.TASKS:
            return {"mode": "tasks", "task_ids": self._task_ids()}
        return {"mode": "full"}


@dataclass
class Setup:
    """The state of the new-evaluation page as its address or its form carries it: everything is text and nothing need be valid yet."""

    benchmark: str = ""
    more: list[str] = field(default_factory=list)
    """Further benchmarks."""
    subjects: list[str] = field(default_factory=list)
    attempts: str = ""
    weights: list[str] = field(default_factory=list)
    reuse_from: str = ""
    """The run whose finished answers are taken over."""
    name: str = ""
    concurrency: str = ""
    max_output_tokens: str = ""
    reasoning: str = ""
    reasoning_budget: str = ""
    coverage: str = CoverageMode.SAMPLE.value
    sample_count: str = str(DEFAULT_SAMPLE)
    seed: str = "0"
    tasks: str = ""
    """The chosen tasks as `runs.picking` writes them."""
    task_ids: str = ""
    """IDs as typed or pasted, that are not on that list yet."""
    cap: str = ""
    step: str = ""

    @classmethod
    def from_query(cls, query: QueryDict) -> "Setup":
        """What is named in the query, the rest as by default."""
        setup = cls(weights=query.getlist("weights"))
        for key in ("subjects", "more"):
            setattr(setup, key, list(dict.fromkeys(each for each in query.getlist(key) if each)))
        for key, value in vars(setup).items():
            if isinstance(value, str) and key in query:
                setattr(setup, key, query[key])
        if setup.coverage not in CoverageMode.values:
            setup.coverage = CoverageMode.SAMPLE.value
        if setup.step not in STEPS:
            setup.step = ""
        return setup

    @classmethod
    def from_quote(cls, request: dict[str, Any], plan: dict[str, Any]) -> "Setup":
        """The setup that quotes the same again: names as the plan resolved them, settings as the request had them."""
        setup = cls(name=str(request.get("name") or ""))
        setup.benchmark, *setup.more = [benchmark["profile_id"] for benchmark in plan["benchmarks"]]
        setup.weights = [f"{weight:g}" for weight in plan.get("weights") or []]
        setup.attempts = str(plan["attempts_per_task"]) if plan["attempts_per_task"] > 1 else ""
        setup.reuse_from = str(request.get("reuse_from") or "")
        setup.subjects = [text for text in (_subject_text(subject["model"]) for subject in plan["subjects"]) if text]
        for key in ("concurrency", "max_output_tokens"):
            setattr(setup, key, str(request.get(key) or ""))
        reasoning = request.get("reasoning") or {}
        if "budget_tokens" in reasoning:
            setup.reasoning, setup.reasoning_budget = "budget", str(reasoning["budget_tokens"])
        else:
            setup.reasoning = str(reasoning.get("effort") or "")
        coverage = request.get("coverage") or {}
        setup.coverage = str(coverage.get("mode") or CoverageMode.SAMPLE.value)
        setup.sample_count = str(coverage.get("sample_count") or DEFAULT_SAMPLE)
        setup.seed = str(coverage.get("seed") or 0)
        setup.task_ids = "\n".join(coverage.get("task_ids") or [])
        setup.step = "settings"
        if cap := request.get("max_charge_microusd"):
            whole, rest = divmod(int(cap), 1_000_000)
            setup.cap = f"{whole}.{rest:06d}".rstrip("0").rstrip(".")
        return setup

    def query(self, *, without: str = "") -> str:
        """The query string that gives this setup again, without what is as by default and without one named field."""
        default = Setup()
        pairs: list[tuple[str, Any]] = [
            (key, value) for key, value in vars(self).items() if value and value != getattr(default, key) and key != without
        ]
        return urlencode(pairs, doseq=True)

    def pairs(self, *, but_step: str) -> list[tuple[str, str]]:
        """Names and values of all fields that a step's form does not show, for its hidden inputs."""
        shown = {*STEP_FIELDS[but_step], "step", "benchmark"} - {"more"}
        found: list[tuple[str, str]] = []
        for key, value in vars(self).items():
            if key not in shown:
                found += [(key, each) for each in (value if isinstance(value, list) else [value]) if each]
        return found

    @property
    def task_total(self) -> int | None:
        """How many tasks are to be drawn, where that is a number; None for all tasks."""
        if self.coverage == CoverageMode.SAMPLE and len(self.sample_count) < 9:
            return int(self.sample_count) if self.sample_count.isdecimal() and self.sample_count.isascii() else None
        return None


def _subject_text(subject: dict[str, Any]) -> str:
    for kind, key in NAME_KEYS.items():
        if subject.get("kind") == kind and subject.get(key):
            return f"{kind}:{subject[key]}"
    return ""


class ContinueForm(forms.Form):
    """How an interrupted run is to go on. `unknown` is about calls that were on their way when it was cancelled."""

    cap = UsdField(
        required=False,
        label="Cap, USD",
        help_text="The most that the rest may charge. Without one, the workspace's credit bounds it.",
    )
    unknown = forms.ChoiceField(
        required=False,
        choices=[("", "Ask me"), ("retry", "Run them again"), ("leave", "Leave them out of the result")],
        widget=forms.HiddenInput,
    )
    accept_duplicates = forms.BooleanField(required=False, widget=forms.HiddenInput)
    include_cancelled = forms.BooleanField(required=False, widget=forms.HiddenInput)

    def ask(self, code: str) -> None:
        """Show the field that answers a refusal."""
        if code == "unknown_outcomes_left_out":
            self.fields["unknown"] = forms.ChoiceField(
                label="Calls of unknown outcome",
                choices=[("retry", "Run them again"), ("leave", "Leave them out of the result")],
                widget=forms.RadioSelect,
                required=False,
            )
        if code == "duplicate_provider_charges":
            self.fields["accept_duplicates"] = forms.BooleanField(label="My provider may bill these calls twice", required=False)
