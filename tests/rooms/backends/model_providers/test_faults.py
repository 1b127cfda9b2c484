"""What providers say went wrong, in all their words, and the one code that each means."""

from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.backends.model_providers.faults import (
    LONGEST_QUOTE,
    Complaint,
    code_of,
    complaint,
    fault_of_answer,
    quoted,
    request_id,
    retry_after,
)
from toolwright.contracts.models import FaultCode, ModelFault

NOW = datetime(2026, 11, 19, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"r"}',
            Complaint(("overloaded_error",), "Overloaded"),
        ),
        (
            b'{"error":{"message":"No quota","type":"insufficient_quota","code":"insufficient_quota"}}',
            Complaint(("insufficient_quota", "insufficient_quota"), "No quota"),
        ),
        (
            b'{"error":{"code":400,"message":"too big","type":"exceed_context_size_error","n_ctx":4096}}',
            Complaint(("exceed_context_size_error",), "too big", 400),
        ),
        (b'[{"error":{"code":503,"message":"Busy","status":"UNAVAILABLE"}}]', Complaint((), "Busy", 503)),
        (b'{"error":{"code":502}}', Complaint((), "", 502)),
        (b'{"error":{"code":7,"message":"odd"}}', Complaint((), "odd")),
        (b'{"error":"model not found"}', Complaint((), "model not found")),
        (
            b'{"object":"error","message":"bad","type":"BadRequestError"}',
            Complaint(("BadRequestError",), "bad"),
        ),
        (b'{"detail":"Not Found"}', Complaint((), "Not Found")),
        (b'{"error":{"type":"api_error"}}', Complaint(("api_error",), "")),
        (b'{"hello":"world"}', None),
        (b'{"error":7}', None),
        (b"[]", None),
        (b"<html>", None),
        (b"", None),
    ],
)
def test_errors_are_found_where_providers_put_them(body: bytes, said: Complaint | None) -> None:
    assert complaint(body) == said


@pytest.mark.parametrize(
    ("status", "said", "code"),
    [
        (400, Complaint(("invalid_request_error",), "Your credit balance is too low to go on"), "billing"),
        (400, Complaint(("invalid_request_error",), "prompt is too long: 9 tokens > 8 maximum"), "too_large"),
        (400, Complaint(("context_length_exceeded",), "This is too much"), "too_large"),
        (400, Complaint((), "the request exceeds the available context size"), "too_large"),
        (400, Complaint(("invalid_request_error",), "max_tokens: must be positive"), "bad_request"),
        (403, Complaint(("billing_error",), "Pay"), "billing"),
        (429, Complaint(("insufficient_quota",), "You exceeded your current quota"), "billing"),
        (429, Complaint(("rate_limit_error",), "Slow down"), "rate_limited"),
        (418, Complaint(), "bad_request"),
        (500, Complaint(("overloaded_error",), "Overloaded"), "overloaded"),
        (500, Complaint(("invalid_request_error",), "?"), "server_error"),
        (599, Complaint(), "server_error"),
        (None, Complaint(("overloaded_error",), "Overloaded"), "overloaded"),
        (None, Complaint(("invalid_request_error",), "prompt is too long"), "too_large"),
        (None, Complaint(("something_new",), "?"), "server_error"),
        (None, Complaint(), "server_error"),
        (None, Complaint((), "Slow down", 429), "rate_limited"),
        (None, Complaint(("BadRequestError",), "no such field", 400), "bad_request"),
        (None, Complaint(("overloaded_error",), "Overloaded", 500), "overloaded"),
    ],
)
def test_a_body_narrows_what_a_status_says(status: int | None, said: Complaint, code: FaultCode) -> None:
    assert code_of(said, status) == code


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "12"}, 12.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "Thu, 19 Nov 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Thu, 19 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "999999999"}, 86_400.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
    ],
)
def test_the_time_to_wait_is_read_from_every_form_of_it(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers, NOW) == seconds


@settings(max_examples=100, derandomize=True)
@given(text=st.text(max_size=60))
def test_no_header_breaks_the_reading_of_the_time_to_wait(text: str) -> None:
    found = retry_after({"retry-after": text, "retry-after-ms": text}, NOW)
    assert found is None or 0 <= found <= 86_400


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        ({"request-id": "req_011"}, "req_011"),
        ({"x-request-id": "a/b-c"}, "a/b-c"),
        ({"request-id": "two words"}, ""),
        ({"request-id": "x" * 201}, ""),
        ({}, ""),
    ],
)
def test_the_id_of_a_request_is_kept_when_it_looks_like_one(headers: dict[str, str], found: str) -> None:
    assert request_id(headers) == found


@settings(max_examples=100, derandomize=True)
@given(text=st.text(max_size=3_000))
def test_what_is_quoted_is_one_printable_bounded_line(text: str) -> None:
    shown = quoted(text)
    assert len(shown) <= LONGEST_QUOTE
    assert shown.isprintable()


def test_a_quote_hides_what_was_secret_even_where_it_is_cut() -> None:
    secret = "sk-0123456789"
    text = f"{'word ' * 97}{secret} and {secret}"
    assert "sk-0" not in quoted(text, (secret,))
    assert quoted(f"the key {secret}", (secret,)) == "the key [hidden]"


def test_a_message_says_who_answered_with_what_and_why() -> None:
    body = b'{"error":{"type":"rate_limit_error","message":"Slow\\u001b[31m down\\n\\nplease"}}'
    fault = fault_of_answer(429, {"retry-after": "2"}, body, where="api.example.com")
    assert fault.message == "api.example.com answered 429 (rate_limit_error): Slow [31m down please"
    assert (fault.code, fault.retry_after, fault.status) == ("rate_limited", 2.0, 429)


def test_a_kind_that_a_stranger_wrote_is_bounded_too() -> None:
    body = b'{"error":{"type":"' + b"x" * 5_000 + b'","message":"no"}}'
    assert len(fault_of_answer(400, {}, body, where="here").message) < 200


def test_the_page_about_models_lists_every_code_and_whether_it_may_heal() -> None:
    page = (Path(__file__).parents[4] / "docs/explain/models.md").read_text()
    rows = [line.split("|")[1:-1] for line in page.split("\n## ")[1].splitlines() if line.startswith("| ")]
    listed = {code.strip(" `"): heals.strip() == "yes" for _, code, heals in rows[1:]}
    assert listed == {
        code: ModelFault(code, "").may_heal for code in get_args(FaultCode) if code != "script_ended"
    }
