"""Runs' part of the check of the books: what a run spent is the sum of its calls, and its budget settled just that."""

from collections.abc import Iterator
from itertools import batched

from django.db.models import Exists, F, OuterRef, Q

from billing.checking import Difference, also_check, sum_of
from billing.models import Budget
from gateway.models import Call
from runs.models import Run, Sample, Subject

PART = 500
"""So many runs are compared with their budgets together."""
CHARGE = ("usage_microusd", "fee_microusd")


@also_check
def run_differences() -> Iterator[Difference]:
    """A sample = Σ its calls, a model = Σ its samples, a run = Σ its models, and its budget settled what the run spent.

    A sample that was carried over from an earlier run costs nothing and has no calls here; its origin has them.
    """
    called = sum_of(Call.objects.filter(source_id=OuterRef("public_id")), "source_id", *CHARGE)
    samples = Sample.objects.annotate(called=called).exclude(called=F("usage_microusd") + F("fee_microusd")).order_by("pk")
    for sample in samples.iterator():
        yield Difference(f"charge of sample {sample.public_id}", sample.charge_microusd, sample.called)
    lost = Call.objects.filter(Q(usage_microusd__gt=0) | Q(fee_microusd__gt=0))
    for call in lost.exclude(Exists(Sample.objects.filter(public_id=OuterRef("source_id")))).order_by("pk").iterator():
        yield Difference(f"charge of call {call.public_id}, which has no sample", call.charge_microusd, 0)
    sums = {name: sum_of(Sample.objects.filter(subject=OuterRef("pk")), "subject", name) for name in CHARGE}
    subjects = Subject.objects.annotate(usage=sums[CHARGE[0]], fee=sums[CHARGE[1]]).exclude(
        usage_microusd=F("usage"), fee_microusd=F("fee")
    )
    for subject in subjects.select_related("run").order_by("pk").iterator():
        for what, stands, expected in (("usage", subject.usage_microusd, subject.usage), ("fee", subject.fee_microusd, subject.fee)):
            if stands != expected:
                yield Difference(f"{what} of model {subject.index} of run {subject.run.public_id}", stands, expected)
    yield from _run_rows()


def _run_rows() -> Iterator[Difference]:
    runs = Run.objects.annotate(total=sum_of(Subject.objects.filter(run=OuterRef("pk")), "run", *CHARGE)).order_by("pk")
    for part in batched(runs.only("public_id", "spend_microusd").iterator(), PART):
        settled = dict(Budget.objects.filter(source__in=[run.budget_source for run in part]).values_list("source", "settled_microusd"))
        for run in part:
            if run.spend_microusd != run.total:
                yield Difference(f"spend of {run.budget_source}", run.spend_microusd, run.total)
            if settled.get(run.budget_source, 0) != run.total:
                yield Difference(f"settled of {run.budget_source}", settled.get(run.budget_source, 0), run.total)
