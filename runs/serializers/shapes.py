"""What the API answers about quotes and runs. The documents are made by `runs.documents`; these describe them in the schema."""

from typing import Any

from rest_framework import serializers

from common.serializers import AnyObject, Money
from runs.enums import Flag, InterruptionReason, Phase, QuoteStatus, RunStatus, SampleStatus, SubjectKind, SubjectStatus


class BenchmarkOfRunShape(serializers.Serializer[Any]):
    profile_id = serializers.CharField()
    slug = serializers.CharField()
    version = serializers.IntegerField()
    name = serializers.CharField()
    capability = serializers.CharField()
    private = serializers.BooleanField()


class CoverageShape(serializers.Serializer[Any]):
    """Which tasks, in tasks."""

    mode = serializers.CharField()
    tasks = serializers.IntegerField()
    population = serializers.IntegerField()
    seed = serializers.IntegerField(allow_null=True)
    stratified = serializers.BooleanField()
    excluded = serializers.IntegerField()


class RunBenchmarkShape(BenchmarkOfRunShape):
    """A benchmark of a run, with its own tasks."""

    coverage = CoverageShape()
    output_limit = serializers.IntegerField()


class TierShape(serializers.Serializer[Any]):
    """The rates of a whole call whose input is above so many tokens, cached ones included."""

    above_input_tokens = serializers.IntegerField()
    input_microusd_per_mtok = serializers.CharField()
    cached_input_microusd_per_mtok = serializers.CharField()
    output_microusd_per_mtok = serializers.CharField()


class RatesShape(serializers.Serializer[Any]):
    """Micro-USD a million tokens, as decimal strings."""

    input_microusd_per_mtok = serializers.CharField()
    cached_input_microusd_per_mtok = serializers.CharField()
    output_microusd_per_mtok = serializers.CharField()
    tiers = TierShape(many=True, required=False, help_text="Only where long inputs have another price, by rising bounds.")


