"""What the API answers about results and comparisons. They are frozen when a run ends, and served as stored."""

from typing import Any

from rest_framework import serializers

from common.serializers import AnyObject, Money, SignedMoney
from runs.enums import RunStatus, SubjectKind
from runs.serializers.shapes import BenchmarkOfRunShape, InterruptionShape, RatesShape, ReasonCountShape


class IntervalShape(serializers.Serializer[Any]):
    low = serializers.FloatField()
    high = serializers.FloatField()
    level = serializers.FloatField()
    method = serializers.CharField()


class MetricShape(serializers.Serializer[Any]):
    metric = serializers.CharField()
    name = serializers.CharField()
    value = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField()
    stderr = serializers.FloatField(allow_null=True)
    interval = IntervalShape(allow_null=True)


class GroupShape(serializers.Serializer[Any]):
    group = serializers.CharField(allow_blank=True)
    planned = serializers.IntegerField()
    n = serializers.IntegerField()
    value = serializers.FloatField(allow_null=True)
    interval = IntervalShape(allow_null=True)


class CountsShape(serializers.Serializer[Any]):
    """Cells: graded + errors + inconclusive + missing + excluded = planned."""

    planned = serializers.IntegerField()
    graded = serializers.IntegerField()
    correct = serializers.IntegerField(allow_null=True)
    incorrect = serializers.IntegerField(allow_null=True)
    errors = serializers.IntegerField()
    inconclusive = serializers.IntegerField()
    missing = serializers.IntegerField()
    excluded = serializers.IntegerField()
    truncated = serializers.IntegerField()
    unreadable = serializers.IntegerField()
    empty = serializers.IntegerField()


class ErrorCountShape(serializers.Serializer[Any]):
    code = serializers.CharField()
    count = serializers.IntegerField()


class UsageShape(serializers.Serializer[Any]):
    input_tokens = serializers.IntegerField()
    cached_input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    reasoning_tokens = serializers.IntegerField()
    estimated_calls = serializers.IntegerField()


class QuantilesShape(serializers.Serializer[Any]):
    """The least latency that so many percent of the graded answers do not exceed."""

    p5 = serializers.IntegerField()
    p10 = serializers.IntegerField()
    p25 = serializers.IntegerField()
    p50 = serializers.IntegerField()
    p75 = serializers.IntegerField()
    p90 = serializers.IntegerField()
    p95 = serializers.IntegerField()
    p99 = serializers.IntegerField()


class LatencyShape(serializers.Serializer[Any]):
    p50 = serializers.FloatField(allow_null=True)
    p95 = serializers.FloatField(allow_null=True)
    quantiles = QuantilesShape(allow_null=True)


class ResultSubjectShape(serializers.Serializer[Any]):
    index = serializers.IntegerField()
    label = serializers.CharField()
    kind = serializers.ChoiceField(choices=SubjectKind.values)
    benchmark_index = serializers.IntegerField()
    stopped = serializers.CharField(allow_null=True, help_text="The code it was stopped with.")
    headline = MetricShape(allow_null=True)
    metrics = MetricShape(many=True)
    groups = GroupShape(many=True)
    counts = CountsShape()
    bounds = AnyObject(allow_null=True)
    error_codes = ErrorCountShape(many=True)
    usage = UsageShape()
    latency_ms = LatencyShape(allow_null=True)
    charge_microusd = Money()
    answers_charge_microusd = Money(
        allow_null=True,
        help_text="What all of its answers cost, those taken over from a continued run too. Null where a provider bills them elsewhere.",
    )


class ResultCoverageShape(serializers.Serializer[Any]):
    """Tasks; `graded` are those that every subject finished."""

    planned = serializers.IntegerField()
    graded = serializers.IntegerField()
    missing = serializers.IntegerField()
    excluded = serializers.IntegerField()
    full = serializers.BooleanField()


class BillingOfResultShape(serializers.Serializer[Any]):
    state = serializers.CharField()
    usage_microusd = Money()
    platform_fee_microusd = Money()
    total_microusd = Money()


class OutputSelectionShape(serializers.Serializer[Any]):
    output_format = serializers.CharField()


class FlipsShape(serializers.Serializer[Any]):
    """Tasks on which a model changed: right then and wrong now, and the other way round."""

    to_wrong = serializers.IntegerField()
    to_right = serializers.IntegerField()


