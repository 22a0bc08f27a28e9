"""From a provider's words to our codes. The messages are of the kinds that providers send."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from gateway.enums import ErrorCode
from gateway.refusals import Complaint, classify, read_error_body, refused_parameter, retry_after


def body(**error: Any) -> bytes:
    return json.dumps({"error": error}).encode()


CASES = [
    (401, body(message="Incorrect API key provided", code="invalid_api_key"), ErrorCode.AUTHENTICATION),
    (401, b"", ErrorCode.AUTHENTICATION),
    (403, b"Forbidden", ErrorCode.AUTHENTICATION),
    (400, body(message="API key not valid. Please pass a valid API key.", status="INVALID_ARGUMENT", code=400), ErrorCode.AUTHENTICATION),
    (403, body(message="Your input was flagged by moderation", code=403), ErrorCode.CONTENT_REFUSED),
    (403, body(message="Project does not have access to model gpt-x", code="model_not_found"), ErrorCode.MODEL_NOT_FOUND),
    (402, body(message="Insufficient Balance"), ErrorCode.NO_QUOTA),
    (429, body(message="You exceeded your current quota, please check your plan.", code="insufficient_quota"), ErrorCode.NO_QUOTA),
    (429, body(message="You exceeded your current quota. Please retry in 30s.", status="RESOURCE_EXHAUSTED"), ErrorCode.RATE_LIMITED),
    (429, body(message="Rate limit reached for requests per minute", code="rate_limit_exceeded"), ErrorCode.RATE_LIMITED),
    (429, b"<html><title>Too many</title></html>", ErrorCode.RATE_LIMITED),
    (429, b"", ErrorCode.RATE_LIMITED),
    (400, body(message="Your credit balance is too low to access the API.", type="invalid_request_error"), ErrorCode.NO_QUOTA),
    (404, body(message="The model `x` does not exist", code="model_not_found"), ErrorCode.MODEL_NOT_FOUND),
    (404, b"404 page not found", ErrorCode.MODEL_NOT_FOUND),
    (410, body(message="The model was decommissioned"), ErrorCode.MODEL_NOT_FOUND),
    (400, body(message="x is not a valid model ID", code=400), ErrorCode.MODEL_NOT_FOUND),
    (400, body(message="This model's maximum context length is 8192 tokens. However, you requested 9000."), ErrorCode.CONTEXT_EXCEEDED),
    (400, body(message="prompt is too long: 210000 tokens > 200000 maximum"), ErrorCode.CONTEXT_EXCEEDED),
    (400, body(message="'max_tokens' is too large: 9. This model's maximum context length is 4"), ErrorCode.CONTEXT_EXCEEDED),
    (500, body(message="slot too small", type="exceed_context_size_error"), ErrorCode.CONTEXT_EXCEEDED),
    (413, body(message="Request too large"), ErrorCode.TOO_LARGE),
    (413, b"<html><title>413 Request Entity Too Large</title></html>", ErrorCode.TOO_LARGE),
    (400, body(message="The response was filtered", code="content_filter"), ErrorCode.CONTENT_REFUSED),
    (400, body(message="max_tokens is too large: 10. This model supports at most 5 completion tokens"), ErrorCode.BAD_REQUEST),
    (422, json.dumps({"detail": [{"loc": ["body", "messages"], "msg": "Field required"}]}).encode(), ErrorCode.BAD_REQUEST),
    (405, b"Method Not Allowed", ErrorCode.BAD_REQUEST),
    (408, b"", ErrorCode.TIMEOUT),
    (500, body(message="Internal error"), ErrorCode.PROVIDER_ERROR),
    (500, body(message="Overloaded", type="overloaded_error"), ErrorCode.OVERLOADED),
    (502, b"<html><title>502 Bad Gateway</title></html>", ErrorCode.PROVIDER_ERROR),
    (503, body(message="The model is loading"), ErrorCode.OVERLOADED),
    (529, body(message="Overloaded"), ErrorCode.OVERLOADED),
    # With 200 the error object alone tells.
    (200, body(message="Rate limited", code=429), ErrorCode.RATE_LIMITED),
    (200, body(message="slow down", type="rate_limit_error"), ErrorCode.RATE_LIMITED),
    (200, body(message="Provider returned error", code=502), ErrorCode.PROVIDER_ERROR),
    (200, body(message="no more", code="insufficient_quota"), ErrorCode.NO_QUOTA),
    (200, body(message="bad key", code="401"), ErrorCode.AUTHENTICATION),
    (200, body(message="the upstream is busy", type="overloaded_error"), ErrorCode.OVERLOADED),
    (200, body(message="wrong", type="invalid_request_error"), ErrorCode.BAD_REQUEST),
    (200, json.dumps({"error": "something broke"}).encode(), ErrorCode.PROVIDER_ERROR),
]


@pytest.mark.parametrize(("status", "answer", "code"), CASES)
def test_status_and_words_give_the_code(status: int, answer: bytes, code: ErrorCode) -> None:
    assert classify(status, read_error_body(answer)) == code


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (body(message="No."), "No."),
        (b'{"error": "No."}', "No."),
        (b'{"message": "No."}', "No."),
        (b'{"detail": "No."}', "No."),
        (b'{"errors": [{"message": "No."}]}', "No."),
        (b'[{"error": {"message": "No."}}]', "No."),
        (b'"No."', "No."),
        (b'{"error": {"message": "Provider returned error", "metadata": {"raw": "really no"}}}', "Provider returned error: really no"),
        (b'{"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}', "seed: Extra inputs are not permitted"),
        (b"<html><title>502 Bad Gateway</title>", "an HTML page: 502 Bad Gateway"),
        (b'{"error": {"code": 500}}', '{"error": {"code": 500}}'),
        (b"", "an empty reply"),
    ],
)
def test_message_is_found_in_every_shape(answer: bytes, message: str) -> None:
    assert read_error_body(answer).message == message


SENT = ("max_tokens", "temperature", "seed")
RENAME = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
DEFAULT_ONLY = "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."


@pytest.mark.parametrize(
    ("status", "complaint", "name"),
    [
        (400, Complaint(RENAME), "max_tokens"),
        (400, Complaint(DEFAULT_ONLY), "temperature"),
        (400, Complaint("no", "unsupported_parameter", None, "temperature"), "temperature"),
        (422, Complaint("seed: Extra inputs are not permitted"), "seed"),
        (400, Complaint("Unrecognized request argument supplied: seed"), "seed"),
        (400, Complaint("`temperature` must be strictly positive"), "temperature"),
        (200, Complaint("temperature is not supported", "", 400), "temperature"),
        # A value is complained of, not the name.
        (400, Complaint("max_tokens is too large: 9. This model supports at most 5 completion tokens.", "", None, "max_tokens"), None),
        # Not among what was sent.
        (400, Complaint("Unsupported parameter: 'top_p'"), None),
        (400, Complaint("Unsupported parameter: 'max_completion_tokens'"), None),
        (401, Complaint("temperature is not supported"), None),
        (500, Complaint("temperature is not supported"), None),
    ],
)
def test_refused_parameter_is_told_from_a_wrong_value(status: int, complaint: Complaint, name: str | None) -> None:
    assert refused_parameter(status, complaint, SENT) == name


NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "2"}, 2.0),
        ({"Retry-After": "0.25"}, 0.25),
        ({"Retry-After": "0"}, 0.0),
        ({"Retry-After": "-5"}, 0.0),
        ({"Retry-After": "1e12"}, 86_400.0),
        ({"Retry-After": "inf"}, 86_400.0),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": ""}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "Sun, 29 Nov 2026 12:00:07 GMT"}, 7.0),
        ({"Retry-After": "Sun, 29 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"Retry-After": "Sun, 29 Nov 9999 12:00:07 GMT"}, 86_400.0),
        ({"Retry-After": "Sun, 99 Nov 2026 12:00:07 GMT"}, None),
        ({"retry-after-ms": "1500", "Retry-After": "9"}, 1.5),
    ],
)
def test_retry_after_is_read_and_bounded(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=NOW) == seconds


def test_retry_after_date_counts_from_the_providers_own_clock() -> None:
    headers = {"Retry-After": "Sun, 29 Nov 2026 12:00:07 GMT", "Date": "Sun, 29 Nov 2026 12:00:00 GMT"}

    assert retry_after(headers) == 7.0
