"""Each of input, cached input, output and reasoning tokens is counted once, whatever the provider reports, and no lie costs more."""

from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from gateway.metering import Price, settle, worst_case
from gateway.replies import read_reply
from gateway.usage import read_usage

LIMIT = 1_000
EXCLUDES_CACHED = {"usage": {"input_excludes_cached": True}}
EXCLUDES_REASONING = {"usage": {"output_excludes_reasoning": True}}
EXCLUDES_BOTH = {"usage": {**EXCLUDES_CACHED["usage"], **EXCLUDES_REASONING["usage"]}}


class Shape(NamedTuple):
    """A report and the counts that are in it: input, cached, output, reasoning."""

    name: str
    usage: Any
    counts: tuple[int | None, int, int | None, int]
    quirks: dict[str, Any] = {}


OPENAI = {
    "prompt_tokens": 2_006,
    "completion_tokens": 300,
    "total_tokens": 2_306,
    "prompt_tokens_details": {"cached_tokens": 1_920, "audio_tokens": 0},
    "completion_tokens_details": {
        "reasoning_tokens": 256, "audio_tokens": 0, "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0,
    },
}  # fmt: skip
RESPONSES = {
    "input_tokens": 328,
    "input_tokens_details": {"cached_tokens": 128},
    "output_tokens": 52,
    "output_tokens_details": {"reasoning_tokens": 32},
    "total_tokens": 380,
}
DEEPSEEK = {
    "prompt_tokens": 1_500,
    "completion_tokens": 240,
    "total_tokens": 1_740,
    "prompt_tokens_details": {"cached_tokens": 1_408},
    "completion_tokens_details": {"reasoning_tokens": 180},
    "prompt_cache_hit_tokens": 1_408,
    "prompt_cache_miss_tokens": 92,
}
ANTHROPIC = {
    "input_tokens": 50,
    "cache_creation_input_tokens": 248,
    "cache_read_input_tokens": 1_800,
    "cache_creation": {"ephemeral_5m_input_tokens": 248, "ephemeral_1h_input_tokens": 0},
    "output_tokens": 503,
    "service_tier": "standard",
}
LAYER_OVER_ANTHROPIC = {
    "prompt_tokens": 2_098,
    "completion_tokens": 503,
    "total_tokens": 2_601,
    "prompt_tokens_details": {"cached_tokens": 1_800},
    "cache_creation_input_tokens": 248,
    "cache_read_input_tokens": 1_800,
}
GEMINI = {"prompt_tokens": 12, "completion_tokens": 7, "total_tokens": 619}
XAI = {
    "prompt_tokens": 32,
    "completion_tokens": 9,
    "total_tokens": 135,
    "prompt_tokens_details": {"text_tokens": 32, "audio_tokens": 0, "image_tokens": 0, "cached_tokens": 6},
    "completion_tokens_details": {"reasoning_tokens": 94, "audio_tokens": 0},
    "num_sources_used": 0,
}
MOONSHOT = {"prompt_tokens": 19, "completion_tokens": 21, "total_tokens": 40, "cached_tokens": 10}


def without(usage: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in usage.items() if name not in names}


def of(prompt: Any, completion: Any, **others: Any) -> dict[str, Any]:
    return {"prompt_tokens": prompt, "completion_tokens": completion, **others}


