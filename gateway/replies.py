"""Reading a chat completion as providers really send it. Pure: a body in, a `ChatReply` out, never another exception than `Unreadable`."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from gateway.chat import ChatReply, Message
from gateway.metering import worst_case_input_tokens
from gateway.usage import Counts, read_usage

NO_QUIRKS: Mapping[str, Any] = {}
MAX_NAME_LENGTH = 200
MAX_REASON_LENGTH = 30

_FINISH_REASONS = {
    "stop": "stop",
    "end_turn": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "completed": "stop",
    "complete": "stop",
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "max_length": "length",
    "model_length": "length",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "refusal": "content_filter",
    "recitation": "content_filter",
    "blocklist": "content_filter",
    "prohibited_content": "content_filter",
    "sensitive": "content_filter",
    "tool_calls": "tool_calls",
    "tool_call": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
}
_THINKING = re.compile(r"<(/?)(?:seed:)?think(?:ing)?>|\[(/?)THINK\]|◁(/?)think▷", re.IGNORECASE)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_REASONING_PARTS = frozenset({"thinking", "reasoning", "reasoning_content", "redacted_thinking"})
_MAX_DEPTH = 4


class Unreadable(ValueError):
    """The body is not a chat completion; the message says what it is instead."""


def load_json(body: bytes) -> Any:
    """The JSON value of a body. Survives lone surrogates, broken UTF-8 and byte-order marks of careless servers. Raises `Unreadable`."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(body.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        raise Unreadable(describe_body(body)) from None


def excerpt(body: bytes) -> str:
    """The beginning of a body as one line of text."""
    return clean(" ".join(body[:4000].decode("utf-8", "replace").split()))


def describe_body(body: bytes) -> str:
    """A few words about a body that is no JSON: an HTML page's title, or its beginning."""
    text = excerpt(body)
    if not text:
        return "an empty reply"
    if text.startswith("<"):
        title = re.search(r"<title[^>]*>([^<]*)", text, re.IGNORECASE)
        return f"an HTML page: {title[1].strip()}" if title else "an HTML page"
    return f"not JSON: {text}"