class DifferenceShape(serializers.Serializer[Any]):
    """A model's last completed run of the same version, before this one, and how this one differs on the tasks that both finished."""

    subject_index = serializers.IntegerField()
    benchmark_index = serializers.IntegerField()
    label = serializers.CharField()
    run_id = serializers.UUIDField()
    version = serializers.IntegerField()
    ended_at = serializers.DateTimeField(allow_null=True)
    headline = MetricShape(allow_null=True)
    same_tasks = serializers.BooleanField(help_text="Whether both runs had the same list of tasks.")
    unlike = serializers.ListField(child=serializers.CharField(), help_text="Why nothing is subtracted, such as `output_limit_differs`.")
    tasks_compared = serializers.IntegerField(help_text="Tasks that both runs had and finished; the difference is over them.")
    difference = serializers.FloatField(allow_null=True, help_text="Now less then; null where the runs are unlike or have no common task.")
    interval = IntervalShape(allow_null=True)
    p_value = serializers.FloatField(allow_null=True)
    p_method = serializers.CharField(allow_null=True)
    p_holm = serializers.FloatField(allow_null=True, help_text="Adjusted for the number of entries.")
    separable = serializers.BooleanField(allow_null=True)
    flips = FlipsShape(allow_null=True)


class ResultBenchmarkShape(BenchmarkOfRunShape):
    coverage = ResultCoverageShape(required=False)
    output_limit = serializers.IntegerField(allow_null=True, required=False)


class WeightShape(serializers.Serializer[Any]):
    profile_id = serializers.CharField()
    weight = serializers.FloatField(help_text="As it was stated.")
    share = serializers.FloatField(help_text="Of all weights, from 0 to 1.")


class CompositeScoreShape(serializers.Serializer[Any]):
    index = serializers.IntegerField()
    label = serializers.CharField()
    value = serializers.FloatField()
    stderr = serializers.FloatField(allow_null=True)
    interval = IntervalShape(allow_null=True)


class CompositeShape(serializers.Serializer[Any]):
    """The weighted mean of the benchmarks' scores, of the models that have all of them."""

    weights = WeightShape(many=True)
    subjects = CompositeScoreShape(many=True)


class ChainRunShape(serializers.Serializer[Any]):
    run_id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=RunStatus.values)
    interruption = InterruptionShape(allow_null=True)
    created_at = serializers.DateTimeField()
    processed = serializers.IntegerField(help_text="Cells that were finished by its end, those it took over among them.")
    charge_microusd = Money(help_text="What it was charged itself.")


class ResultShape(serializers.Serializer[Any]):
    run_id = serializers.UUIDField()
    version = serializers.IntegerField()
    sha256 = serializers.CharField(help_text="Of the canonical JSON of this document without this field, `chain` and `diff`.")
    status = serializers.ChoiceField(choices=RunStatus.values)
    benchmark = BenchmarkOfRunShape(allow_null=True)
    benchmarks = ResultBenchmarkShape(many=True)
    selection = OutputSelectionShape()
    grading = serializers.IntegerField()
    attempts_per_task = serializers.IntegerField(required=False)
    coverage = ResultCoverageShape()
    subjects = ResultSubjectShape(many=True, help_text="One entry for each model on each benchmark.")
    composite = CompositeShape(allow_null=True, required=False, help_text="Null where no weights were stated.")
    billing = BillingOfResultShape()
    notices = serializers.ListField(child=serializers.CharField())
    chain = ChainRunShape(
        many=True, required=False, help_text="With `include_resumed`, where the run was continued: the runs that the result rests on."
    )
    diff = DifferenceShape(many=True, required=False, help_text="With `diff=previous`.")


class ExcludedSubjectShape(serializers.Serializer[Any]):
    subject_index = serializers.IntegerField()
    reason = serializers.CharField()


class RankShape(serializers.Serializer[Any]):
    rank = serializers.IntegerField()
    rank_label = serializers.CharField()
    rank_range = serializers.ListField(child=serializers.IntegerField(), min_length=2, max_length=2)
    group = serializers.CharField(allow_blank=True)
    subject_index = serializers.IntegerField()
    label = serializers.CharField()
    score = serializers.FloatField(allow_null=True)
    stderr = serializers.FloatField(allow_null=True)
    interval = IntervalShape(allow_null=True)
    charge_microusd = Money()
    cheapest_within_one_stderr = serializers.BooleanField()