SHAPES = [
    Shape("OpenAI counts both", OPENAI, (2_006, 1_920, 300, 256)),
    Shape("and without its total", without(OPENAI, "total_tokens"), (2_006, 1_920, 300, 256)),
    Shape("OpenAI's newer names", RESPONSES, (328, 128, 52, 32)),
    Shape("and without their total", without(RESPONSES, "total_tokens"), (328, 128, 52, 32)),
    Shape("DeepSeek", DEEPSEEK, (1_500, 1_408, 240, 180)),
    Shape("DeepSeek, hit and miss alone", without(DEEPSEEK, "prompt_tokens_details", "total_tokens"), (1_500, 1_408, 240, 180)),
    Shape("its input left out", without(DEEPSEEK, "prompt_tokens", "total_tokens"), (1_500, 1_408, 240, 180)),
    Shape("a layer whose input is the miss", without(DEEPSEEK, "total_tokens") | {"prompt_tokens": 92}, (1_500, 1_408, 240, 180)),
    Shape("Anthropic leaves the cache out", ANTHROPIC, (2_098, 1_800, 503, 0)),
    Shape("all of it from the cache", ANTHROPIC | {"input_tokens": 0, "cache_creation_input_tokens": 0}, (1_800, 1_800, 503, 0)),
    Shape("Anthropic with a true total", ANTHROPIC | {"total_tokens": 2_601}, (2_098, 1_800, 503, 0)),
    Shape("Anthropic with the sum of two counts as total", ANTHROPIC | {"total_tokens": 553}, (2_098, 1_800, 503, 0)),
    Shape("an OpenAI layer over Anthropic", LAYER_OVER_ANTHROPIC, (2_098, 1_800, 503, 0)),
    Shape("and without its total", without(LAYER_OVER_ANTHROPIC, "total_tokens"), (2_098, 1_800, 503, 0)),
    Shape("one that leaves the cache out, by the total", LAYER_OVER_ANTHROPIC | {"prompt_tokens": 50}, (2_098, 1_800, 503, 0)),
    Shape("Gemini counts thoughts in the total alone", GEMINI, (12, 0, 607, 600)),
    Shape("with cached input", GEMINI | {"prompt_tokens_details": {"cached_tokens": 8}}, (12, 8, 607, 600)),
    Shape("nothing but thoughts, the count left out", {"prompt_tokens": 12, "total_tokens": 612}, (12, 0, 600, 0)),
    Shape("xAI leaves reasoning out", XAI, (32, 6, 103, 94)),
    Shape("Moonshot", MOONSHOT, (19, 10, 21, 0)),
    Shape("the input left out", {"completion_tokens": 7, "total_tokens": 27}, (20, 0, 7, 0)),
    Shape("a null beside the other name", of(None, None, input_tokens=5, output_tokens=6), (5, 0, 6, 0)),
    # What the route is known for, where nothing is proven.
    Shape("known to leave the cache out", of(50, 5, cached_tokens=40), (90, 40, 5, 0), EXCLUDES_CACHED),
    Shape("known to leave reasoning out", without(XAI, "total_tokens"), (32, 6, 103, 94), EXCLUDES_REASONING),
    Shape("known otherwise, but the total proves it", OPENAI, (2_006, 1_920, 300, 256), EXCLUDES_BOTH),
    Shape("known, and both readings fit the total", of(9, 3, total_tokens=12), (9, 0, 3, 0), EXCLUDES_CACHED),
    Shape("named as Anthropic, known to count the cache", ANTHROPIC | {"input_tokens": 2_098}, (2_098, 1_800, 503, 0),
          {"usage": {"input_excludes_cached": False}}),
    Shape("quirks that are none", OPENAI, (2_006, 1_920, 300, 256), {"usage": ["input_excludes_cached"]}),
    Shape("a quirk that is no yes", without(OPENAI, "total_tokens"), (2_006, 1_920, 300, 256), {"usage": {"input_excludes_cached": "yes"}}),
    # Equal cached and reasoning counts: the total fits two readings, and that which providers have is taken.
    Shape("two readings", of(50, 40, total_tokens=110, cached_tokens=20, reasoning_tokens=20), (50, 20, 60, 20)),
    Shape("two, one known", of(50, 40, total_tokens=110, cached_tokens=20, reasoning_tokens=20), (70, 20, 40, 20), EXCLUDES_CACHED),
    # Lies: none raises a count that nothing proves.
    Shape("cached above input", of(20, 7, cached_tokens=50), (20, 20, 7, 0)),
    Shape("cached above input, with a total", of(20, 7, total_tokens=27, cached_tokens=50), (20, 20, 7, 0)),
    Shape("reasoning above output and limit", of(20, 7, reasoning_tokens=5_000), (20, 0, 7, 7)),
    Shape("reasoning above output, denied by the total", of(20, 7, total_tokens=27, reasoning_tokens=30), (20, 0, 7, 7)),
    Shape("a cache that cannot be, beside a total that fits it", XAI | {"prompt_tokens_details": {"cached_tokens": 94}}, (32, 32, 9, 9)),
    Shape("a total below its parts", OPENAI | {"total_tokens": 5}, (2_006, 1_920, 300, 256)),
    Shape("a total that no reading gives", OPENAI | {"total_tokens": 2_400}, (2_006, 1_920, 300, 256)),
    Shape("a total with more thinking than allowed", of(20, 7, total_tokens=999_999), (20, 0, 7, 0)),
    Shape("a total alone", {"total_tokens": 27}, (None, 0, None, 0)),
    Shape("an output left out of an impossible total", {"prompt_tokens": 20, "total_tokens": 9_999}, (20, 0, None, 0)),
    Shape("an input left out of an impossible total", {"completion_tokens": 20, "total_tokens": 9_999}, (None, 0, 20, 0)),
    Shape("negative", of(-20, -7, total_tokens=-27, cached_tokens=-3), (None, 0, None, 0)),
    Shape("a negative detail", OPENAI | {"prompt_tokens_details": {"cached_tokens": -1}}, (2_006, 0, 300, 256)),
    Shape("floats", of(20.0, 7.5), (20, 0, None, 0)),
    Shape("strings", of("20", "7", total_tokens="27", cached_tokens=" 4 "), (20, 4, 7, 0)),
    Shape("words", of("many", "7 tokens"), (None, 0, None, 0)),
    Shape("not numbers", of("NaN", "Infinity", total_tokens=float("nan")), (None, 0, None, 0)),
    Shape("truth", of(True, False), (None, 0, None, 0)),
    Shape("nulls", dict.fromkeys(OPENAI), (None, 0, None, 0)),
    Shape("lists", {"prompt_tokens": [20], "completion_tokens": {"n": 7}, "prompt_tokens_details": [1]}, (None, 0, None, 0)),
    Shape("huge", of(10**12, 10**400), (None, 0, None, 0)),
    Shape("no object", [20, 7], (None, 0, None, 0)),
    Shape("nothing", None, (None, 0, None, 0)),
]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_report_is_brought_to_one_form(shape: Shape) -> None:
    assert read_usage(shape.usage, quirks=shape.quirks, most_input=lambda: 5_000, output_limit=LIMIT) == shape.counts


