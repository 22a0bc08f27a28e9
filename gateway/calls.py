"""`call`: the one way to a model. It tries, waits, tries again, and settles; it touches no database, its record is stored by the caller."""

import asyncio
import random
import time
import uuid
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from operator import attrgetter
from typing import Any, Protocol

from django.utils import timezone

from gateway.chat import CallError, ChatReply, ChatRequest, Target
from gateway.client import ChatClient
from gateway.enums import RETRYABLE, Outcome, Purpose
from gateway.metering import Price, settle
from gateway.models import Call, CallContent

MAX_TRIES = 8
MAX_STORED_TRIES = 32_767
FIRST_WAIT_SECONDS = 0.25
MAX_WAIT_SECONDS = 20.0
MAX_RETRY_AFTER_SECONDS = 60.0
WATCH_SECONDS = 1.0
"""How often a waiting call looks whether its lane is closing."""


class Lane(Protocol):
    """The engine's view of one subject, shared by all its calls in this process."""

    def slot(self) -> AbstractAsyncContextManager[Any]:
        """Held during one HTTP try only, never while waiting."""
        ...

    async def ready(self) -> None:
        """Waits while the subject must pause."""
        ...

    def succeeded(self) -> None: ...

    def failed(self, error: CallError) -> bool:
        """Notes a failed try. True: this try does not count, the lane is probing."""
        ...

    @property
    def closing(self) -> bool:
        """Whether no new try may begin."""
        ...


@dataclass(slots=True)
class CallRecord:
    """One finished call, as `Call` and `CallContent` keep it. Money is in micro-USD; a failed call costs nothing."""

    workspace_id: int
    source_id: uuid.UUID
    purpose: Purpose
    rate_id: int | None
    fee_percent: Decimal
    reserved_microusd: int
    public_id: uuid.UUID = field(default_factory=uuid.uuid4)
    kind: str = "chat"
    usage_microusd: int = 0
    fee_microusd: int = 0
    absorbed_microusd: int = 0
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    is_estimated: bool = False
    tries: int = 0
    """HTTP tries, those of a probing lane included."""
    outcome: Outcome = Outcome.FAILED
    error_code: str = ""
    error_message: str = ""
    provider_status: int | None = None
    finish_reason: str = ""
    served_model: str = ""
    latency_ms: int = 0
    """Of the last try, waits not included."""
    created_at: datetime = field(default_factory=timezone.now)
    response: str = ""
    reasoning: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    is_abandoned: bool = False
    """Whether the lane closed before the call had an answer or had used up its tries: the work is unfinished, not failed."""

    @property
    def charge_microusd(self) -> int:
        return self.usage_microusd + self.fee_microusd

    @property
    def is_empty(self) -> bool:
        """Whether the model answered without any visible text."""
        return self.outcome == Outcome.ANSWERED and not self.response.strip()

    @property
    def is_truncated(self) -> bool:
        return self.finish_reason == "length"


async def call(
    client: ChatClient,
    target: Target,
    request: ChatRequest,
    *,
    lane: Lane,
    price: Price,
    reserved_microusd: int,
    workspace_id: int,
    source_id: uuid.UUID,
    purpose: Purpose = Purpose.SUBJECT,
) -> CallRecord:
    """The record of one call of up to eight counted tries. Whatever the provider does is in the record; only cancelling raises."""
    record = CallRecord(workspace_id, source_id, purpose, price.rate_id, price.fee_percent, reserved_microusd)
    counted = 0
    while True:
        await lane.ready()
        async with lane.slot():
            if lane.closing:
                record.is_abandoned = True
                return record
            record.tries = min(record.tries + 1, MAX_STORED_TRIES)
            started = time.perf_counter()
            try:
                reply = await client.complete(target, request)
            except CallError as error:
                failure = error
            else:
                record.latency_ms = int((time.perf_counter() - started) * 1000)
                lane.succeeded()
                note_answer(record, reply, price)
                return record
            record.latency_ms = int((time.perf_counter() - started) * 1000)
            counted += not lane.failed(failure)
        note_failure(record, failure)
        if failure.code not in RETRYABLE or counted >= MAX_TRIES:
            return record
        if not await _pause(lane, wait_before_retry(counted, failure.retry_after)):
            record.is_abandoned = True
            return record


def wait_before_retry(failures: int, retry_after: float | None) -> float:
    """Seconds to wait after so many counted failures: what the provider said, capped, else 0.25·2^k with jitter, at most 20."""
    if retry_after:
        return min(retry_after, MAX_RETRY_AFTER_SECONDS) * random.uniform(1.0, 1.05)  # noqa: S311  spread, not secrecy
    longest = min(FIRST_WAIT_SECONDS * 2.0 ** max(failures - 1, 0), MAX_WAIT_SECONDS)
    return longest * random.uniform(0.5, 1.0)  # noqa: S311


async def _pause(lane: Lane, seconds: float) -> bool:
    """Wait, unless the lane closes meanwhile; whether another try may begin."""
    until = time.monotonic() + seconds
    while not lane.closing:
        left = until - time.monotonic()
        if left <= 0:
            return True
        await asyncio.sleep(min(left, WATCH_SECONDS))
    return False


def note_failure(record: CallRecord, failure: CallError) -> None:
    """Write a try's failure on the record."""
    record.error_code = failure.code.value
    record.error_message = failure.message
    record.provider_status = failure.status


def note_answer(record: CallRecord, reply: ChatReply, price: Price) -> None:
    """Write the answer and what it costs on the record."""
    record.outcome = Outcome.ANSWERED
    record.error_code = record.error_message = ""
    record.response = reply.text
    record.reasoning = reply.reasoning
    record.finish_reason = reply.finish_reason
    record.input_tokens = reply.input_tokens
    record.cached_input_tokens = reply.cached_input_tokens
    record.output_tokens = reply.output_tokens
    record.reasoning_tokens = reply.reasoning_tokens
    record.is_estimated = reply.is_estimated
    record.served_model = reply.served_model
    record.provider_status = reply.status
    record.parameters = reply.parameters
    record.usage_microusd, record.fee_microusd, record.absorbed_microusd = settle(price, reply, record.reserved_microusd)


_call_values: Any = attrgetter(*(column.attname for column in Call._meta.concrete_fields if column.attname != "id"))
_content_values: Any = attrgetter(*(column.attname for column in CallContent._meta.concrete_fields if column.attname != "call_id"))


def call_rows(record: CallRecord) -> tuple[Call, CallContent]:
    """The two unsaved rows of a record, whose attributes are named as the columns are."""
    row = Call(None, *_call_values(record))
    content = CallContent(row.pk, *_content_values(record))
    content.call = row
    return row, content