def read_reply(
    document: Any,
    *,
    status: int,
    messages: Sequence[Message],
    parameters: dict[str, Any],
    output_limit: int,
    quirks: Mapping[str, Any] = NO_QUIRKS,
) -> ChatReply:
    """The reply in a completion's document. Raises `Unreadable` where there is no answer to read, not even an empty one.

    `quirks` are the target's: how its endpoint counts tokens, where that is known.
    """
    choices = document.get("choices") if isinstance(document, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise Unreadable("a reply without choices")
    choice = choices[0]
    message = choice.get("message")
    if not isinstance(message, dict):
        raise Unreadable("a choice without a message")
    text, reasoning = _read_content(message)
    served = document.get("model")
    reply = ChatReply(
        text=text,
        reasoning=reasoning,
        finish_reason=_read_finish_reason(choice.get("finish_reason")),
        input_tokens=0,
        cached_input_tokens=0,
        output_tokens=0,
        reasoning_tokens=0,
        is_estimated=False,
        served_model=clean(served)[:MAX_NAME_LENGTH] if isinstance(served, str) else "",
        status=status,
        parameters=parameters,
    )
    counts = read_usage(
        document.get("usage"),
        quirks=quirks,
        most_input=lambda: worst_case_input_tokens(_bytes_of(messages), len(messages)),
        output_limit=output_limit,
    )
    _note_usage(reply, counts, messages)
    if not reply.finish_reason and not reply.is_estimated and reply.output_tokens >= output_limit:
        reply.finish_reason = "length"
    return reply


def clean(text: str) -> str:
    """The text without what no database keeps: NUL and lone surrogates become U+FFFD."""
    return text if text.isascii() and "\x00" not in text else _UNSTORABLE.sub("\ufffd", text)


def split_thinking(content: str) -> tuple[str, str]:
    """The answer and the thinking of a content that marks thinking inline.

    A lone closing mark ends thinking that began in the prompt; an opening one that is never closed leaves the rest to the thinking. Where
    nothing is marked the answer is the content as it is.
    """
    if "hink" not in content and "HINK" not in content:
        return content, ""
    visible: list[str] = []
    hidden: list[str] = []
    thinking = marked = False
    position = 0
    for mark in _THINKING.finditer(content):
        marked = True
        piece = content[position : mark.start()]
        position = mark.end()
        closes = "/" in mark.group()
        if thinking or closes:
            # A closing mark without an opening one: all that seemed visible so far was thinking.
            hidden += [piece] if thinking else [*visible, piece]
            if not thinking:
                visible.clear()
        else:
            visible.append(piece)
        thinking = not closes
    if not marked:
        return content, ""
    (hidden if thinking else visible).append(content[position:])
    return "".join(visible).strip(), "\n".join(piece.strip() for piece in hidden if piece.strip())


def _read_content(message: dict[str, Any]) -> tuple[str, str]:
    """The visible text and the reasoning of a message; both may be empty."""
    content = message.get("content")
    apart = message.get("reasoning_content") or message.get("reasoning") or message.get("thinking") or message.get("reasoning_details")
    if isinstance(content, str):
        raw, inner = content, ""
    else:
        raw, inner = _visible_parts(content), _reasoning_parts(content)
    text, thinking = split_thinking(raw)
    if not text and not thinking and isinstance(refusal := message.get("refusal"), str):
        text = refusal
    if not (apart or inner or thinking):
        return clean(text), ""
    return clean(text), clean("\n".join(piece for piece in (_texts(apart), inner, thinking) if piece))


def _visible_parts(content: Any) -> str:
    """The text of a content that is null, a list of parts or one part."""
    if not isinstance(content, list | dict | None):
        raise Unreadable("a message whose content is no text")
    parts = content if isinstance(content, list) else [content]
    return "".join(_texts(part) for part in parts if not _is_reasoning(part))


def _reasoning_parts(content: Any) -> str:
    parts = content if isinstance(content, list) else [content]
    return "\n".join(_texts(part) for part in parts if _is_reasoning(part))


def _is_reasoning(part: Any) -> bool:
    # A type may be anything that JSON holds, also what no set can be asked for.
    return isinstance(part, dict) and (str(part.get("type")) in _REASONING_PARTS or part.get("thought") is True)


def _texts(value: Any, depth: int = 0) -> str:
    """All text in a part, or in the lists and objects that providers wrap it in."""
    if isinstance(value, str):
        return value
    if depth < _MAX_DEPTH:
        if isinstance(value, list):
            return "".join(_texts(item, depth + 1) for item in value)
        if isinstance(value, dict):
            for key in ("text", "thinking", "reasoning", "summary", "content", "refusal"):
                if value.get(key):
                    return _texts(value[key], depth + 1)
    return ""


def _read_finish_reason(value: Any) -> str:
    if not isinstance(value, str):
        return ""
    known = _FINISH_REASONS.get(value)
    if known is None:
        lower = clean(value).strip().lower()
        known = _FINISH_REASONS.get(lower, lower[:MAX_REASON_LENGTH])
    return known


def _bytes_of(messages: Sequence[Message]) -> int:
    return sum(len(message["content"].encode()) for message in messages)


def _note_usage(reply: ChatReply, counts: Counts, messages: Sequence[Message]) -> None:
    """Take over the counts. What is missing or cannot be is estimated and marked."""
    given_input, cached, given_output, reasoning = counts
    if not given_input:
        given_input, cached = estimate_tokens(_bytes_of(messages)), 0
        reply.is_estimated = True
    if given_output is None or (given_output == 0 and (reply.text or reply.reasoning)):
        given_output, reasoning = estimate_tokens(len(reply.text.encode()) + len(reply.reasoning.encode())), 0
        reply.is_estimated = True
    reply.input_tokens = given_input
    reply.cached_input_tokens = cached
    reply.output_tokens = given_output
    reply.reasoning_tokens = reasoning


def estimate_tokens(byte_count: int) -> int:
    """⌈bytes/4⌉, what a text is taken for where the provider does not count."""
    return -(-byte_count // 4)
