"""Asking one thing of an endpoint, as every test of the client does."""

import asyncio
from collections.abc import Callable
from typing import Any

from gateway.client import ChatClient, ChatReply, ChatRequest, Target
from tests.standins.chat import Asked
from tests.standins.http import Reply

KEY = "sk-stand-in-0123456789abcdef"


def target_at(url: str, *, api_key: str = "", quirks: dict[str, Any] | None = None, guarded: bool = False, timeout: float = 5.0) -> Target:
    return Target(endpoint=url, model="m", api_key=api_key, guarded=guarded, quirks={} if quirks is None else quirks, timeout=timeout)


def request(text: str = "What is 2+2?", **settings: Any) -> ChatRequest:
    return ChatRequest([{"role": "user", "content": text}], **{"max_output_tokens": 64, **settings})


def ask(target: Target, asked: ChatRequest | None = None) -> ChatReply:
    """The reply to one try; raises what the client raises."""

    async def once() -> ChatReply:
        async with ChatClient() as client:
            return await client.complete(target, asked or request())

    return asyncio.run(once())


def always(reply: Reply) -> Callable[[Asked], Reply]:
    return lambda _asked: reply


def in_turn(*replies: Reply | None) -> Callable[[Asked], Reply | None]:
    """The replies one after another, None for an ordinary answer; ordinary answers after the last."""
    waiting = list(replies)
    return lambda _asked: waiting.pop(0) if waiting else None