MESSAGES = [{"role": "user", "content": "What is 2 + 2?"}]
numbers = st.one_of(
    st.integers(-50, 2_000), st.sampled_from([None, True, "7", "-1", 7.0, 7.5, float("nan"), float("inf"), 10**12, 10**400, [], {}, "x"])
)
NAMES = [
    "prompt_tokens", "input_tokens", "completion_tokens", "output_tokens", "total_tokens", "cached_tokens", "reasoning_tokens",
    "prompt_cache_hit_tokens", "prompt_cache_miss_tokens", "cache_read_input_tokens", "cache_creation_input_tokens",
]  # fmt: skip
details = st.one_of(numbers, st.fixed_dictionaries({}, optional={"cached_tokens": numbers, "reasoning_tokens": numbers}))
reports = st.fixed_dictionaries(
    {}, optional={**dict.fromkeys(NAMES, numbers), "prompt_tokens_details": details, "completion_tokens_details": details}
)
quirk_sets = st.sampled_from([{}, EXCLUDES_CACHED, EXCLUDES_REASONING, EXCLUDES_BOTH])


@hypothesis_settings(max_examples=500)
@given(reports, quirk_sets)
def test_no_report_breaks_the_counts_or_costs_more_than_was_reserved(usage: dict[str, Any], quirks: dict[str, Any]) -> None:
    document = {"choices": [{"message": {"content": "It is 4."}, "finish_reason": "stop"}], "usage": usage}

    reply = read_reply(document, status=200, messages=MESSAGES, parameters={}, output_limit=LIMIT, quirks=quirks)

    assert 0 <= reply.cached_input_tokens <= reply.input_tokens
    assert 0 <= reply.reasoning_tokens <= reply.output_tokens
    assert reply.input_tokens > 0
    price = Price(1, Decimal(900_000), Decimal(90_000), Decimal(7_000_000), Decimal(5))
    reserved = worst_case(len(MESSAGES[0]["content"]), 1, LIMIT, price)
    charged, fee, absorbed = settle(price, reply, reserved)
    assert 0 < charged + fee <= reserved
    assert absorbed >= 0


@given(st.text(max_size=400), st.text(max_size=400), st.text(max_size=400))
def test_an_estimate_is_marked_and_never_above_what_was_reserved(prompt: str, text: str, reasoning: str) -> None:
    messages = [{"role": "user", "content": prompt}]
    document = {"choices": [{"message": {"content": text, "reasoning_content": reasoning}, "finish_reason": "length"}]}

    reply = read_reply(document, status=200, messages=messages, parameters={}, output_limit=8)

    price = Price(1, Decimal(900_000), Decimal(90_000), Decimal(7_000_000), Decimal(5))
    reserved = worst_case(len(prompt.encode()), 1, 8, price)
    charged, fee, _ = settle(price, reply, reserved)
    assert (reply.is_estimated, reply.input_tokens, reply.cached_input_tokens) == (True, -(-len(prompt.encode()) // 4), 0)
    assert charged + fee <= reserved
