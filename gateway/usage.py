"""Token counts as providers report them, brought to one form: input with what was cached, output with reasoning, each token once. Pure.

Two things differ between providers: whether the input counts the tokens that came from a cache, and whether the output counts reasoning.
A report's own total decides that where it adds up in one way only. Else the route's quirk does, {"usage": {"input_excludes_cached": true,
"output_excludes_reasoning": true}}; else the names, for Anthropic's input leaves out what was cached; else it is as with OpenAI, where both
are counted. What cannot be is cut to what can: a reading that nothing proves never makes a count larger than the call allows.
"""

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any, NamedTuple

from catalog.enums import UsageQuirk

MAX_TOKENS = 100_000_000
"""No model takes or gives as many: a larger count is nonsense and counts as missing."""

_INPUT_DETAILS = ("prompt_tokens_details", "input_tokens_details")
_OUTPUT_DETAILS = ("completion_tokens_details", "output_tokens_details")


class Counts(NamedTuple):
    """What a report says: input with cached and output with reasoning; None where it does not say."""

    input_tokens: int | None
    cached_input_tokens: int
    output_tokens: int | None
    reasoning_tokens: int


def read_usage(usage: Any, *, quirks: Mapping[str, Any], most_input: Callable[[], int], output_limit: int) -> Counts:
    """The counts in a `usage` of any shape. `most_input` and `output_limit` are what the call can have used at the most.

    The most input is asked for only where it matters, as it means to measure the prompt.
    """
    if not isinstance(usage, dict):
        return Counts(None, 0, None, 0)
    cached = _detail(usage, _INPUT_DETAILS, "cached_tokens", "cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens")
    reasoning = _detail(usage, _OUTPUT_DETAILS, "reasoning_tokens", "reasoning_tokens")
    fresh, total = _count(usage.get("prompt_cache_miss_tokens")), _count(usage.get("total_tokens"))
    given_input, given_output = _first(usage, "prompt_tokens", "input_tokens"), _first(usage, "completion_tokens", "output_tokens")
    if given_input is None and fresh is not None:
        given_input = fresh + cached
    if total is not None:
        # A count that is left out, as some do with a 0, is what the total has beyond the other.
        if given_output is None and given_input is not None and 0 <= total - given_input <= output_limit:
            given_output = total - given_input
        elif given_input is None and given_output is not None and 0 < total - given_output <= most_input():
            given_input = total - given_output
    if given_input is None or given_output is None:
        total = None
    elif given_input + given_output == total and cached <= given_input and reasoning <= given_output:
        return Counts(given_input, cached, given_output, reasoning)  # the total proves that both are counted, as it mostly does
    stated = quirks.get("usage")
    stated = stated if isinstance(stated, dict) else {}
    written = _first(usage, "cache_creation_input_tokens") or 0
    inputs = (given_input or 0, (given_input or 0) + cached + written)
    outputs = (given_output or 0, (given_output or 0) + reasoning)
    likely = (
        stated.get(UsageQuirk.INPUT_EXCLUDES_CACHED, _is_named_without_cached(usage, given_input, cached, fresh)) is True,
        stated.get(UsageQuirk.OUTPUT_EXCLUDES_REASONING, total is None and outputs[0] < reasoning <= output_limit - outputs[0]) is True,
    )
    without_cached, without_reasoning = likely
    if total is not None:
        proven = [
            (no_cached, no_reasoning)
            for no_cached, no_reasoning in product((False, True), repeat=2)
            if inputs[no_cached] + outputs[no_reasoning] == total
            and (no_cached or cached <= inputs[0])
            and (no_reasoning or reasoning <= outputs[0])
        ]
        if proven:
            without_cached, without_reasoning = likely if likely in proven else proven[0]
        elif not reasoning and 0 < (beyond := total - inputs[without_cached] - outputs[0]) <= output_limit - outputs[0]:
            # Some count thinking in the total alone.
            reasoning = beyond
            outputs, without_reasoning = (outputs[0], outputs[0] + beyond), True
    read_input = None if given_input is None else inputs[without_cached]
    read_output = None if given_output is None else outputs[without_reasoning]
    return Counts(read_input, min(cached, read_input or 0), read_output, min(reasoning, read_output or 0))


def _is_named_without_cached(usage: dict[str, Any], given_input: int | None, cached: int, fresh: int | None) -> bool:
    """Whether the input is said to be the fresh tokens alone: by a count of those that equals it, or by being named as Anthropic does."""
    if fresh is not None and cached and given_input == fresh:
        return True
    return "prompt_tokens" not in usage and ("cache_read_input_tokens" in usage or "cache_creation_input_tokens" in usage)


def _first(usage: dict[str, Any], *names: str) -> int | None:
    """The first of the counts that is one."""
    return next((count for name in names if (count := _count(usage.get(name))) is not None), None)


def _detail(usage: dict[str, Any], groups: tuple[str, str], name: str, *others: str) -> int:
    """A count that stands in a group of details, or beside the other counts under its own or another name; 0 where nobody gives it."""
    for group in groups:
        details = usage.get(group)
        if isinstance(details, dict) and (count := _count(details.get(name))):
            return count
    return next((count for other in others if (count := _count(usage.get(other)))), 0)


def _count(value: Any) -> int | None:
    """A token count, or None where it is missing or nonsense. Careless servers write 20 as 20.0 or "20"; a half token is nonsense."""
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if not isinstance(value, int | float) or not 0 <= value <= MAX_TOKENS or value != int(value):
        return None
    return int(value)
