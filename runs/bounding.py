"""What the tasks of a quote may cost at the most: one aggregate over their sizes, and the arithmetic of prices on it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal
from typing import Any

from django.db import models
from django.db.models import Count, ExpressionWrapper, F, Max, Q, Sum

from catalog.models import BenchmarkVersion, Task
from gateway.metering import TOKENS_A_CALL, TOKENS_A_MESSAGE, Price, Tier, worst_case

PART = 5_000
"""Ordinals of one statement: a list may be too long for its parameters."""


@dataclass(frozen=True, slots=True)
class PromptSizes:
    """Of the tasks that are to be worked: how many, their bytes and messages, and the largest single one."""

    tasks: int
    prompt_bytes: int
    messages: int
    longest_bytes: int = 0
    most_messages: int = 0
    above: "tuple[PromptSizes, ...]" = ()
    """For each tier of the price, those of them whose worst-case input is above the tier's bound."""

    @property
    def input_tokens(self) -> int:
        """The sum of their worst-case inputs."""
        return self.prompt_bytes + TOKENS_A_MESSAGE * self.messages + TOKENS_A_CALL * self.tasks


NOTHING = PromptSizes(0, 0, 0)


def sizes_of(version: BenchmarkVersion, ordinals: Sequence[int] | None, price: Price) -> PromptSizes:
    """The sizes of the version's tasks at these ordinals, of all of them where it is None; and of those in reach of the price's tiers."""
    tasks = Task.objects.filter(version=version)
    bounds = [tier.above_input_tokens for tier in price.tiers]
    if ordinals is None or len(ordinals) == version.task_count:
        return _summed(tasks, version.task_count, bounds)
    parts = [_summed(tasks.filter(ordinal__in=ordinals[at : at + PART]), 0, bounds) for at in range(0, len(ordinals), PART)]
    return replace(combined(parts), tasks=len(ordinals))


def combined(sizes: Sequence[PromptSizes]) -> PromptSizes:
    """The sizes of several rounds of calls as one."""
    return PromptSizes(
        sum(size.tasks for size in sizes),
        sum(size.prompt_bytes for size in sizes),
        sum(size.messages for size in sizes),
        max((size.longest_bytes for size in sizes), default=0),
        max((size.most_messages for size in sizes), default=0),
        tuple(combined(same) for same in zip(*(size.above for size in sizes), strict=True)),
    )


_WORST_INPUT = ExpressionWrapper(
    F("prompt_bytes") + TOKENS_A_MESSAGE * F("message_count") + TOKENS_A_CALL, output_field=models.BigIntegerField()
)
"""`gateway.metering.worst_case_input_tokens` of a task."""


def _summed(tasks: Any, count: int, bounds: Sequence[int]) -> PromptSizes:
    """The sums over the tasks in one statement, and over those above each bound."""
    sums: dict[str, Any] = {
        "bytes": Sum("prompt_bytes"),
        "messages": Sum("message_count"),
        "longest": Max("prompt_bytes"),
        "most": Max("message_count"),
    }
    for bound in bounds:
        is_above = Q(worst_input__gt=bound)
        sums |= {
            f"tasks_{bound}": Count("pk", filter=is_above),
            f"bytes_{bound}": Sum("prompt_bytes", filter=is_above),
            f"messages_{bound}": Sum("message_count", filter=is_above),
        }
    found = {key: value or 0 for key, value in tasks.alias(worst_input=_WORST_INPUT).aggregate(**sums).items()}
    above = tuple(PromptSizes(found[f"tasks_{bound}"], found[f"bytes_{bound}"], found[f"messages_{bound}"]) for bound in bounds)
    return PromptSizes(count, found["bytes"], found["messages"], found["longest"], found["most"], above)


def ceiling_of(size: PromptSizes, price: Price, output_limit: int) -> int:
    """An upper bound of the sum of all calls' worst cases: each call rounds its usage and its fee up by less than one micro-USD.

    Where the price has tiers, the tasks that can reach one are counted at the dearest rates within their reach.
    """
    if price.is_free or not size.tasks:
        return 0
    exact = input_rate = output_rate = Decimal(0)
    levels: list[Price | Tier] = [price, *price.tiers]
    for part, beyond, level in zip((size, *size.above), (*size.above, NOTHING), levels, strict=True):
        input_rate = max(input_rate, level.input_rate, level.cached_input_rate)
        output_rate = max(output_rate, level.output_rate)
        exact += (part.input_tokens - beyond.input_tokens) * input_rate + (part.tasks - beyond.tasks) * output_limit * output_rate
    usage = _up(exact / 1_000_000) + size.tasks
    return usage + _up(usage * price.fee_percent / 100) + size.tasks


def least_of(size: PromptSizes, price: Price, output_limit: int) -> int:
    """The worst case of the largest planned attempt."""
    return worst_case(size.longest_bytes, size.most_messages, output_limit, price) if size.tasks else 0


def _up(value: Decimal) -> int:
    return int(value.to_integral_value(rounding=ROUND_CEILING))