class PairShape(serializers.Serializer[Any]):
    a = serializers.IntegerField()
    b = serializers.IntegerField()
    difference = serializers.FloatField(allow_null=True)
    stderr = serializers.FloatField(allow_null=True)
    interval = IntervalShape(allow_null=True)
    both = serializers.IntegerField(allow_null=True)
    a_only = serializers.IntegerField(allow_null=True)
    b_only = serializers.IntegerField(allow_null=True)
    neither = serializers.IntegerField(allow_null=True)
    p_exact = serializers.FloatField(allow_null=True)
    p_mid = serializers.FloatField(allow_null=True)
    p_value = serializers.FloatField(allow_null=True)
    p_method = serializers.CharField(allow_null=True)
    p_holm = serializers.FloatField(allow_null=True)
    separable = serializers.BooleanField()
    tasks_needed = serializers.IntegerField(
        required=False,
        allow_null=True,
        help_text="About how many more tasks would tell them apart at this difference: an estimate, null where they are told apart.",
    )


class CompareShape(serializers.Serializer[Any]):
    """Which models are ahead of which, over the tasks that all of them finished."""

    run_id = serializers.UUIDField()
    profile_id = serializers.CharField()
    metric = serializers.CharField()
    tasks_compared = serializers.IntegerField()
    tasks_planned = serializers.IntegerField()
    winner_named = serializers.BooleanField()
    bounds = serializers.JSONField()
    dropped = ReasonCountShape(many=True)
    excluded = ExcludedSubjectShape(many=True)
    ranking = RankShape(many=True)
    pairs = PairShape(many=True)
    notices = serializers.ListField(child=serializers.CharField())
    outlook = serializers.CharField(required=False, allow_null=True, help_text="What more tasks would show, in a sentence.")
    summary = serializers.CharField()


class EntryOfReceiptShape(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    kind = serializers.CharField()
    amount_microusd = SignedMoney()
    balance_after_microusd = SignedMoney()
    note = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()


class ReceiptQuoteShape(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    sha256 = serializers.CharField()
    max_charge_microusd = Money(allow_null=True)


class PriceShape(serializers.Serializer[Any]):
    label = serializers.CharField()
    pricing = RatesShape()


class ReceiptSubjectShape(serializers.Serializer[Any]):
    index = serializers.IntegerField()
    label = serializers.CharField()
    external_charges = serializers.BooleanField(help_text="Whether its own provider bills the calls, which cost nothing here.")
    estimated_calls = serializers.IntegerField(
        allow_null=True, help_text="Calls whose provider gave no usage, so that it was estimated; null before there is a result."
    )
    usage_microusd = Money()
    platform_fee_microusd = Money()
    total_microusd = Money()


class ResultReferenceShape(serializers.Serializer[Any]):
    version = serializers.IntegerField()
    sha256 = serializers.CharField()


class ReceiptShape(serializers.Serializer[Any]):
    """What was quoted, what was used and what it cost; the entries add up to the total."""

    run_id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=RunStatus.values)
    state = serializers.ChoiceField(choices=("running", "settled"))
    quote = ReceiptQuoteShape()
    price_version = serializers.CharField()
    prices = PriceShape(many=True)
    platform_fee_percent = serializers.CharField()
    subjects = ReceiptSubjectShape(many=True)
    usage_microusd = Money()
    platform_fee_microusd = Money()
    total_microusd = Money()
    ledger_entries = EntryOfReceiptShape(many=True)
    result = ResultReferenceShape(allow_null=True)


class ExportShape(serializers.Serializer[Any]):
    """A result with identities and settings, and with its samples where the format and the version's export policy allow."""

    schema = serializers.CharField()
    run_id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=RunStatus.values)
    benchmark = AnyObject(allow_null=True, help_text="Null with several benchmarks, as are the next three; `benchmarks` has each.")
    export_policy = serializers.CharField(allow_null=True)
    coverage = AnyObject(allow_null=True)
    generation = AnyObject(allow_null=True)
    benchmarks = serializers.ListField(child=AnyObject())
    routing = serializers.ListField(child=AnyObject())
    result = ResultShape()
    comparisons = serializers.ListField(child=AnyObject())
    answers_expired = serializers.BooleanField(required=False, help_text="Only in `json`: what the models said was deleted.")
    samples = serializers.ListField(child=AnyObject(), allow_null=True, required=False, help_text="Only in `json`.")
