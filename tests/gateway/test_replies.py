"""Bodies as providers really send them."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.chat import ChatReply
from gateway.replies import Unreadable, load_json, read_reply, split_thinking

MESSAGES = [{"role": "user", "content": "12345678"}]


def read(message: dict[str, Any], *, usage: Any = None, finish_reason: Any = "stop", output_limit: int = 100, **document: Any) -> ChatReply:
    body = {"model": "served", "choices": [{"message": message, "finish_reason": finish_reason}], "usage": usage, **document}
    return read_reply(load_json(json.dumps(body).encode()), status=200, messages=MESSAGES, parameters={}, output_limit=output_limit)


@pytest.mark.parametrize(
    ("message", "text", "reasoning"),
    [
        ({"content": "4"}, "4", ""),
        ({"content": " 4\n"}, " 4\n", ""),
        ({"content": None}, "", ""),
        ({}, "", ""),
        ({"content": None, "reasoning_content": "hm 4"}, "", "hm 4"),
        ({"content": "", "reasoning": "hm 4"}, "", "hm 4"),
        ({"content": "4", "reasoning_content": "hm"}, "4", "hm"),
        (
            {"content": "4", "reasoning_details": [{"type": "reasoning.text", "text": "a"}, {"type": "reasoning.summary", "summary": "b"}]},
            "4",
            "ab",
        ),
        ({"content": None, "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}, "", ""),
        ({"content": [{"type": "text", "text": "The answer "}, {"type": "text", "text": "is 4"}]}, "The answer is 4", ""),
        ({"content": ["4"]}, "4", ""),
        ({"content": []}, "", ""),
        ({"content": {"type": "text", "text": "4"}}, "4", ""),
        ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "4"}]}, "4", "hm"),
        ({"content": [{"type": "image_url", "image_url": {"url": "x"}}]}, "", ""),
        ({"content": None, "refusal": "I cannot."}, "I cannot.", ""),
        ({"content": "<think>2+2 is 4</think>\n\n4"}, "4", "2+2 is 4"),
        ({"content": "2+2 is 4</think>4"}, "4", "2+2 is 4"),
        ({"content": "<think>2+2 is 4"}, "", "2+2 is 4"),
        ({"content": "<think>a</think>4", "reasoning_content": "b"}, "4", "b\na"),
    ],
)
def test_message_is_split_into_answer_and_reasoning(message: dict[str, Any], text: str, reasoning: str) -> None:
    reply = read(message)

    assert (reply.text, reply.reasoning) == (text, reasoning)


@pytest.mark.parametrize(
    ("content", "answer", "thinking"),
    [
        ("I think so", "I think so", ""),
        ("<think></think>\n4", "4", ""),
        ("<THINK>a</THINK>4", "4", "a"),
        ("<thinking>a</thinking>4", "4", "a"),
        ("[THINK]a[/THINK]4", "4", "a"),
        ("◁think▷a◁/think▷4", "4", "a"),
        ("<seed:think>a</seed:think>4", "4", "a"),
        ("Well: <think>a</think>4", "Well: 4", "a"),
        ("<think>a</think>4<think>b</think>", "4", "a\nb"),
        ("<think>I write <think> first</think>4", "4", "I write\nfirst"),
        ("<think>ends with </think> they say</think>4", "4", "ends with\nthey say"),
        ("a</think>b</think>4", "4", "a\nb"),
        ("4</think>", "", "4"),
        ("a</think>4<think>b", "4", "a\nb"),
    ],
)
def test_inline_thinking_is_never_part_of_the_answer(content: str, answer: str, thinking: str) -> None:
    assert split_thinking(content) == (answer, thinking)


@pytest.mark.parametrize(
    ("given_reason", "read_reason"),
    [
        ("stop", "stop"),
        ("STOP", "stop"),
        ("end_turn", "stop"),
        ("eos", "stop"),
        ("length", "length"),
        ("MAX_TOKENS", "length"),
        ("model_length", "length"),
        ("content_filter", "content_filter"),
        ("SAFETY", "content_filter"),
        ("function_call", "tool_calls"),
        ("tool_use", "tool_calls"),
        ("something new", "something new"),
        ("x" * 50, "x" * 30),
        (None, ""),
        (7, ""),
    ],
)
def test_finish_reasons_are_normalised(given_reason: Any, read_reason: str) -> None:
    assert read({"content": "4"}, finish_reason=given_reason).finish_reason == read_reason


def test_missing_finish_reason_at_the_limit_is_length() -> None:
    reply = read({"content": "4"}, finish_reason=None, usage={"prompt_tokens": 2, "completion_tokens": 100}, output_limit=100)

    assert reply.finish_reason == "length"


def test_only_reasoning_up_to_the_limit_is_an_empty_truncated_answer() -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 100, "completion_tokens_details": {"reasoning_tokens": 100}}

    reply = read({"content": "", "reasoning_content": "hm"}, finish_reason="length", usage=usage)

    assert (reply.text, reply.finish_reason, reply.output_tokens, reply.reasoning_tokens) == ("", "length", 100, 100)


ESTIMATED_INPUT = 2
"""Eight bytes."""


@pytest.mark.parametrize(
    ("usage", "counts", "estimated"),
    [
        ({"prompt_tokens": 20, "completion_tokens": 7, "total_tokens": 27}, (20, 0, 7, 0), False),
        ({"prompt_tokens": 20, "prompt_tokens_details": {"cached_tokens": 16}, "completion_tokens": 7}, (20, 16, 7, 0), False),
        ({"prompt_tokens": 20, "prompt_tokens_details": None, "completion_tokens": 7}, (20, 0, 7, 0), False),
        (
            {"prompt_tokens": 20, "prompt_cache_hit_tokens": 16, "prompt_cache_miss_tokens": 4, "completion_tokens": 7},
            (20, 16, 7, 0),
            False,
        ),
        ({"prompt_tokens": 20, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 50}}, (20, 20, 7, 0), False),
        # Named as Anthropic does, where the input leaves the cached tokens out.
        ({"input_tokens": 4, "cache_read_input_tokens": 14, "cache_creation_input_tokens": 2, "output_tokens": 7}, (20, 14, 7, 0), False),
        ({"prompt_tokens": 20, "completion_tokens": 7, "completion_tokens_details": {"reasoning_tokens": 5}}, (20, 0, 7, 5), False),
        # Reasoning apart from the output, seen by the total or by there being more of it.
        (
            {"prompt_tokens": 20, "completion_tokens": 7, "total_tokens": 32, "completion_tokens_details": {"reasoning_tokens": 5}},
            (20, 0, 12, 5),
            False,
        ),
        ({"prompt_tokens": 20, "completion_tokens": 7, "completion_tokens_details": {"reasoning_tokens": 30}}, (20, 0, 37, 30), False),
        ({"prompt_tokens": 20, "completion_tokens": 7, "total_tokens": 60}, (20, 0, 40, 33), False),
        ({"prompt_tokens": 20, "completion_tokens": 7, "total_tokens": 999_999}, (20, 0, 7, 0), False),
        ({"prompt_tokens": 20, "completion_tokens": 7, "total_tokens": 5}, (20, 0, 7, 0), False),
        ({"prompt_tokens": "20", "completion_tokens": 7.0}, (20, 0, 7, 0), False),
        # Nothing, or nothing that can be.
        (None, (ESTIMATED_INPUT, 0, 3, 0), True),
        ([], (ESTIMATED_INPUT, 0, 3, 0), True),
        ({}, (ESTIMATED_INPUT, 0, 3, 0), True),
        ({"prompt_tokens": 0, "completion_tokens": 0}, (ESTIMATED_INPUT, 0, 3, 0), True),
        ({"prompt_tokens": -5, "completion_tokens": 7}, (ESTIMATED_INPUT, 0, 7, 0), True),
        ({"prompt_tokens": 20, "completion_tokens": -7}, (20, 0, 3, 0), True),
        ({"prompt_tokens": 10**12, "completion_tokens": 10**30}, (ESTIMATED_INPUT, 0, 3, 0), True),
        ({"prompt_tokens": "many", "completion_tokens": None}, (ESTIMATED_INPUT, 0, 3, 0), True),
        ({"prompt_tokens": True, "completion_tokens": [7]}, (ESTIMATED_INPUT, 0, 3, 0), True),
        ({"prompt_tokens": 20, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": -3}}, (20, 0, 7, 0), False),
    ],
)
def test_usage_is_normalised_or_estimated(usage: Any, counts: tuple[int, int, int, int], estimated: bool) -> None:
    reply = read({"content": "nine byte"}, usage=usage)

    assert (reply.input_tokens, reply.cached_input_tokens, reply.output_tokens, reply.reasoning_tokens) == counts
    assert reply.is_estimated == estimated


def test_nan_usage_is_estimated() -> None:
    document = load_json(b'{"choices": [{"message": {"content": "abcd"}}], "usage": {"prompt_tokens": NaN, "completion_tokens": Infinity}}')

    reply = read_reply(document, status=200, messages=MESSAGES, parameters={}, output_limit=9)

    assert (reply.input_tokens, reply.output_tokens, reply.is_estimated) == (2, 1, True)


def test_estimates_count_bytes_not_characters_and_reasoning_too() -> None:
    reply = read({"content": "äöü", "reasoning_content": "€€"})

    assert reply.output_tokens == 3


def test_served_model_is_recorded() -> None:
    assert read({"content": "4"}).served_model == "served"
    assert read({"content": "4"}, model=None).served_model == ""
    assert read({"content": "4"}, model="m" * 300).served_model == "m" * 200


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'\xef\xbb\xbf{"choices": [{"message": {"content": "4"}}]}', "4"),
        (b'{"choices": [{"message": {"content": "half \\ud83d smile"}}]}', "half \ufffd smile"),
        (b'{"choices": [{"message": {"content": "latin \xe9"}}]}', "latin \ufffd"),
        (b'{"choices": [{"message": {"content": "nul \\u0000"}}]}', "nul \ufffd"),
    ],
)
def test_careless_bytes_are_survived_and_storable(body: bytes, text: str) -> None:
    reply = read_reply(load_json(body), status=200, messages=MESSAGES, parameters={}, output_limit=9)

    assert reply.text == text
    assert reply.text.encode().count(b"\0") == 0


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "an empty reply"),
        (b"<html><head><title> 502 Bad Gateway </title></head></html>", "an HTML page: 502 Bad Gateway"),
        (b"<!doctype html><p>hello", "an HTML page"),
        (b"data: {}\n\n", "not JSON: data: {}"),
        (b'{"choices": [{"message": {"content": "cut', 'not JSON: {"choices": [{"message": {"content": "cut'),
        (b"[" * 100_000, None),
    ],
)
def test_other_bodies_are_described(body: bytes, words: str | None) -> None:
    with pytest.raises(Unreadable) as caught:
        load_json(body)

    assert words is None or str(caught.value) == words


@pytest.mark.parametrize(
    "document",
    [
        None,
        "4",
        [],
        {},
        {"choices": None},
        {"choices": []},
        {"choices": {}},
        {"choices": [None]},
        {"choices": [{}]},
        {"choices": [{"message": None}]},
        {"choices": [{"message": "4"}]},
        {"choices": [{"text": "4"}]},
        {"choices": [{"message": {"content": 4}}]},
        {"choices": [{"message": {"content": False}}]},
    ],
)
def test_documents_without_an_answer_are_unreadable(document: Any) -> None:
    with pytest.raises(Unreadable):
        read_reply(document, status=200, messages=MESSAGES, parameters={}, output_limit=9)


KEYS = [
    "choices", "message", "content", "text", "type", "thinking", "usage", "prompt_tokens", "completion_tokens", "model", "reasoning",
    "prompt_tokens_details", "cached_tokens", "finish_reason", "total_tokens", "refusal",
]  # fmt: skip

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


@example([{"type": []}], None, None, None)
@given(json_values, json_values, json_values, json_values)
def test_no_document_raises_anything_else(content: Any, usage: Any, finish_reason: Any, other: Any) -> None:
    document = {
        "choices": [{"message": {"content": content, "reasoning": other}, "finish_reason": finish_reason}],
        "usage": usage,
        "model": other,
    }
    for each in (document, other, {"choices": other}, {"choices": [{"message": other}]}):
        try:
            reply = read_reply(each, status=200, messages=MESSAGES, parameters={}, output_limit=50)
        except Unreadable:
            continue
        assert 0 <= reply.cached_input_tokens <= reply.input_tokens < 2**31
        assert 0 <= reply.reasoning_tokens <= reply.output_tokens < 2**31
        assert "\0" not in reply.text + reply.reasoning + reply.finish_reason + reply.served_model