class SubjectModelShape(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(choices=SubjectKind.values)


class SubjectReasoningShape(serializers.Serializer[Any]):
    effort = serializers.CharField(allow_null=True)
    budget_tokens = serializers.IntegerField(allow_null=True)
    source = serializers.CharField()


class PlannedSubjectShape(serializers.Serializer[Any]):
    index = serializers.IntegerField()
    label = serializers.CharField()
    model = SubjectModelShape()
    external_charges = serializers.BooleanField()
    pricing = RatesShape()
    reasoning = SubjectReasoningShape()
    output_limit = serializers.IntegerField(allow_null=True)
    cap_share_microusd = Money(allow_null=True)


class PlanPricingShape(serializers.Serializer[Any]):
    platform_fee_percent = serializers.CharField()
    minimum_cap_microusd = Money()
    ceiling_microusd = Money(help_text="The worst case of every call: a ceiling, not a forecast.")


class ResolutionShape(serializers.Serializer[Any]):
    smallest_difference = serializers.FloatField(allow_null=True)
    assumed_disagreement = serializers.FloatField()


class DeliveryShape(serializers.Serializer[Any]):
    """What the models receive, and what they never do."""

    receives = serializers.ListField(child=serializers.CharField())
    never_receives = serializers.ListField(child=serializers.CharField())
    grader = serializers.CharField()
    output_limit = serializers.IntegerField()
    few_shot = serializers.IntegerField()
    attempts = serializers.IntegerField()
    tries = serializers.CharField()


class ReasonCountShape(serializers.Serializer[Any]):
    reason = serializers.CharField()
    count = serializers.IntegerField()


class ContinuationShape(serializers.Serializer[Any]):
    source_run = serializers.UUIDField()
    reused = serializers.IntegerField()
    rerun = serializers.IntegerField()
    pending = serializers.IntegerField()
    left_out = ReasonCountShape(many=True)
    saved_response_cells = serializers.IntegerField()
    unknown_retry = serializers.IntegerField()
    evidence_expires_at = serializers.DateTimeField(allow_null=True)


class WarningShape(serializers.Serializer[Any]):
    code = serializers.CharField()
    message = serializers.CharField()


class EvidenceShape(serializers.Serializer[Any]):
    """What a task really cost in this workspace's earlier runs of the version and model: a record, neither a forecast nor a promise.

    Money is only there for managed models, whose tasks were charged here.
    """

    subject_index = serializers.IntegerField()
    count = serializers.IntegerField(help_text="Answered tasks that were counted, at most 1,000 of the newest runs.")
    runs = serializers.IntegerField(help_text="The runs that they are of.")
    median_input_tokens_per_task = serializers.IntegerField()
    median_output_tokens_per_task = serializers.IntegerField()
    least_microusd_per_task = Money(required=False)
    median_microusd_per_task = Money(required=False)
    most_microusd_per_task = Money(required=False)
    mean_microusd_per_task = Money(required=False, help_text="Rounded up.")
    tasks_asked = serializers.IntegerField(required=False)
    tasks_asked_at_mean_microusd = Money(required=False, help_text="What the tasks asked now would come to at that mean.")
    same_price = serializers.BooleanField(required=False, help_text="Whether all were charged at the price of this quote.")


class PlannedBenchmarkShape(RunBenchmarkShape):
    """A benchmark of a plan, with everything that belongs to it alone."""

    task_list_sha256 = serializers.CharField()
    ceiling_microusd = Money()
    resolution = ResolutionShape()
    evidence = EvidenceShape(many=True, allow_null=True, help_text="Of the subjects that have some; null where none has.")
    delivery = DeliveryShape()


class ReuseShape(serializers.Serializer[Any]):
    """What is taken over from an earlier run, without continuing it; in cells."""

    source_run = serializers.UUIDField()
    reused = serializers.IntegerField()
    pending = serializers.IntegerField()
    reused_by_subject = serializers.ListField(child=serializers.IntegerField())
    lower_limit = serializers.IntegerField(
        allow_null=True, help_text="The output limit of the earlier run, where this one raises it: answers that it did not cut are kept."
    )
    unknown_retry = serializers.IntegerField()
    evidence_expires_at = serializers.DateTimeField(allow_null=True)


class PlanShape(serializers.Serializer[Any]):
    benchmark = BenchmarkOfRunShape(allow_null=True)
    benchmarks = PlannedBenchmarkShape(many=True)
    coverage = CoverageShape(help_text="Of all benchmarks together.")
    subjects = PlannedSubjectShape(many=True)
    total_tasks = serializers.IntegerField()
    attempts_per_task = serializers.IntegerField()
    concurrency = serializers.IntegerField()
    pricing = PlanPricingShape()
    weights = serializers.ListField(child=serializers.FloatField(), allow_null=True, help_text="Of the benchmarks in a composite score.")
    resolution = ResolutionShape(allow_null=True, help_text="Here and below: null where there are several benchmarks, each with its own.")
    task_list_sha256 = serializers.CharField(allow_null=True)
    evidence = EvidenceShape(many=True, allow_null=True, help_text="Of the subjects that have some; null where none has.")
    delivery = DeliveryShape(allow_null=True)
    continuation = ContinuationShape(allow_null=True)
    reuse = ReuseShape(allow_null=True)
    warnings = WarningShape(many=True)


class RetentionShape(serializers.Serializer[Any]):
    samples_days = serializers.IntegerField()


class QuoteShape(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=[*QuoteStatus.values, "expired"])
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    price_version = serializers.CharField()
    sha256 = serializers.CharField(help_text="Of the plan, as canonical JSON.")
    name = serializers.CharField(allow_null=True)
    request = AnyObject()
    max_charge_microusd = Money(allow_null=True)
    plan = PlanShape()
    retention = RetentionShape()
    run_id = serializers.UUIDField(allow_null=True, help_text="The run that it was started as.")


class StoppedShape(serializers.Serializer[Any]):
    code = serializers.CharField()
    message = serializers.CharField()


class RunSubjectShape(serializers.Serializer[Any]):
    """A model's running figures; they count cells."""

    index = serializers.IntegerField()
    label = serializers.CharField()
    model = SubjectModelShape()
    status = serializers.ChoiceField(choices=SubjectStatus.values)
    stopped = StoppedShape(allow_null=True)
    processed = serializers.IntegerField()
    planned = serializers.IntegerField()
    graded = serializers.IntegerField()
    correct = serializers.IntegerField()
    errors = serializers.IntegerField()
    spend_microusd = Money()


class ProgressShape(serializers.Serializer[Any]):
    """Counts cells: subject × task × attempt."""

    schema = serializers.CharField()
    phase = serializers.ChoiceField(choices=Phase.values)
    processed = serializers.IntegerField()
    planned = serializers.IntegerField()
    percent = serializers.FloatField()
    errors = serializers.IntegerField()
    spend_microusd = Money()
    elapsed_seconds = serializers.FloatField(allow_null=True)


class BudgetShape(serializers.Serializer[Any]):
    max_charge_microusd = Money(allow_null=True)
    bound_microusd = Money()
    settled_microusd = Money()
    reserved_microusd = Money()
    free_microusd = Money()


class InterruptionShape(serializers.Serializer[Any]):
    reason = serializers.ChoiceField(choices=InterruptionReason.values)
    limit = serializers.CharField(allow_null=True)
    message = serializers.CharField()
    unfinished = serializers.IntegerField()


class RunShape(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField(allow_null=True, allow_blank=True)
    status = serializers.ChoiceField(choices=RunStatus.values)
    phase = serializers.ChoiceField(choices=Phase.values)
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    cancel_requested_at = serializers.DateTimeField(allow_null=True)
    deadline_at = serializers.DateTimeField()
    workspace_id = serializers.UUIDField()
    benchmark = BenchmarkOfRunShape(allow_null=True)
    benchmarks = RunBenchmarkShape(many=True)
    coverage = CoverageShape(help_text="Of all benchmarks together.")
    attempts_per_task = serializers.IntegerField()
    request = AnyObject()
    metadata = AnyObject()
    quote_id = serializers.UUIDField()
    report_url = serializers.CharField()
    subjects = RunSubjectShape(many=True)
    progress = ProgressShape()
    budget = BudgetShape(allow_null=True)
    interruption = InterruptionShape(allow_null=True)
    continued_from = serializers.UUIDField(allow_null=True)
    continued_by = serializers.UUIDField(allow_null=True)
    result_version = serializers.IntegerField(allow_null=True)


class EventShape(serializers.Serializer[Any]):
    sequence = serializers.IntegerField()
    type = serializers.CharField()
    created_at = serializers.DateTimeField()
    data = AnyObject()


class AttemptShape(serializers.Serializer[Any]):
    """A finished cell as an attempt: its call in brief."""

    id = serializers.UUIDField()
    sample_id = serializers.UUIDField()
    number = serializers.IntegerField()
    outcome = serializers.CharField(help_text="Of the call; of the sample where there was none, as for a baseline.")
    error_code = serializers.CharField(allow_null=True)
    charged = serializers.BooleanField()
    latency_ms = serializers.IntegerField(allow_null=True)
    provider_status = serializers.IntegerField(allow_null=True)


class SampleUsageShape(serializers.Serializer[Any]):
    input_tokens = serializers.IntegerField()
    cached_input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    reasoning_tokens = serializers.IntegerField()
    estimated = serializers.BooleanField(help_text="Whether the provider gave no usage, so that it was estimated.")


class NoteShape(serializers.Serializer[Any]):
    """A person's words on an answer."""

    id = serializers.UUIDField()
    text = serializers.CharField()
    author = serializers.CharField()
    run_id = serializers.UUIDField(help_text="The run it was written in: an answer is the same in each run that took it over.")
    created_at = serializers.DateTimeField()
    edited_at = serializers.DateTimeField(allow_null=True)


class OverrideShape(serializers.Serializer[Any]):
    """A person's verdict on an answer. The grader's stands beside it, and alone makes the result."""

    id = serializers.UUIDField()
    verdict = serializers.ChoiceField(choices=("correct", "incorrect"))
    score = serializers.FloatField()
    reason = serializers.CharField()
    author = serializers.CharField()
    run_id = serializers.UUIDField(help_text="The run it was given in.")
    created_at = serializers.DateTimeField()
    state = serializers.ChoiceField(choices=("current", "replaced", "withdrawn"))
    withdrawn_at = serializers.DateTimeField(allow_null=True)
    withdrawn_by = serializers.CharField(allow_null=True)


class SampleShape(serializers.Serializer[Any]):
    """A finished cell."""

    id = serializers.UUIDField()
    subject_index = serializers.IntegerField()
    benchmark_index = serializers.IntegerField()
    task_id = serializers.CharField()
    ordinal = serializers.IntegerField()
    position = serializers.IntegerField(help_text="Its place in the run's own task list.")
    attempt = serializers.IntegerField()
    group = serializers.CharField(allow_null=True, allow_blank=True)
    status = serializers.ChoiceField(choices=SampleStatus.values)
    correct = serializers.BooleanField(allow_null=True)
    score = serializers.FloatField(allow_null=True)
    metrics = AnyObject()
    extracted = serializers.CharField(allow_null=True, allow_blank=True)
    reason = serializers.CharField(allow_null=True, allow_blank=True)
    error_code = serializers.CharField(allow_null=True)
    flags = serializers.ListField(child=serializers.ChoiceField(choices=Flag.values))
    finish_reason = serializers.CharField(allow_null=True)
    usage = SampleUsageShape()
    charge_microusd = Money()
    latency_ms = serializers.IntegerField(allow_null=True)
    origin = serializers.UUIDField(
        allow_null=True, help_text="The sample of an earlier run that this one was copied from, and was charged as."
    )
    notes = serializers.IntegerField(help_text="How many notes people wrote on the answer.")
    override = OverrideShape(allow_null=True, help_text="The verdict of a person that counts beside the grader's.")


class MessageShape(serializers.Serializer[Any]):
    role = serializers.CharField()
    content = serializers.CharField(allow_blank=True)


class SampleDetailShape(SampleShape):
    """One sample with what was said, as the version's export policy allows."""

    messages = MessageShape(many=True, allow_null=True)
    response = serializers.CharField(allow_null=True, allow_blank=True)
    reasoning = serializers.CharField(allow_null=True, allow_blank=True)
    reference = serializers.JSONField()
    choices = serializers.ListField(child=serializers.CharField(allow_blank=True), allow_null=True)
    grading = AnyObject(allow_null=True)
    content_expired = serializers.BooleanField(help_text="Whether what was said is past its retention.")
    calls = serializers.ListField(child=AnyObject(), allow_null=True)
